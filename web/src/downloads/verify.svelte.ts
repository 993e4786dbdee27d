// The verification of files: one at a time, with progress and an end.
import { events } from "../lib/api";
import type { Downloads } from "./downloads.svelte";
import type { Problem } from "./problem";
import type { Verified, VerifyProgress } from "./types";

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
    let told: Problem | null = null;
    try {
      await events(
        "v1/verify",
        mine.signal,
        ({ name: event, data }) => {
          if (event === "progress") this.progress = JSON.parse(data) as VerifyProgress;
          if (event === "complete") this.result = JSON.parse(data) as Verified;
          if (event === "error") told = (JSON.parse(data) as { error: Problem }).error;
        },
        { ...(name === null ? {} : { model_name: name }), quarantine, stream: true },
      );
      if (!this.result) this.problem = told ?? { message: "The server ended the verification", code: "unreachable" };
      if (quarantine && this.result) await this.downloads.refreshModels();
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
