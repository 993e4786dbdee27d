// Watching: events, metrics, slots, requests, and the commands that show them, against real processes.
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { createInterface } from "node:readline";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { parse, value } from "../support/prometheus.mjs";
import { Server, models, program } from "../support/server.mjs";

let server;
const folder = mkdtempSync(join(tmpdir(), "corral-events-"));
// With a constant time of last change.
function writeUnseen(file, bytes) {
  writeFileSync(file, bytes);
  utimesSync(file, 1e9, 1e9);
}
before(async () => {
  writeUnseen(join(folder, "tensor-missing.gguf"), readFileSync(join(models, "tiny-llama.gguf")));
  server = await Server.start("--models-dir", folder);
});
after(async () => {
  await server.stop();
  rmSync(folder, { recursive: true });
});

// Reads the stream of events; what has come is kept until somebody asks for it.
class Events {
  static async open(path = "/v1/events") {
    const events = new Events();
    events.abort = new AbortController();
    const response = await fetch(server.url + path, { signal: events.abort.signal });
    assert.equal(response.status, 200);
    assert.match(response.headers.get("content-type"), /^text\/event-stream/);
    events.response = response; // Node 20.19 may end the body of a response that nobody holds before its first read
    events.stream = events.read(response.body);
    return events;
  }
  async *read(body) {
    let rest = "";
    const decoder = new TextDecoder();
    for await (const bytes of body) {
      rest += decoder.decode(bytes, { stream: true });
      const blocks = rest.split("\n\n");
      rest = blocks.pop();
      for (const block of blocks) {
        if (block.startsWith(":")) continue;
        const [, id, name, data] = block.match(/^id: (\d+)\nevent: (\w+)\ndata: (.*)$/);
        yield { id: Number(id), name, data: JSON.parse(data) };
      }
    }
  }
  async next() {
    const { value: event, done } = await this.stream.next();
    return done ? null : event;
  }
  // All events up to the first one that fits.
  async until(fits) {
    const all = [];
    for (let event = await this.next(); event; event = await this.next()) {
      all.push(event);
      if (fits(event)) return all;
    }
    assert.fail(`the stream ended: ${JSON.stringify(all)}`);
  }
  close() {
    this.abort.abort();
  }
}

// The steps of one model, in order. Only events of kind "queue" may come in between. The model waits while corral checks its
// files: if the check takes long, a reader sees the queue with the model, and later without it.
function stepsOf(model, events) {
  const told = events.filter(({ name, data }) => name !== "queue" && data.stage !== "progress");
  for (const { name, data } of events) {
    assert.ok(["server", "load", "queue"].includes(name), `an event of kind '${name}': ${JSON.stringify(data)}`);
    if (name !== "queue") assert.equal(data.model, model);
    else for (const entry of data.load_queue) assert.equal(entry.model, model);
  }
  return told.map(({ name, data }) => (name === "load" ? `load ${data.stage}` : `${data.from}>${data.status}`));
}

const gone = (model) => (event) => event.name === "server" && event.data.model === model && event.data.status === "gone";
const ready = (model) => (event) => event.name === "server" && event.data.model === model && event.data.status === "ready";

// Asks again until it holds: corral counts the tokens of a request after it has sent the answer. CTest's limit for the file
// ends a wait without end.
async function eventually(holds) {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 5));
}

// Asks again until the engines of these models have answered in time.
async function metrics(...up) {
  const response = await fetch(server.url + "/metrics");
  assert.equal(response.status, 200);
  assert.equal(response.headers.get("content-type"), "text/plain; version=0.0.4; charset=utf-8");
  const found = parse(await response.text());
  return up.every((model) => value(found, "corral_engine_up", { model }) === 1) ? found : metrics(...up);
}

function corral(...args) {
  return new Promise((resolve) => {
    execFile(program, [...args, "--port", server.port], (error, stdout, stderr) => resolve({ code: error?.code ?? 0, stdout, stderr }));
  });
}

test("a snapshot comes first, then a load and an unload in order, the same for two readers", async () => {
  const readers = [await Events.open(), await Events.open("/api/v0/events")];
  for (const reader of readers) {
    const first = await reader.next();
    assert.equal(first.name, "snapshot");
    const health = (await server.get("/v1/health")).body;
    for (const member of ["all_models_loaded", "loading", "load_queue", "max_models", "pinned_models", "model_loaded"]) {
      assert.deepEqual(first.data[member], health[member], member);
    }
  }
  assert.equal((await server.post("/v1/load", { model_name: "tiny-llama" })).status, 200);
  assert.equal((await server.post("/v1/unload", { model_name: "tiny-llama" })).status, 200);
  const told = [];
  for (const reader of readers) {
    const events = await reader.until(gone("tiny-llama"));
    events.forEach((event, i) => assert.equal(event.id, events[0].id + i));
    assert.deepEqual(stepsOf("tiny-llama", events), ["queued>loading", "load started", "load finished", "loading>ready", "ready>evicting", "evicting>gone"]);
    for (const event of events.filter((one) => one.data.stage === "progress")) assert.ok(event.data.progress > 0 && event.data.progress <= 1);
    assert.equal(events.at(-1).data.reason, "unload");
    told.push(events);
    reader.close();
  }
  assert.deepEqual(told[0], told[1]);
});

