// The verification of files: one at a time, with progress and an end.
import { events, kLongestSilence } from "../lib/api";
import type { Downloads } from "./downloads.svelte";
import type { Problem } from "./problem";
import type { Verified, VerifyProgress } from "./types";

let only: Verification | undefined;
// One for the whole page: to leave the list does not end hours of reading.
export const verificationOf = (downloads: Downloads): Verification => (only ??= new Verification(downloads));

export class Verification {
  what = $state(""); // the model, or "all models"
  running = $state(false);
  progress = $state.raw<VerifyProgress | null>(null);
  result = $state.raw<Verified | null>(null);
  problem = $state.raw<Problem | null>(null);
  private stop = new AbortController();

  constructor(private readonly downloads: Downloads) {}

  // Without a name it verifies all models. `quarantine`: damaged files are renamed.
  async run(name: string | null, quarantine = false): Promise<void> {
    if (this.running) return;
    this.what = name ?? "all models";
    [this.running, this.progress, this.result, this.problem] = [true, null, null, null];
    const mine = (this.stop = new AbortController());
    let failure: Problem | null = null;
    try {
      await events(
        "v1/verify",
        mine.signal,
        ({ name: event, data }) => {
          if (event === "progress") this.progress = JSON.parse(data) as VerifyProgress;
          if (event === "complete") this.result = JSON.parse(data) as Verified;
          if (event === "error") failure = (JSON.parse(data) as { error: Problem }).error;
        },
        { body: { ...(name === null ? {} : { model_name: name }), quarantine, stream: true }, longestSilence: kLongestSilence },
      );
      if (!this.result) this.problem = failure ?? { message: "The server ended the verification", code: "unreachable" };
      if (quarantine && this.result) await this.downloads.live.readModels();
    } catch (error) {
      if (!mine.signal.aborted) this.problem = this.downloads.failed(error);
    } finally {
      this.running = false;
    }
  }
  end(): void {
    this.stop.abort();
  }
}
