// Starts a real `corral serve` on a free port and takes it down afterwards. A sanitizer's report in any process's output
// fails the test that owned the server.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

export const program = process.env.CORRAL_PROGRAM;
export const models = process.env.CORRAL_TEST_MODELS;
export const llamaBin = process.env.CORRAL_LLAMA_BIN;
if (!program || !models) throw new Error("CORRAL_PROGRAM and CORRAL_TEST_MODELS must be set: run these tests through script/test");

const kSanitizer = /ThreadSanitizer|AddressSanitizer|LeakSanitizer|runtime error:/;

// The first line of `stream` that matches, as a promise; all lines go to `lines`.
export function firstMatch(child, stream, lines, pattern, what) {
  return new Promise((resolve, reject) => {
    child.once("exit", (code, signal) => reject(new Error(`${what} ended with ${code ?? signal}:\n${lines.join("\n")}`)));
    createInterface({ input: stream }).on("line", (line) => {
      lines.push(line);
      const found = line.match(pattern);
      if (found) resolve(found);
    });
  });
}

// What sanitizers have found, in a server's output and in the logs of its state folder.
export function reports(folder, lines) {
  return [...logged(folder), ...lines.filter((line) => kSanitizer.test(line))];
}
function logged(folder) {
  const logs = join(folder, "log");
  if (!existsSync(logs)) return [];
  return readdirSync(logs)
    .map((file) => readFileSync(join(logs, file), "utf8"))
    .filter((text) => kSanitizer.test(text));
}

export class Server {
  static start(...flags) {
    return Server.launch({}, ...flags);
  }
  // With another folder of models, with more variables in its environment, or with something in its state folder.
  static async launch({ modelsDir = models, environment = {}, prepare = () => {} }, ...flags) {
    const server = new Server();
    server.state = mkdtempSync(join(tmpdir(), "corral-test-"));
    prepare(server.state);
    const common = ["--port", "0", "--models-dir", modelsDir, "--state-dir", server.state, "--runtime-dir", server.state];
    const options = { stdio: ["ignore", "ignore", "pipe"], env: { ...process.env, ...environment } };
    server.child = spawn(program, ["serve", ...common, ...flags], options);
    server.lines = [];
    server.ended = new Promise((resolve) => server.child.once("exit", (code, signal) => resolve({ code, signal })));
    server.url = (await firstMatch(server.child, server.child.stderr, server.lines, /listens on (http:\/\/\S+)/, "corral serve"))[1];
    server.port = new URL(server.url).port;
    return server;
  }

  get pid() {
    return this.child.pid;
  }

  // `keep`: its state folder stays, for a server that goes on with it.
  async stop({ keep = false } = {}) {
    this.child.kill("SIGTERM");
    const { code, signal } = await this.ended;
    await this.settled();
    const found = reports(this.state, this.lines);
    if (!keep) rmSync(this.state, { recursive: true, force: true });
    assert.deepEqual(found, [], "a sanitizer has something to say");
    assert.equal(code, 0, `corral serve ended with ${code ?? signal}:\n${this.lines.join("\n")}`);
  }

  // Requests whose answers nobody has got yet. A test that fails leaves some behind; they end with the server.
  pending = new Set();
  watched(asking) {
    const done = () => this.pending.delete(asking);
    this.pending.add(asking);
    asking.then(done, done);
    return asking;
  }
  settled() {
    return Promise.allSettled([...this.pending]);
  }

  fetch(path, options) {
    return this.watched(fetch(this.url + path, options));
  }
  json(method, path, body, headers = {}) {
    const text = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
    const asking = this.fetch(path, { method, body: text, headers: { "content-type": "application/json", ...headers } });
    const reading = asking.then(async (response) => {
      const answer = await response.text();
      return { status: response.status, headers: response.headers, body: answer === "" ? null : JSON.parse(answer) };
    });
    return this.watched(reading);
  }
  get(path) {
    return this.json("GET", path);
  }
  post(path, body) {
    return this.json("POST", path, body);
  }

  chat(model, content, more = {}) {
    return this.post("/v1/chat/completions", { model, messages: [{ role: "user", content }], temperature: 0, max_tokens: 16, ...more });
  }

  // A streamed request; yields the payload of every event, comments as ":".
  events(path, body, signal) {
    const all = this.read_events(path, body, signal);
    const next = all.next.bind(all);
    all.next = () => this.watched(next());
    return all;
  }
  async *read_events(path, body, signal) {
    yield* eventsOf(await this.fetch(path, { method: "POST", body: JSON.stringify(body), signal }));
  }

  async loaded() {
    return (await this.get("/v1/health")).body.all_models_loaded;
  }
  // Those that are told to end included.
  async occupying() {
    const { all_models_loaded, stopping } = (await this.get("/v1/health")).body;
    return [...all_models_loaded, ...stopping];
  }
}

// The payload of every event of a streamed answer, comments as ":".
async function* eventsOf(response) {
  if (response.status !== 200) throw new Error(`status ${response.status}: ${await response.text()}`);
  let rest = "";
  const decoder = new TextDecoder();
  for await (const bytes of response.body) {
    rest += decoder.decode(bytes, { stream: true });
    const events = rest.split("\n\n");
    rest = events.pop();
    for (const event of events) {
      const data = event.split("\n").filter((line) => line.startsWith("data: "));
      yield event.startsWith(":") ? ":" : data.map((line) => line.slice(6)).join("\n");
    }
  }
  assert.equal(rest, "", "the stream ends behind a whole event");
}

// It ends kept connections by its own count, which a request may come too late for.
const kOneRequest = { "content-type": "application/json", connection: "close" };

// llama.cpp's own server on one model: the reference.
export class Reference {
  static async start(file, ...flags) {
    const server = new Reference();
    const lines = [];
    server.child = spawn(join(llamaBin, "llama-server"), ["-m", join(models, file), "--port", "0", "--host", "127.0.0.1", ...flags], {
      stdio: ["ignore", "ignore", "pipe"],
    });
    server.ended = new Promise((resolve) => server.child.once("exit", resolve));
    server.url = (await firstMatch(server.child, server.child.stderr, lines, /listening on (http:\/\/\S+)/, "llama-server"))[1];
    return server;
  }
  async post(path, body) {
    const response = await fetch(this.url + path, { method: "POST", body: JSON.stringify(body), headers: kOneRequest });
    return { status: response.status, body: await response.json() };
  }
  async *events(path, body) {
    yield* eventsOf(await fetch(this.url + path, { method: "POST", body: JSON.stringify(body), headers: kOneRequest }));
  }
  async stop() {
    this.child.kill("SIGKILL");
    await this.ended;
  }
}
