// The mesh as this server sees it: events change it at once, and reads within the budget of the page complete it.
import { ApiError, events, get, type ServerSentEvent } from "../lib/api";
import type { Live } from "../lib/live.svelte";
import type { Copy, Mesh, MeshEvent, MeshNode, MeshStatus } from "./types";

const kReadLimit = 15_000;
const kInterval = 60_000; // for what has no event: round trips, free memory
const kCopyInterval = 20_000;
const kSettle = 1_500; // the events of one change come within this time
const kFirstWords = 3_000; // until a node has announced what is new: its name, a model

export const within = (limit = kReadLimit): AbortSignal => AbortSignal.timeout(limit);

export class Machines {
  mesh = $state.raw<Mesh | null>(null);
  nodes = $state.raw<MeshNode[]>([]);
  copies = $state.raw<Copy[]>([]);
  readAt = $state(0); // epoch ms, of the nodes
  problem = $state("");
  admitted = $state(0); // machines, since the page is open

  private ended = new AbortController();
  private readonly settling = new Set<string>();

  constructor(private readonly live: Live) {}

  // Until the returned function is called.
  start(): () => void {
    const stop = this.live.listen((event) => this.on(event));
    const seen = (read: () => void) => () => {
      if (!document.hidden && this.live.connection === "live") read();
    };
    const timers = [
      setInterval(seen(() => this.member && this.soon("nodes")), kInterval),
      setInterval(seen(() => this.copies.some(({ state }) => state === "copying" || state === "waiting") && this.soon("copies")), kCopyInterval),
    ];
    void this.refresh();
    return () => {
      this.ended.abort();
      stop();
      timers.forEach(clearInterval);
    };
  }
  get status(): MeshStatus {
    return this.mesh?.status ?? ((this.live.residency?.mesh?.status ?? "none") as MeshStatus);
  }
  get member(): boolean {
    return this.mesh?.status === "member";
  }

  // By the user: at once.
  async refresh(): Promise<void> {
    await this.read("mesh");
    if (this.mesh && this.mesh.status !== "none") await Promise.all([this.read("nodes"), this.read("copies")]);
  }
  // With the answer of a create, a join or a leave.
  async became(mesh: Mesh): Promise<void> {
    this.mesh = mesh;
    if (mesh.status === "none") [this.nodes, this.copies] = [[], []];
    else {
      await Promise.all([this.read("nodes"), this.read("copies")]);
      this.readWhenKnown();
    }
  }
  // A part of the user's action: what it changes is shown without a wait for the budget.
  readWhenKnown(): void {
    setTimeout(() => this.read("nodes"), kFirstWords);
  }
  soon(what: "mesh" | "nodes" | "copies"): void {
    if (this.settling.has(what)) return;
    this.settling.add(what);
    setTimeout(() => {
      this.settling.delete(what);
      if (!this.ended.signal.aborted) this.live.want(`machines ${what}`, () => this.read(what));
    }, kSettle);
  }

  // Orders a copy of the model to this machine and follows it; the copy goes on without the page. False: the page was left
  // before its end.
  async pull(model: string): Promise<boolean> {
    let failed: string | undefined = "The connection ended before the copy did. The list of copies shows its state.";
    const follow = ({ name, data }: ServerSentEvent) => {
      if (name === "error") failed = (JSON.parse(data) as { error: { message: string } }).error.message;
      if (name === "complete") failed = undefined;
      if (name === "progress" || name === "complete") this.put(JSON.parse(data) as Copy);
    };
    try {
      await events("v1/mesh/pull", this.ended.signal, follow, { body: { model, stream: true } });
    } catch (error) {
      if (this.ended.signal.aborted) return false;
      throw error;
    }
    if (failed !== undefined) {
      void this.read("copies");
      throw new Error(failed);
    }
    setTimeout(() => this.live.readModels(), kFirstWords);
    return true;
  }

  private async read(what: "mesh" | "nodes" | "copies"): Promise<void> {
    if (this.ended.signal.aborted || !this.live.mayAdmin) return;
    try {
      if (what === "mesh") this.mesh = await get<Mesh>("v1/mesh", within());
      if (what === "copies") this.copies = (await get<{ copies: Copy[] }>("v1/mesh/copies", within())).copies;
      if (what === "nodes") {
        this.nodes = (await get<{ nodes: MeshNode[] }>("v1/mesh/nodes", within())).nodes;
        this.readAt = this.live.now;
      }
      this.problem = "";
    } catch (error) {
      if (error instanceof ApiError && error.lacksScope) this.live.mayAdmin = false;
      else this.problem = (error as Error).message;
    }
  }

  private put(copy: Copy): void {
    const others = this.copies.filter(({ content }) => content !== copy.content);
    this.copies = [...others, copy];
  }

  private on({ name, data }: ServerSentEvent): void {
    if (name === "snapshot") {
      // The page has connected again, perhaps with another key.
      this.soon("mesh");
      if (this.status === "none") return;
      this.soon("nodes");
      return this.soon("copies");
    }
    if (name !== "mesh") return;
    const event = JSON.parse(data) as MeshEvent;
    switch (event.change) {
      case "status":
        this.soon("mesh");
        return this.soon("nodes");
      case "admitted":
        this.admitted += 1;
        return this.soon("nodes");
      case "removed":
        this.nodes = this.nodes.filter((node) => node.name !== event.node);
        return;
      case "reachable":
      case "away":
        this.linkChanged(event);
        return this.soon("nodes");
      case "copy":
        return this.soon("copies");
      case "model":
        return this.soon("nodes");
      case "group":
      case "share":
        return this.soon("mesh");
    }
  }
  private linkChanged(event: MeshEvent): void {
    const up = event.change === "reachable";
    const known = this.live.residency?.mesh?.nodes.find((node) => node.name === event.node);
    if (known) known.routable = up;
    this.nodes = this.nodes.map((node) =>
      node.name !== event.node ? node : { ...node, routable: up, link: up ? "up" : "dialling", rtt_ms: null, since: event.time, last_end: event.cause ?? node.last_end, serving: up ? node.serving : [] },
    );
  }
}
