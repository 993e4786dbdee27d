// What the server does, as the page shows it: one stream of events, and a few requests a minute for what no event has.
import { ApiError, events, get, idPath, kLongestSilence, onRefusedKey, post, type ServerSentEvent } from "./api";
import { Budget } from "./budget";
import { applyLoad, applyPin, applyServer } from "./changes";
import { distinct } from "./distinct";
import type { LoadEvent, Memory, Model, Options, Residency, ServerEvent } from "./types";

export type Connection = "connecting" | "live" | "away" | "needs a key";

const kRequestsPerMinute = 5;
const kMemoryInterval = 30_000;
const kModelsInterval = 120_000;
const kLongestPause = 15_000;
const kScanTime = 2000;
const kLongestScan = 600_000;
const kHiddenTime = 60_000; // then a hidden page gives its connection back: a browser has six for a server, of all tabs together
const kMembership = new Set(["status", "admitted", "removed"]); // changes of the list of machines

interface Change {
  name: string;
  event: { time: number };
}

export class Live {
  connection = $state<Connection>("connecting");
  problem = $state(""); // why there is no connection, or why the key is refused
  version = $state("");
  residency = $state<Residency | null>(null);
  queueAt = $state(0); // when the waits in its load queue were measured, by the server's clock
  health = $state.raw<Residency | null>(null); // the last answer of health, for what no event has
  models = $state.raw<Model[]>([]);
  modelsKnown = $state(false);
  memory = $state<Memory | null>(null);
  memoryProblem = $state("");
  mayAdmin = $state(true); // until an answer shows that the key lacks the scope
  now = $state(Date.now()); // by the server's clock
  notice = $state(""); // of the last action, for the live region
  error = $state("");

  private ahead = 0; // of the server's clock
  private memoryViews = 0; // parts of pages that show the memory
  private keys = 0; // that were used, so that no answer for an earlier one is shown
  private readonly listeners = new Set<(event: ServerSentEvent) => void>();
  private stop = new AbortController();
  private readonly readers = new Map<string, () => Promise<void>>(); // of pages
  private readonly budget = new Budget(kRequestsPerMinute, (what) => this.read(what), () => !document.hidden);
  private readonly timers: ReturnType<typeof setInterval>[] = [];
  private readonly during = new Set<Change[]>(); // the events since the begin of each reading of health
  private hidden: ReturnType<typeof setTimeout> | undefined;
  private readonly seen = () => this.visible(!document.hidden);