test("an eviction says why, a failed load says what was wrong", async () => {
  const events = await Events.open();
  assert.equal((await server.post("/v1/load", { model_name: "tiny-llama" })).status, 200);
  assert.equal((await server.post("/v1/load", { model_name: "tiny-qwen3" })).status, 200);
  const evicted = (await events.until(gone("tiny-llama"))).at(-1);
  assert.equal(evicted.data.reason, "room");
  await events.until(ready("tiny-qwen3"));
  // A file that has been loaded is not read by a dry run before the next load: only that finds what it misses now.
  assert.equal((await server.post("/v1/load", { model_name: "tensor-missing" })).status, 200);
  assert.equal((await server.post("/v1/unload", { model_name: "tensor-missing" })).status, 200);
  const bytes = readFileSync(join(models, "tiny-llama.gguf"));
  bytes.write("output_morn.weight", bytes.indexOf("output_norm.weight"));
  writeUnseen(join(folder, "tensor-missing.gguf"), bytes);
  const refused = await server.post("/v1/load", { model_name: "tensor-missing" });
  assert.ok(refused.status >= 400, JSON.stringify(refused.body));
  const failed = (await events.until((event) => event.data.stage === "failed")).at(-1);
  assert.equal(failed.data.model, "tensor-missing");
  assert.ok(failed.data.cause.length > 0 && failed.data.code.length > 0);
  assert.equal((await server.post("/v1/unload", {})).status, 200);
  events.close();
});

