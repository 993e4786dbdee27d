// A real `corral serve` whose engines are played by the test: each process (fake-engine.mjs) loads, answers, fails,
// hangs and dies when it is told to. No time passes but what the router itself takes.
//
//   const stage = await Stage.startIn({}, ["a", "b"], "--max-loaded-models", "1");
//   await stage.play(async (its, server) => {
//     const asking = server.chat("a", "hi");
//     const engine = await its.loading("a"); // its process has got the order
//     engine.ready();
//     (await engine.request()).answer();
//     await asking;
//   });
//   await stage.stop();
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { models, Server } from "./server.mjs";

const kHung = 60_000; // ms without a word of any process
const program = fileURLToPath(new URL("fake-engine.mjs", import.meta.url));

// A test on a stage of its own, which is taken down whatever happens.
export function stage(name, models, flags, acts) {
  test(name, () => onStage({}, models, flags, acts));
}
export async function onStage(variables, models, flags, acts) {
  const its = await Stage.startIn(variables, models, ...flags);
  try {
    await its.play(acts);
  } catch (error) {
    await its.abort(); // what still runs would be waited for
    throw error;
  }
  await its.stop();
}
export const slots = (count) => ["--max-loaded-models", `${count}`];
export const queued = (model) => (health) => health.load_queue.find((entry) => entry.model === model);
export const streaming = { messages: [{ role: "user", content: "hi" }], stream: true };
// Settings from now on, or from the next load on.
export async function set(server, settings) {
  const { status, body } = await server.post("/internal/set", settings);
  assert.equal(status, 200, JSON.stringify(body));
}

// What came and nobody asked for yet, or who asks for what hasn't come yet.
class Queue {
  items = [];
  takers = [];
  put(item) {
    this.takers.length > 0 ? this.takers.shift()(item) : this.items.push(item);
  }
  take() {
    return this.items.length > 0 ? Promise.resolve(this.items.shift()) : new Promise((resolve) => this.takers.push(resolve));
  }
}

// Rejects when a request is refused.
async function refusal(asking) {
  const { status, body } = await asking;
  if (status !== 200) throw new Error(`refused with ${status}: ${JSON.stringify(body)}`);
  return new Promise(() => {});
}

class PlayedRequest {
  constructor(engine, { id, path, body }) {
    Object.assign(this, { engine, id, path, body });
    this.dropped = new Promise((resolve) => (this.drop = resolve));
  }
  // A whole answer, which names the engine's process.
  answer(status = 200, body = { model: this.engine.model, pid: this.engine.pid }) {
    return this.engine.tell({ deed: "answer", id: this.id, status, body });
  }
  begin() {
    return this.engine.tell({ deed: "begin", id: this.id });
  }
  send(data) {
    return this.engine.tell({ deed: "send", id: this.id, data });
  }
  end() {
    return this.engine.tell({ deed: "end", id: this.id });
  }
}

class PlayedEngine {
  requests = new Queue();
  pending = new Map();
  signals = new Queue();
  lastNumber = 0;

  constructor(stage, connection) {
    this.stage = stage;
    this.connection = connection;
    this.gone = new Promise((resolve) => connection.on("close", resolve));
    connection.on("error", () => {});
    createInterface({ input: connection }).on("line", (line) => this.hear(JSON.parse(line)));
  }
  hear(event) {
    ++this.stage.heard;
    if (event.event === "load") {
      Object.assign(this, { pid: event.pid, order: event.load, model: event.load.model });
      this.stage.add(this);
    } else if (event.event === "request") {
      const request = new PlayedRequest(this, event);
      this.pending.set(request.id, request);
      this.stage.automatic ? request.answer() : this.requests.put(request);
    } else if (event.event === "estimate") {
      this.tell({ deed: "estimate", estimate: this.stage.estimates[basename(event.load.path, ".gguf")] ?? { devices: [], process: 1 } });
    } else if (event.event === "signal") {
      this.signals.put(event.signal);
    } else if (event.event === "dropped") {
      this.pending.get(event.id).drop();
    } else if (event.event === "done") {
      this.pending.get(`deed ${event.number}`)?.();
    }
  }
  // Resolves when it is done; never for what ends or stops the process.
  tell(order) {
    const number = ++this.lastNumber;
    const done = new Promise((resolve) => this.pending.set(`deed ${number}`, resolve));
    this.connection.write(JSON.stringify({ ...order, number }) + "\n");
    return done;
  }

