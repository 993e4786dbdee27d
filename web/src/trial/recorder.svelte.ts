// Records the microphone.
import { asWav } from "./wav";

const kLongest = 600; // s

export class Recorder {
  state = $state<"idle" | "asking for the microphone" | "recording" | "converting">("idle");
  seconds = $state(0);
  problem = $state("");
  // Browsers give the microphone only to pages of this computer, or with HTTPS.
  readonly unavailable = globalThis.navigator?.mediaDevices && "MediaRecorder" in globalThis ? "" : "The browser gives the microphone only to pages by HTTPS or from localhost.";
  private recorder: MediaRecorder | undefined;
  private timer: ReturnType<typeof setInterval> | undefined;
  private wanted = false;

  constructor(private readonly done: (file: File) => void) {}

  async start(): Promise<void> {
    [this.state, this.problem, this.seconds, this.wanted] = ["asking for the microphone", "", 0, true];
    try {
      const stream = await navigator.mediaDevices.getUserMedia({ audio: true });
      const end = () => stream.getTracks().forEach((track) => track.stop());
      if (!this.wanted) return end();
      const parts: Blob[] = [];
      this.recorder = new MediaRecorder(stream);
      this.recorder.ondataavailable = ({ data }) => parts.push(data);
      this.recorder.onstop = () => (end(), void this.convert(parts));
      this.recorder.start();
      this.state = "recording";
      this.timer = setInterval(() => {
        this.seconds += 1;
        if (this.seconds >= kLongest) this.finish();
      }, 1000);
    } catch (error) {
      this.state = "idle";
      this.problem = (error as Error).name === "NotAllowedError" ? "The browser does not allow the microphone for this page." : `There is no microphone: ${(error as Error).message}`;
    }
  }
  finish(): void {
    clearInterval(this.timer);
    this.recorder?.stop();
    this.recorder = undefined;
  }
  cancel(): void {
    this.wanted = false;
    this.finish();
  }

  private async convert(parts: Blob[]): Promise<void> {
    this.state = "converting";
    try {
      if (this.wanted) this.done(new File([await asWav(new Blob(parts, { type: parts[0]?.type }))], "recording.wav", { type: "audio/wav" }));
    } catch (error) {
      this.problem = `The recording cannot be read: ${(error as Error).message}`;
    }
    this.state = "idle";
  }
}
