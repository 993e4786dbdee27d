// The two children that make a split, without a router between them: workers that compute some layers, and an engine
// that has the others. What a router does for them is played here: it gives each worker a loopback port of the engine's.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { request } from "node:http";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { models, program } from "./server.mjs";

// A child with a control channel as descriptor 3, which says {"ready":{…}} or {"failed":{…}}.
class Child {
  constructor(words) {
    this.output = "";
    // A process with threads gets no namespaces, and its allocator would start one.
    // Under a sanitizer memory that isn't there is no end of the process either.
    const environment = { ...process.env, CORRAL_CONTROL_FD: "3", MALLOC_CONF: "background_thread:false" };
    for (const name of ["ASAN_OPTIONS", "TSAN_OPTIONS"])
      environment[name] = `${process.env[name] ? `${process.env[name]} ` : ""}allocator_may_return_null=1`;
    this.process = spawn(program, words, { stdio: ["ignore", "pipe", "pipe", "pipe"], env: environment });
    for (const stream of [this.process.stdout, this.process.stderr]) stream.on("data", (bytes) => (this.output += bytes));
    this.control = this.process.stdio[3];
    this.control.on("error", () => {}); // it has gone
    this.ended = new Promise((resolve) => this.process.once("exit", (code, signal) => resolve({ code, signal })));
  }
  async answer() {
    for await (const line of createInterface({ input: this.control })) {
      const event = JSON.parse(line);
      if (event.progress === undefined) return event;
    }
    return { failed: { message: `it ended: ${this.output}` } };
  }
  // As a parent that ends.
  async leave() {
    this.control.destroy();
    return this.ended;
  }
}

// `use(lab)`, and nothing of it is left afterwards.
export async function inLab(use) {
  const lab = new Lab();
  try {
    return await use(lab);
  } finally {
    await lab.end();
  }
}

class Lab {
  folder = mkdtempSync(join(tmpdir(), "corral-split-"));
  children = [];
  doors = [];
  sockets = new Set();

  start(...words) {
    const child = new Child(words);
    this.children.push(child);
    return child;
  }
  async worker(...flags) {
    const socket = join(this.folder, `worker-${this.children.length}.sock`);
    const worker = this.start("rpc-worker", "--socket", socket, "--threads", "1", ...flags);
    const { ready, failed } = await worker.answer();
    assert.ok(ready, failed?.message);
    return Object.assign(worker, { ready, socket });
  }
  // A loopback port that leads to a worker.
  async doorTo(worker) {
    const door = net.createServer((from) => {
      const to = net.connect(worker.socket);
      from.setNoDelay(true);
      for (const [one, other] of [[from, to], [to, from]]) {
        this.sockets.add(one);
        one.on("error", () => {});
        one.on("close", () => (this.sockets.delete(one), other.destroy()));
        one.pipe(other);
      }
    });
    await new Promise((resolve) => door.listen(0, "127.0.0.1", resolve));
    this.doors.push(door);
    return `127.0.0.1:${door.address().port}`;
  }
  // An engine of `model` that shares its layers with these workers.
  async engine(model, workers, { type = "llm", ...options } = {}) {
    const socket = join(this.folder, `engine-${this.children.length}.sock`);
    const engine = this.start("engine", "--socket", socket);
    const remotes = [];
    for (const [place, worker] of workers.entries())
      remotes.push({ name: `worker ${place}`, endpoint: await this.doorTo(worker), share: 1 });
    const load = { model, type, path: join(models, `${model}.gguf`), ctx_size: 2048, parallel: 4, threads: 1, speculative: 0, ...options };
    engine.control.write(`${JSON.stringify({ load: remotes.length ? { ...load, remotes, own_share: 1 } : load })}\n`);
    const { ready, failed } = await engine.answer();
    assert.ok(ready, failed?.message);
    return Object.assign(engine, { ready, model, post: (path, body) => post(socket, path, { model, ...body }) });
  }
  async end() {
    for (const socket of this.sockets) socket.destroy();
    for (const door of this.doors) door.close();
    for (const child of this.children) child.process.kill("SIGKILL");
    await Promise.all(this.children.map((child) => child.ended));
    rmSync(this.folder, { recursive: true });
  }
}

// The whole answer's text; `response.destroy()` by `on` ends it early.
function post(socketPath, path, body) {
  return new Promise((resolve, reject) => {
    const asked = request({ socketPath, path, method: "POST", headers: { "content-type": "application/json" } }, (response) => {
      let text = "";
      response.on("data", (bytes) => {
        text += bytes;
        if (body.stream && text.includes("data:")) asked.emit("began");
      });
      response.on("end", () => resolve({ status: response.statusCode, text, body: body.stream ? undefined : JSON.parse(text) }));
      response.on("error", reject);
    });
    asked.on("error", reject);
    asked.on("began", () => body.began?.(asked));
    asked.end(JSON.stringify({ ...body, began: undefined }));
  });
}