  start(): void {
    onRefusedKey(() => this.connection === "live" && this.connect());
    this.connect();
    this.timers.push(
      setInterval(() => this.tick(), 1000),
      setInterval(() => this.wantMemory(), kMemoryInterval),
      setInterval(() => this.whenLive("models"), kModelsInterval),
    );
    document.addEventListener("visibilitychange", this.seen);
    this.seen();
  }
  end(): void {
    document.removeEventListener("visibilitychange", this.seen);
    clearTimeout(this.hidden);
    this.stop.abort();
    this.budget.end();
    this.timers.forEach(clearInterval);
  }
  // With another key, or without one: what the last key has shown goes. Pages listen to "restart".
  restart(): void {
    this.keys += 1;
    [this.problem, this.memoryProblem, this.version, this.notice, this.error] = ["", "", "", "", ""];
    [this.residency, this.health, this.memory] = [null, null, null];
    [this.models, this.modelsKnown, this.mayAdmin] = [[], false, true];
    for (const listener of this.listeners) listener({ name: "restart", data: "{}" });
    this.connect();
  }
  private visible(is: boolean): void {
    clearTimeout(this.hidden);
    if (!is) this.hidden = setTimeout(() => this.stop.abort(), kHiddenTime);
    else if (this.stop.signal.aborted) this.connect();
    this.tick();
    this.budget.resume();
  }
  private connect(): void {
    this.stop.abort();
    this.stop = new AbortController();
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
      this.models = distinct((await get<{ data: Model[] }>("v1/models?rescan=true", AbortSignal.timeout(kLongestScan))).data);
      await this.read("health");
    });
  }
  options(id: string): Promise<Options> {
    return get<Options>(`v1/models/${idPath(id)}/options`);
  }

  // An action of the user: shows what happens, and the error. True: it has succeeded. `call` gives false if it cannot know.
  async act(before: string, after: string, call: () => Promise<unknown>): Promise<boolean> {
    this.error = "";
    this.notice = before;
    try {
      if ((await call()) !== false) this.notice = after;
      return true;
    } catch (error) {
      this.notice = "";
      if (error instanceof ApiError && error.lacksScope) this.mayAdmin = false;
      this.error = (error as Error).message;
      return false;
    }
  }
  // After an action of the user that changes what is on a disk: at once, without the budget.
  readModels(): Promise<void> {
    return this.read("models");
  }
  // Gives the events of the server to a page as well: "download", "mesh", "server" … Returns the end of it.
  listen(listener: (event: ServerSentEvent) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  // The memory is measured only while a page shows it. Returns the end of that.
  watchMemory(): () => void {
    this.memoryViews += 1;
    if (this.connection === "live") void this.read("memory");
    return () => (this.memoryViews -= 1);
  }

  // A read of a page, which shares the budget. Calls for the same thing become one; the reader handles its errors.
  want(what: string, read: () => Promise<void>): void {
    this.readers.set(what, read);
    this.budget.want(what);
  }

  // ---- the stream

  private async follow(signal: AbortSignal): Promise<void> {
    let pause = 500;
    while (!signal.aborted) {
      try {
        let first = true;
        const on = (event: ServerSentEvent) => {
          pause = 500;
          this.on(event, first);
          first = false;
        };
        await events("v1/events", signal, on, { longestSilence: kLongestSilence });
        if (signal.aborted) return;
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

  private on({ name, data }: ServerSentEvent, first: boolean): void {
    const event = JSON.parse(data) as Change["event"];
    this.ahead = event.time - Date.now();
    for (const listener of this.listeners) listener({ name, data });
    for (const changes of this.during) changes.push({ name, event });
    const also = this.apply({ name, event });
    if (name === "snapshot") return this.connected(first);
    if (also === "reload") this.budget.want("health");
    if (also !== "same") this.wantMemory();
    // The scan that finds the files of a complete download takes a moment.
    if (name === "download" && (event as { status?: string }).status === "completed") setTimeout(() => this.budget.want("models"), kScanTime);
    if (name === "mesh") this.budget.want("models");
    if (name === "mesh" && kMembership.has((event as { change?: string }).change ?? "")) this.budget.want("health");
  }
  // Changes the state by an event. Returns what is to be read besides.
  private apply({ name, event }: Change): "same" | "memory" | "reload" {
    if (name === "snapshot") {
      this.residency = event as unknown as Residency;
      this.queueAt = event.time;
    }
    const state = this.residency;
    if (!state) return "same";
    switch (name) {
      case "server":
        return applyServer(state, event as ServerEvent);
      case "load":
        return applyLoad(state, event as LoadEvent);
      case "queue":
        state.load_queue = (event as unknown as Residency).load_queue;
        this.queueAt = event.time;
        return "same";
      case "settings":
        state.max_models = (event as unknown as Residency).max_models;
        return "memory";
      case "pin":
        return applyPin(state, event as unknown as { model: string; pinned: boolean });
      default:
        return "same";
    }
  }
  // `first`: this connection is new, perhaps to a server that was restarted. Otherwise this page has read too slowly.
  private connected(first: boolean): void {
    const again = this.modelsKnown;
    this.connection = "live";
    this.problem = "";
    const read = (what: string) => (again ? this.budget.want(what) : void this.read(what));
    if (first) read("models");
    if (first) read("health");
    if (this.memoryViews > 0) read("memory");
  }

  // ---- requests

  private async read(what: string): Promise<void> {
    const reader = this.readers.get(what);
    if (reader) return reader();
    const { keys } = this;
    try {
      if (what === "health") await this.readHealth();
      if (what === "models") {
        const { data } = await get<{ data: Model[] }>("v1/models");
        if (keys === this.keys) [this.models, this.modelsKnown] = [distinct(data), true];
      }
      if (what === "memory") {
        const memory = await get<Memory>("v1/memory");
        if (keys === this.keys) [this.memory, this.memoryProblem] = [memory, ""];
      }
    } catch (error) {
      if (what === "memory" && keys === this.keys) this.memoryProblem = (error as Error).message;
      // The stream notices a server that is away.
    }
  }
  // Events may be faster than the answer, which can be older than they are: they are applied again.
  private async readHealth(): Promise<void> {
    const { keys } = this;
    const changes: Change[] = [];
    this.during.add(changes);
    const health = await get<Residency>("v1/health").finally(() => this.during.delete(changes));
    if (keys !== this.keys) return;
    this.version = health.version ?? "";
    this.residency = this.health = health;
    this.queueAt = Date.now() + this.ahead;
    for (const change of changes) this.apply(change);
  }
  private whenLive(what: string): void {
    if (this.connection === "live") this.budget.want(what);
  }
  private wantMemory(): void {
    if (this.memoryViews > 0) this.whenLive("memory");
  }
  private tick(): void {
    if (!document.hidden) this.now = Date.now() + this.ahead;
  }
}
