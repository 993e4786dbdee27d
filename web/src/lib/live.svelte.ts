// What the server does, as the page shows it: one stream of events, and a few requests a minute for what no event has.
import { ApiError, events, get, idPath, post, type ServerSentEvent } from "./api";
import { Budget } from "./budget";
import { applyLoad, applyServer } from "./changes";
import type { LoadEvent, Memory, Model, Options, Residency, ServerEvent } from "./types";

export type Connection = "connecting" | "live" | "away" | "needs a key";

const kRequestsPerMinute = 5;
const kMemoryInterval = 30_000;
const kModelsInterval = 120_000;
const kLongestPause = 15_000;

export class Live {
  connection = $state<Connection>("connecting");
  problem = $state(""); // why there is no connection, or why the key is refused
  version = $state("");
  residency = $state<Residency | null>(null);
  models = $state<Model[]>([]);
  modelsKnown = $state(false);
  memory = $state<Memory | null>(null);
  memoryProblem = $state("");
  mayAdmin = $state(true); // until an answer shows that the key lacks the scope
  now = $state(Date.now()); // by the server's clock
  notice = $state(""); // of the last action, for the live region
  error = $state("");

  private ahead = 0; // of the server's clock
  private readonly listeners = new Set<(event: ServerSentEvent) => void>();
  private readonly reads = new Map<string, () => Promise<void>>();
  private stop = new AbortController();
  private readonly budget = new Budget(kRequestsPerMinute, (what) => this.read(what));
  private readonly timers: ReturnType<typeof setInterval>[] = [];

  start(): void {
    void this.follow(this.stop.signal);
    this.timers.push(
      setInterval(() => this.tick(), 1000),
      setInterval(() => this.whenSeen("memory"), kMemoryInterval),
      setInterval(() => this.whenSeen("models"), kModelsInterval),
    );
    document.addEventListener("visibilitychange", () => this.tick());
  }
  end(): void {
    this.stop.abort();
    this.budget.end();
    this.timers.forEach(clearInterval);
  }
  // With another key.
  restart(): void {
    this.stop.abort();
    this.stop = new AbortController();
    this.problem = "";
    this.mayAdmin = true;
    this.connection = "connecting";
    void this.follow(this.stop.signal);
  }

  // ---- actions

  async load(id: string): Promise<void> {
    await this.act(`Loading ${id}`, `${id} is loaded`, () => post("v1/load", { model_name: id }));
  }
  async unload(id: string): Promise<void> {
    await this.act(`Unloading ${id}`, `${id} is unloaded`, () => post("v1/unload", { model_name: id }));
  }
  async pin(id: string, pinned: boolean): Promise<void> {
    await this.act("", pinned ? `${id} is pinned` : `${id} is no longer pinned`, () => post("internal/pin", { model_name: id, pinned }));
  }
  async rescan(): Promise<void> {
    await this.act("Looking for models", "The list of models is new", async () => {
      this.models = (await get<{ data: Model[] }>("v1/models?rescan=true")).data;
    });
  }
  options(id: string): Promise<Options> {
    return get<Options>(`v1/models/${idPath(id)}/options`);
  }

  // An action of the user: shows what happens, and the error. True: it has succeeded.
  async act(before: string, after: string, call: () => Promise<unknown>): Promise<boolean> {
    this.error = "";
    this.notice = before;
    try {
      await call();
      this.notice = after;
      return true;
    } catch (error) {
      this.notice = "";
      if (error instanceof ApiError && error.lacksScope) this.mayAdmin = false;
      this.error = (error as Error).message;
      return false;
    }
  }
  // Gives the events of the server to a page as well: "download", "mesh", "server" … Returns the end of it.
  listen(listener: (event: ServerSentEvent) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  // A read of a page, within the same limit of requests a minute. Calls for the same name meanwhile become one.
  readSoon(name: string, read: () => Promise<void>): void {
    this.reads.set(name, read);
    this.budget.want(name);
  }

  // ---- the stream

  private async follow(signal: AbortSignal): Promise<void> {
    let pause = 500;
    while (!signal.aborted) {
      try {
        await events("v1/events", signal, (event) => {
          pause = 500;
          this.on(event);
        });
        this.away("The server has ended the connection.");
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof ApiError && error.needsKey) {
          this.connection = "needs a key";
          this.problem = error.message;
          return;
        }
        this.away(error instanceof ApiError ? error.message : "The connection is lost.");
      }
      await new Promise((resolve) => setTimeout(resolve, pause));
      pause = Math.min(pause * 2, kLongestPause);
    }
  }
  private away(problem: string): void {
    this.connection = "away";
    this.problem = problem;
  }

  private on({ name, data }: ServerSentEvent): void {
    const event = JSON.parse(data) as { time: number };
    this.ahead = event.time - Date.now();
    for (const listener of this.listeners) listener({ name, data });
    if (name === "snapshot") return this.whole(event as unknown as Residency);
    const state = this.residency;
    if (!state) return;
    if (name === "server") this.changed(applyServer(state, event as ServerEvent));
    if (name === "load") this.changed(applyLoad(state, event as LoadEvent));
    if (name === "queue") state.load_queue = (event as unknown as Residency).load_queue;
    if (name === "settings") state.max_models = (event as unknown as Residency).max_models;
    if (name === "pin") this.pinChanged(event as unknown as { model: string; pinned: boolean });
    if (name === "download" || name === "mesh") this.budget.want("models");
    if (name === "settings" || name === "pin") this.budget.want("memory");
  }
  private whole(state: Residency): void {
    this.residency = state;
    this.connection = "live";
    this.problem = "";
    if (!this.modelsKnown) void this.read("models");
    if (this.version === "") void this.read("health");
    void this.read("memory");
  }
  private pinChanged({ model, pinned }: { model: string; pinned: boolean }): void {
    const one = this.residency?.all_models_loaded.find((other) => other.model_name === model);
    if (!one) return;
    one.pinned = pinned;
    if (pinned) [one.stays, one.downsize_at, one.evict_at] = ["pinned", null, null];
    else this.budget.want("health");
  }
  private changed(what: "same" | "memory" | "reload"): void {
    if (what === "same") return;
    if (what === "reload") this.budget.want("health");
    this.budget.want("memory");
  }

  // ---- requests

  private async read(what: string): Promise<void> {
    const ofPage = this.reads.get(what);
    if (ofPage) return ofPage();
    try {
      if (what === "health") {
        const health = await get<Residency>("v1/health");
        this.version = health.version ?? "";
        this.residency = health;
      }
      if (what === "models") {
        this.models = (await get<{ data: Model[] }>("v1/models")).data;
        this.modelsKnown = true;
      }
      if (what === "memory") {
        this.memory = await get<Memory>("v1/memory");
        this.memoryProblem = "";
      }
    } catch (error) {
      if (what === "memory") this.memoryProblem = (error as Error).message;
      // The stream notices a server that is away.
    }
  }
  private whenSeen(what: string): void {
    if (!document.hidden && this.connection === "live") this.budget.want(what);
  }
  private tick(): void {
    if (!document.hidden) this.now = Date.now() + this.ahead;
  }
}