  progress(fraction) {
    return this.tell({ deed: "progress", fraction });
  }
  ready(context_window = 2048) {
    return this.tell({ deed: "ready", context_window });
  }
  fail(cause, message, memory) {
    return this.tell({ deed: "fail", cause, message, memory });
  }
  print(text) {
    return this.tell({ deed: "print", text });
  }
  ignore(signal) {
    return this.tell({ deed: "ignore", signal });
  }
  work() {
    return this.tell({ deed: "work" });
  }
  occupy(bytes) {
    return this.tell({ deed: "occupy", bytes });
  }
  deafen() {
    return this.tell({ deed: "deafen" });
  }
  hang() {
    this.tell({ deed: "hang" });
  }
  // Ends it; resolves when it is gone.
  exit(code = 1) {
    this.tell({ deed: "exit", code });
    return this.gone;
  }
  kill(signal = "SIGKILL") {
    process.kill(this.pid, signal);
    return this.gone;
  }
  // The next request that it was sent.
  request() {
    return this.requests.take();
  }
}

export class Stage {
  loads = new Map(); // of engines that have got their order, by model
  started = []; // models, in the order of their loads
  estimates = {}; // what models are predicted to take, by name
  automatic = false; // loads succeed, and requests are answered, at once
  heard = 0; // words of processes
  deeds = new Map(); // model → act of every engine that is told to load it

  // `names`: one chat model each. `variables`: more of them for the server's environment.
  static async startIn(variables, names, ...flags) {
    const stage = new Stage();
    stage.folder = mkdtempSync(join(tmpdir(), "corral-stage-"));
    for (const name of names) copyFileSync(join(models, "tiny-llama.gguf"), join(stage.folder, `${name}.gguf`));
    const socket = join(stage.folder, "s");
    stage.director = createServer((connection) => new PlayedEngine(stage, connection));
    await new Promise((resolve) => stage.director.listen(socket, resolve));
    const environment = { ...variables, CORRAL_ENGINE_PROGRAM: program, CORRAL_ENGINE_DIRECTOR: socket };
    try {
      stage.server = await Server.launch({ modelsDir: stage.folder, environment }, "--no-hub-cache", ...flags);
    } catch (error) {
      stage.close();
      throw error;
    }
    return stage;
  }
  // The test itself; when it hangs, an error that says how things stand.
  async play(acts) {
    const acting = acts(this, this.server);
    acting.catch(() => {}); // also when it fails behind its time
    for (let before; before !== this.heard;) {
      before = this.heard;
      let timer;
      const waited = new Promise((resolve) => (timer = setTimeout(resolve, kHung, "waited")));
      const end = await Promise.race([acting, waited]).finally(() => clearTimeout(timer));
      if (end !== "waited") return;
    }
    throw new Error(await this.report());
  }
  // What the router knows, what it said, and which processes are there.
  async report() {
    const answers = ["/v1/health", "/v1/requests"].map((path) =>
      fetch(this.server.url + path, { signal: AbortSignal.timeout(kHung / 4) })
        .then((answer) => answer.text())
        .catch(String),
    );
    const processes = String(spawnSync("ps", ["-e", "-o", "pid,ppid,stat,wchan,args"]).stdout ?? "no ps here");
    const ours = processes.split("\n").filter((line) => line.includes(this.folder) || line.includes(this.server.state));
    const log = this.server.lines;
    return ["the test hangs", ...(await Promise.all(answers)), `started: ${this.started}`, ...ours, ...log].join("\n");
  }
  async stop() {
    try {
      await this.server.stop();
    } finally {
      this.close();
    }
  }
  // Without waiting for anything that runs.
  async abort() {
    this.server.child.kill("SIGKILL");
    await this.server.ended;
    await this.server.settled();
    this.close();
  }
  close() {
    this.director.close();
    rmSync(this.folder, { recursive: true, force: true });
  }

  add(engine) {
    this.started.push(engine.model);
    const deed = this.deeds.get(engine.model);
    if (deed) deed(engine);
    else this.automatic ? engine.ready() : this.queue(engine.model).put(engine);
  }
  queue(model) {
    if (!this.loads.has(model)) this.loads.set(model, new Queue());
    return this.loads.get(model);
  }
  // The next engine that is told to load this model.
  loading(model) {
    return this.queue(model).take();
  }
  // From now on every engine that is told to load this model does this.
  whenLoading(model, deed) {
    this.deeds.set(model, deed);
  }
  // A model in memory, idle.
  async have(model, options = {}, context) {
    const asking = this.server.post("/v1/load", { model_name: model, ...options });
    const engine = await Promise.race([this.loading(model), refusal(asking)]);
    engine.ready(context);
    await asking;
    return engine;
  }
  // Asks `holds` about health, again until it says yes; returns that answer.
  async health(holds) {
    for (;;) {
      const { body } = await this.server.get("/v1/health");
      if (holds(body)) return body;
    }
  }
}
