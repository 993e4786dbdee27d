// One log, followed: the connection and the lines so far.
import { ApiError, events, kLongestSilence } from "../lib/api";
import { counted } from "../lib/format";
import { continued, joined, lineOf, noteOf, type Line } from "./lines";

const kLongestPause = 15_000;

interface Batch {
  process?: string;
  lines: string[];
  missed?: number;
}

export class Follow {
  lines = $state.raw<Line[]>([]);
  state = $state<"connecting" | "live" | "away" | "ended">("connecting");
  problem = $state("");

  private number = 0;
  private process = "";
  private cleared: Line[] = []; // the last line that the user has cleared: another connection continues it
  private stop = new AbortController();

  // "": the log of the server.
  constructor(private readonly model: string) {
    void this.run();
  }
  end(): void {
    this.stop.abort();
  }
  // A hidden page gives its connection back, and continues when it is shown.
  rest(): void {
    this.stop.abort();
  }
  resume(): void {
    if (!this.stop.signal.aborted || this.state === "ended") return;
    this.stop = new AbortController();
    void this.run();
  }
  clear(): void {
    const last = this.lines.findLast(({ level }) => level !== "note");
    if (last) this.cleared = [last];
    this.lines = [];
  }

  private async run(): Promise<void> {
    const { signal } = this.stop;
    const query = new URLSearchParams({ follow: "true", lines: "1000", ...(this.model === "" ? {} : { model: this.model }) });
    let pause = 500;
    while (!signal.aborted) {
      let first = true;
      try {
        await events(`v1/logs?${query}`, signal, ({ name, data }) => {
          if (name !== "lines") return;
          this.take(JSON.parse(data) as Batch, first);
          first = false;
          pause = 500;
        }, { longestSilence: kLongestSilence });
        if (signal.aborted) return;
        this.away("The server has ended the connection.");
      } catch (error) {
        if (signal.aborted) return;
        // Another try would get the same answer.
        if (error instanceof ApiError && error.status >= 400 && error.status < 500) {
          this.state = "ended";
          this.problem = error.status === 404 && error.code === "path_not_found" ? "This version of the server has no logs to follow." : error.message;
          return;
        }
        this.away(error instanceof ApiError ? error.message : "The connection is lost.");
      }
      await new Promise((resolve) => setTimeout(resolve, pause));
      pause = Math.min(pause * 2, kLongestPause);
    }
  }
  private away(problem: string): void {
    this.state = "away";
    this.problem = problem;
  }

  private take(batch: Batch, first: boolean): void {
    const more: Line[] = [];
    const note = (text: string) => more.push(noteOf(this.number++, text));
    let lines: string[] | null = batch.lines;
    if (first) {
      lines = continued(this.lines.length > 0 ? this.lines : this.cleared, batch.lines);
      if (lines === null) note("The connection was lost: lines may be missing here.");
    }
    if (batch.missed) note(`${counted(batch.missed, "line is", "lines are")} missing: there were more than the server keeps.`);
    if (batch.process && batch.process !== this.process) note(`Process ${batch.process}`);
    this.process = batch.process ?? "";
    for (const raw of lines ?? batch.lines) more.push(lineOf(this.number++, raw));
    if (more.length > 0) this.lines = joined(this.lines, more);
    this.state = "live";
    this.problem = "";
  }
}
