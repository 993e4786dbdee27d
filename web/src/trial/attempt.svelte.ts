// One request of the page at a time: runs, can be stopped, and has a result or a problem.
import { milliseconds } from "../chat/stats";

export class Attempt<T> {
  running = $state(false);
  result = $state.raw<T | null>(null);
  problem = $state("");
  time = $state("");
  private end = new AbortController();

  async run(call: (signal: AbortSignal) => Promise<T>): Promise<void> {
    if (this.running) return;
    this.end = new AbortController();
    const { signal } = this.end;
    const begin = performance.now();
    [this.running, this.problem, this.time] = [true, "", ""];
    try {
      this.result = await call(signal);
      this.time = milliseconds(performance.now() - begin);
    } catch (error) {
      this.result = null;
      this.problem = signal.aborted ? "Stopped." : (error as Error).message;
    } finally {
      this.running = false;
    }
  }
  stop(): void {
    this.end.abort();
  }
}
