// The list of running requests: when it is read, and what events say about it between readings.
import { get, idPath, post } from "../lib/api";
import type { ServerSentEvent } from "../lib/api";
import type { Live } from "../lib/live.svelte";
import type { ServerEvent } from "../lib/types";
import { readInterval, seenAt } from "./running";
import type { Running } from "./types";

export class RunningList {
  rows = $state.raw<Running[]>([]);
  before = $state.raw<Map<string, Running>>(new Map()); // the reading before, by id
  readAt = $state(0); // 0: not read yet
  problem = $state("");
  idleSince = $state.raw<Map<string, number>>(new Map()); // of models, by events
  cancelling = $state.raw<Set<string>>(new Set());
  ended = $state(0); // counts signs that requests have ended
  changed = $state(true); // events say that the list is old
  private tried = 0;
  private over = false;

  constructor(private readonly live: Live) {}

  // Returns its end.
  start(): () => void {
    const stop = this.live.listen((event) => this.on(event));
    return () => {
      this.over = true;
      stop();
    };
  }

  // Each second while the page is visible.
  tick(now: number): void {
    if (document.hidden || this.live.connection !== "live") return;
    if (now - this.tried < readInterval(this.changed, this.rows.length > 0, this.rows.length === 0)) return;
    this.live.want("requests", async () => {
      if (!this.over && !document.hidden) await this.read();
    });
  }

  async read(): Promise<void> {
    this.changed = false;
    this.tried = this.live.now;
    try {
      const { requests } = await get<{ requests: Running[] }>("v1/requests");
      const ids = new Set(requests.map((row) => row.id));
      if (this.rows.some((row) => !ids.has(row.id))) this.ended += 1;
      // Two readings at nearly the same time give no speed: then the older one stays.
      const old = new Map(this.rows.map((row) => [row.id, row]));
      this.before = new Map(requests.flatMap((row) => {
        const last = old.get(row.id);
        if (!last) return [];
        return [[row.id, seenAt(row) - seenAt(last) < 1000 ? (this.before.get(row.id) ?? last) : last]];
      }));
      this.rows = requests;
      this.readAt = this.live.now;
      this.problem = "";
    } catch (error) {
      this.problem = (error as Error).message;
    }
  }

  async cancel(row: Running): Promise<void> {
    this.cancelling = new Set(this.cancelling).add(row.id);
    await this.live.act(`Cancelling the request to ${row.model}`, `The request to ${row.model} is cancelled`, () => post(`v1/requests/${idPath(row.id)}/cancel`, {}));
    const left = new Set(this.cancelling);
    left.delete(row.id);
    this.cancelling = left;
    await this.read();
  }

  private on({ name, data }: ServerSentEvent): void {
    if (name === "snapshot" || name === "queue") this.changed = true;
    if (name === "load") this.changed ||= (JSON.parse(data) as { stage: string }).stage !== "progress";
    if (name !== "server") return;
    this.changed = true;
    const event = JSON.parse(data) as ServerEvent;
    const active = this.live.residency?.all_models_loaded.find((one) => one.model_name === event.model)?.active_requests ?? 0;
    if (event.active_requests < active || event.from === "in_use") this.ended += 1;
    if (event.active_requests === 0) this.idleSince = new Map(this.idleSince).set(event.model, event.time);
  }
}
