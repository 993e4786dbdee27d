// The downloads of the server, as long as the page is shown: read once, then kept current by events. And the actions.
import { ApiError, get, post, type ServerSentEvent } from "../lib/api";
import type { Live } from "../lib/live.svelte";
import { ask, problemOf, type Problem } from "./problem";
import { announcement, apply, applyUnfinished, rowOf, type Row } from "./state";
import type { Download, DownloadAction } from "./types";

export class Downloads {
  rows = $state.raw<Row[]>([]); // by their start
  known = $state(false);
  problem = $state.raw<Problem | null>(null); // why the list can't be read
  problems = $state<Record<string, Problem>>({}); // of the last action, by the name of the model
  pending = $state<Record<string, boolean>>({}); // names with a running action

  private over = false;

  constructor(readonly live: Live) {}

  // Returns the end of it.
  start(): () => void {
    void this.read();
    const end = this.live.listen((event) => this.on(event));
    return () => {
      end();
      this.over = true;
    };
  }

  find(name: string): Row | undefined {
    return this.rows.find((row) => row.name === name);
  }

  async read(): Promise<void> {
    try {
      const all = await ask((signal) => get<Download[]>("v1/downloads", signal));
      this.rows = all.map((one) => rowOf(one, this.live.now));
      this.problem = null;
      this.known = true;
    } catch (error) {
      this.problem = this.failed(error);
    }
  }

  // Downloads in the background of the server: it continues without this page.
  async pull(name: string): Promise<boolean> {
    return this.act(name, async (signal) => {
      const row = await post<Download>("v1/pull", { model_name: name, subscribe: false }, signal);
      this.rows = apply(this.rows, row, this.live.now);
    });
  }
  async order({ id, name }: Row, action: DownloadAction): Promise<boolean> {
    return this.act(name, async (signal) => {
      const row = await post<Download>("v1/downloads/control", { id, action }, signal);
      this.rows = action === "remove" ? this.rows.filter((one) => one.id !== id) : apply(this.rows, row, this.live.now);
    });
  }

  // The reason of a failure. A key without the scope disables the buttons.
  failed(error: unknown): Problem {
    if (error instanceof ApiError && error.lacksScope) this.live.mayAdmin = false;
    return problemOf(error);
  }

  private async act(name: string, call: (signal: AbortSignal) => Promise<void>): Promise<boolean> {
    delete this.problems[name];
    this.pending[name] = true;
    try {
      await ask(call);
      return true;
    } catch (error) {
      this.problems[name] = this.failed(error);
      return false;
    } finally {
      delete this.pending[name];
    }
  }

  private on({ name, data }: ServerSentEvent): void {
    if (name !== "download" && name !== "snapshot") return;
    const event = JSON.parse(data) as { time: number; download?: { downloads: Download[] } };
    if (name === "snapshot") {
      const { rows, stale } = applyUnfinished(this.rows, event.download?.downloads ?? [], event.time);
      this.rows = rows;
      if (stale || !this.known || this.problem) this.live.want("downloads", async () => void (this.over || (await this.read())));
      return;
    }
    const download = event as unknown as Download;
    const before = this.rows.find((row) => row.id === download.id)?.status;
    this.rows = apply(this.rows, download, event.time);
    const text = announcement(before, rowOf(download, event.time));
    if (text !== "") this.live.notice = text;
  }
}