test("a reader that never reads does no harm", async () => {
  const dead = connect(server.port, "127.0.0.1");
  await once(dead, "connect");
  dead.write("GET /v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
  dead.pause();
  const events = await Events.open();
  for (let i = 0; i < 5; ++i) {
    assert.equal((await server.post("/v1/load", { model_name: "tiny-embed" })).status, 200);
    assert.equal((await server.post("/v1/unload", { model_name: "tiny-embed" })).status, 200);
    await events.until(gone("tiny-embed"));
  }
  assert.equal((await server.get("/v1/health")).status, 200);
  events.close();
  dead.destroy();
});

test("metrics parse strictly, and counters add up with what was asked", async () => {
  const asked = { requests: 3, input: 0, output: 0 };
  const before = (await server.get("/v1/stats")).body;
  for (let i = 0; i < asked.requests; ++i) {
    const { status, body } = await server.chat("tiny-moe", `Count to ${i}.`);
    assert.equal(status, 200);
    asked.input += body.usage.prompt_tokens;
    asked.output += body.usage.completion_tokens;
  }
  const embedded = (await server.post("/v1/embeddings", { model: "tiny-embed", input: ["one", "two"] })).body.usage.prompt_tokens;
  assert.equal((await server.chat("tiny-moe", "x", { temperature: "hot" })).status, 400);
  const of = { model: "tiny-moe" };
  await eventually(async () => (await server.get("/v1/stats")).body.request_count_total === before.request_count_total + 4);
  const found = await metrics("tiny-moe");
  assert.equal(value(found, "corral_requests_total", { ...of, outcome: "ok" }), 3);
  assert.equal(value(found, "corral_requests_total", { ...of, outcome: "refused" }), 0);
  assert.equal(value(found, "corral_input_tokens_total", of), asked.input);
  assert.equal(value(found, "corral_output_tokens_total", of), asked.output);
  assert.equal(value(found, "corral_time_to_first_token_seconds", of, "_count"), 3);
  assert.equal(value(found, "corral_queue_wait_seconds", of, "_count"), 3);
  assert.equal(value(found, "corral_loads_total", { ...of, outcome: "loaded" }), 1);
  assert.equal(value(found, "corral_load_duration_seconds", of, "_count"), 1);
  assert.equal(value(found, "corral_input_tokens_total", { model: "tiny-embed" }), embedded);
  assert.equal(value(found, "corral_model_status", { ...of, status: "ready" }), 1);
  assert.equal(value(found, "corral_loaded_models", { type: "llm" }), 1);
  assert.ok(value(found, "corral_model_memory_bytes", of) > 1e6);
  assert.ok(value(found, "process_resident_memory_bytes") > 1e6);
  assert.equal(value(found, "corral_engine_up", of), 1);
  assert.equal(value(found, "corral_engine_predicted_tokens_total", of), asked.output);
  assert.ok(value(found, "corral_engine_kv_cells", of) > 0);
  assert.equal(value(found, "corral_engine_parked_memory_limit_bytes", of), 2 ** 30);
  const stats = (await server.get("/v1/stats")).body;
  assert.equal(stats.prompt_tokens_total - before.prompt_tokens_total, asked.input + embedded);
  assert.equal(stats.output_tokens_total - before.output_tokens_total, asked.output);
  assert.equal(stats.model_name, "tiny-embed");
});

test("slots that nobody has are listed, and erasing them succeeds", async () => {
  assert.equal((await server.chat("tiny-moe", "hi")).status, 200);
  const slots = (await server.get("/v1/slots")).body.filter((slot) => slot.model === "tiny-moe");
  assert.ok(slots.length >= 1);
  for (const slot of slots) {
    assert.equal(slot.is_processing, false);
    const erased = await server.post(`/v1/slots/${slot.id}?action=erase`);
    assert.deepEqual([erased.status, erased.body], [200, { id_slot: slot.id, n_erased: 0 }]);
  }
});

test("an engine that hangs delays metrics and slots by their deadline only, and health not at all", async () => {
  const hung = (await server.loaded()).find((entry) => entry.model_name === "tiny-moe");
  process.kill(hung.pid, "SIGSTOP");
  try {
    const asked = metrics("tiny-embed");
    assert.equal((await server.get("/v1/health")).status, 200);
    const found = await asked;
    assert.equal(value(found, "corral_engine_up", { model: "tiny-moe" }), 0);
    assert.equal(value(found, "corral_engine_up", { model: "tiny-embed" }), 1);
    const slots = (await server.get("/v1/slots")).body;
    assert.deepEqual(slots.map((slot) => slot.model), ["tiny-moe"]);
    assert.match(slots[0].error, /in time/);
  } finally {
    process.kill(hung.pid, "SIGCONT");
  }
});

test("slots and requests show what runs, and cancelling ends it", async () => {
  const long = { model: "scripted-endless", messages: [{ role: "user", content: "go" }], stream: true, temperature: 0 };
  const response = await fetch(server.url + "/v1/chat/completions", {
    method: "POST",
    body: JSON.stringify(long),
    headers: { "x-request-id": "mine" },
  });
  // Who knows the id of a request can end it, so nobody chooses one.
  const id = response.headers.get("x-request-id");
  assert.match(id, /^req-[0-9a-f]{32}$/);
  assert.equal(response.headers.get("x-client-request-id"), "mine");
  assert.equal((await server.post("/v1/requests/mine/cancel", {})).status, 404);
  // The head of a stream comes while its request may still be queued.
  const listed = async () => (await server.get("/v1/requests")).body.requests.find((request) => request.id === id);
  assert.equal((await listed()).model, "scripted-endless");
  await eventually(async () => (await listed()).status === "running");
  await eventually(async () => (await server.get("/v1/slots")).body.some((slot) => slot.model === "scripted-endless" && "state" in slot));
  const cancelled = await server.post(`/v1/requests/${id}/cancel`, {});
  assert.deepEqual(cancelled.body, { status: "success", id, cancelled: 1 });
  const text = await response.text();
  const last = text.trimEnd().split("\n\n").at(-1);
  assert.equal(JSON.parse(last.replace(/^data: /, "")).error.code, "cancelled");
  assert.ok(!text.includes("[DONE]"));
  await eventually(async () => !(await server.loaded()).find((entry) => entry.model_name === "scripted-endless").is_busy);
  assert.equal((await server.post(`/v1/requests/${id}/cancel`, {})).status, 404);
});

test("ps, pin, unpin, stats and events on the command line", async () => {
  assert.equal((await corral("load", "tiny-llama")).code, 0);
  assert.match((await corral("pin", "tiny-llama")).stdout, /tiny-llama is pinned/);
  assert.match((await corral("ps")).stdout, /^tiny-llama +llm +ready +cpu +\S+ MiB +\d+ +0 +\S.* yes$/m);
  const full = await corral("load", "tiny-qwen3");
  assert.equal(full.code, 1);
  assert.match(full.stderr, /warning: pinned models hold all 1 slots of type llm/);
  assert.match((await corral("unpin", "tiny-llama")).stdout, /is unpinned/);
  assert.doesNotMatch((await corral("ps")).stdout, /yes$/m);
  assert.match((await corral("stats")).stdout, /^last request {2}\S+: \d+ tokens in/);

  const watched = async (args, first, then, fits) => {
    const child = spawn(program, [...args, "--port", server.port], { stdio: ["ignore", "pipe", "inherit"] });
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    assert.ok(first((await lines.next()).value));
    await then();
    for (let line = await lines.next(); !fits(line.value); line = await lines.next()) assert.ok(!line.done);
    child.kill("SIGINT");
    const [code] = await once(child, "exit");
    assert.equal(code, 130);
  };
  const holds = (model) => (line) => JSON.parse(line).all_models_loaded.some((entry) => entry.model_name === model);
  await watched(["ps", "--watch", "--json"], holds("tiny-llama"), () => server.post("/v1/load", { model_name: "tiny-qwen3" }), holds("tiny-qwen3"));
  await watched(
    ["events"],
    (line) => /in memory: .*tiny-qwen3 \(ready\)/.test(line),
    () => server.post("/v1/unload", { model_name: "tiny-qwen3" }),
    (line) => /tiny-qwen3: gone \(unload\)/.test(line),
  );
});

test("the stream ends with the server, which doesn't wait for its readers", async () => {
  const own = await Server.start();
  const response = await fetch(own.url + "/v1/events");
  const text = response.text();
  await own.stop();
  assert.match(await text, /event: snapshot\n[^]*event: shutdown\ndata: \{[^\n]*\}\n\n$/);
});
