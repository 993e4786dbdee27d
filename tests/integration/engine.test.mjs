// The engine child alone, over its control channel, as the router talks to it.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import http from "node:http";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { after, test } from "node:test";
import { models, program } from "../support/server.mjs";

const engines = [];
// A test that fails half-way leaves its engine; that must not keep the others' results waiting.
after(() => engines.forEach((engine) => engine.child.kill("SIGKILL")));

class Engine {
  constructor(args = [], environment = {}, command = (program, args) => [program, args]) {
    this.folder = mkdtempSync(join(tmpdir(), "corral-engine-"));
    const socket = args.length > 0 ? args : ["--socket", join(this.folder, "engine.sock")];
    this.child = spawn(...command(program, ["engine", ...socket]), {
      stdio: ["ignore", "ignore", "ignore", "pipe"],
      env: { ...process.env, CORRAL_CONTROL_FD: "3", ...environment },
    });
    engines.push(this);
    this.control = this.child.stdio[3];
    this.control.on("error", () => {}); // it ends while we still write
    this.lines = createInterface({ input: this.control })[Symbol.asyncIterator]();
    this.ended = new Promise((resolve) => this.child.once("exit", (code, signal) => resolve(signal ?? code)));
    this.ended.then(() => rmSync(this.folder, { recursive: true, force: true }));
  }
  load(options) {
    this.control.write(JSON.stringify({ load: { model: "m", type: "llm", path: join(models, "tiny-llama.gguf"), ...options } }) + "\n");
  }
  // Everything up to and including the first event that is no progress.
  async events() {
    const events = [];
    for (let next = await this.lines.next(); !next.done; next = await this.lines.next()) {
      events.push(JSON.parse(next.value));
      if (!("progress" in events.at(-1))) return events;
    }
    throw new Error(`ended after ${JSON.stringify(events)}`);
  }
}

test("progress rises to one, then it is ready; it ends with its parent", async () => {
  const engine = new Engine();
  engine.load({ ctx_size: 1024 });
  const events = await engine.events();
  assert.equal(events.at(-1).ready.context_window, 1024);
  const progress = events.slice(0, -1).map((event) => event.progress);
  assert.ok(progress.length > 1);
  assert.deepEqual(progress, [...progress].sort((a, b) => a - b));
  assert.ok(progress[0] >= 0 && progress.at(-1) === 1);
  engine.control.destroy();
  assert.equal(await engine.ended, 0);
});

test("a load whose asker has gone is given up", async () => {
  const engine = new Engine();
  engine.load();
  engine.control.destroy();
  assert.notEqual(await engine.ended, null);
});

test("what can't be loaded says why, with the option and the numbers", async () => {
  const cases = [
    [{ ctx_size: 2 ** 30 }, "never_fits", "ctx_size"],
    [{ path: "/nowhere/model.gguf" }, "file_not_found", "model"],
    [{ path: join(models, "models.json") }, "load_failed", "model"],
    [{ lora: ["/nowhere/adapter.gguf"] }, "invalid_option", "lora"],
    [{ lora: [join(models, "tiny-llama.gguf")] }, "invalid_option", "lora"],
  ];
  for (const [options, cause, param] of cases) {
    const engine = new Engine();
    engine.load(options);
    const { failed } = (await engine.events()).at(-1);
    assert.equal(failed.cause, cause, JSON.stringify(failed));
    assert.equal(failed.param, param);
    assert.notEqual(failed.message, "");
    if (cause === "never_fits") assert.ok(failed.memory[0].need > failed.memory[0].have);
    assert.equal(await engine.ended, 1);
  }
});

test("a child that is told the CPU's library takes it, and none that is wrong", async () => {
  const library = async (told) => {
    const engine = new Engine([], told === undefined ? {} : { CORRAL_CPU_BACKEND: told });
    engine.load();
    const { ready } = (await engine.events()).at(-1);
    engine.control.destroy();
    assert.equal(await engine.ended, 0);
    return ready.cpu_backend;
  };
  const best = await library();
  assert.match(best, /libggml-cpu-\w+\.so$/);
  assert.equal(await library(best), best);
  // A variant that works on any machine of this kind: that it is taken shows that nothing else was tried.
  const plain = best.replace(/cpu-\w+\.so$/, "cpu-x64.so");
  if (existsSync(plain)) assert.equal(await library(plain), plain);
  for (const wrong of ["", "/nowhere/libggml-cpu-x.so", join(dirname(best), "libggml-cpu-nonesuch.so")]) assert.equal(await library(wrong), best);
});

test("an estimate is one answer, and the end", async () => {
  const engine = new Engine(["--estimate"]);
  engine.load({ ctx_size: 4096 });
  const events = await engine.events();
  assert.equal(events.length, 1);
  const { estimate } = events[0];
  assert.equal(estimate.devices[0].device, "cpu");
  assert.equal(estimate.devices[0].kv, 4096 * 2 * 2 * 2 * 16 * 2);
  assert.equal(await engine.ended, 0);

  const broken = new Engine(["--estimate"]);
  broken.load({ path: "/nowhere/model.gguf" });
  assert.equal((await broken.events()).at(-1).failed.cause, "file_not_found");
  assert.equal(await broken.ended, 1);
});

test("how the cache and the file are kept is as it was said", async () => {
  const kv = async (options) => {
    const engine = new Engine(["--estimate"]);
    engine.load({ ctx_size: 4096, ...options });
    return (await engine.events())[0];
  };
  const plain = (await kv({})).estimate.devices[0].kv;
  assert.equal((await kv({ cache_type_k: "f32", cache_type_v: "f32" })).estimate.devices[0].kv, 2 * plain);
  const engine = new Engine();
  engine.load({ flash_attention: "off", mmap: false, ctx_size: 1024 });
  assert.equal((await engine.events()).at(-1).ready.context_window, 1024);
  engine.control.destroy();
  assert.equal(await engine.ended, 0);
});

// One request over the engine's own socket; the answer's text.
function fetchText(engine, path, method, body) {
  return new Promise((resolve, reject) => {
    const request = http.request(
      { socketPath: join(engine.folder, "engine.sock"), path, method, headers: { "content-type": "application/json" } },
      (response) => {
        let text = "";
        response.on("data", (part) => (text += part)).on("end", () => resolve(text));
      },
    );
    request.on("error", reject);
    request.end(body);
  });
}
const ask = async (engine, body, path = "/v1/completions") =>
  JSON.parse(await fetchText(engine, path, "POST", JSON.stringify({ model: "m", temperature: 0, ...body })));
const story = Array.from({ length: 300 }, (_, at) => 40 + ((at * 7919) % 500));
const cachedOf = (answer) => answer.usage.prompt_tokens_details.cached_tokens;

test("answers in llama-server's own shape give the fields that are asked for", async () => {
  const engine = new Engine();
  engine.load({ ctx_size: 1024 });
  assert.ok((await engine.events()).at(-1).ready);
  const answer = await ask(engine, { prompt: story, n_predict: 3, ignore_eos: true, response_fields: ["tokens_predicted", "generation_settings/n_ctx"] }, "/completion");
  assert.deepEqual(answer, { tokens_predicted: 3, "generation_settings/n_ctx": 1024 });
  engine.control.destroy();
  await engine.ended;
});

test("a chat model that is said to be for embeddings embeds", async () => {
  const engine = new Engine();
  engine.load({ type: "embedding", ctx_size: 1024 });
  assert.ok((await engine.events()).at(-1).ready);
  const answer = await ask(engine, { input: "a horse" }, "/v1/embeddings");
  assert.ok(answer.data[0].embedding.length > 0);
  engine.control.destroy();
  await engine.ended;
});

test("with several workers each turn finds what the one before has computed", async () => {
  const engine = new Engine();
  engine.load({ workers: 2, ctx_size: 1024 });
  assert.ok((await engine.events()).at(-1).ready);
  const talks = [story, story.toReversed()];
  for (const turn of [1, 2, 3]) {
    const answers = await Promise.all(talks.map((prompt) => ask(engine, { prompt, max_tokens: 4 })));
    for (const [at, answer] of answers.entries()) {
      assert.equal(cachedOf(answer), turn === 1 ? 0 : talks[at].length - 1);
      assert.equal(answer.usage.completion_tokens, 4);
    }
  }
  const text = await fetchText(engine, "/metrics", "GET");
  for (const worker of [0, 1]) assert.match(text, new RegExp(`generations_total{[^}]*worker="${worker}"[^}]*} 3\\n`));
  engine.control.destroy();
  assert.equal(await engine.ended, 0);

  const wrong = new Engine();
  wrong.load({ workers: 65 });
  const { failed } = (await wrong.events()).at(-1);
  assert.deepEqual([failed.cause, failed.param], ["invalid_option", "workers"]);
});

// As a killed process of the same id has left it: without the clean-up at its start the engine dies of it with SIGBUS.
test("a broken note of the OpenMP library under its id does an engine no harm", async () => {
  const broken = ': > "/dev/shm/__KMP_REGISTERED_LIB_$$_$(id -u)"; exec "$0" "$@"';
  const engine = new Engine([], {}, (program, args) => ["/bin/sh", ["-c", broken, program, ...args]]);
  engine.load({ ctx_size: 1024 });
  assert.ok((await engine.events()).at(-1).ready);
  assert.equal((await ask(engine, { prompt: "a horse", max_tokens: 2 })).usage.completion_tokens, 2);
  engine.control.destroy();
  assert.equal(await engine.ended, 0);
});

test("downsized, it goes on where it was", async () => {
  const engine = new Engine();
  engine.load({ ctx_size: 1024 });
  await engine.events();
  const before = await ask(engine, { prompt: story, max_tokens: 8 });
  engine.control.write('{"downsize":{}}\n');
  let report;
  do {
    report = (await engine.events()).at(-1);
  } while (!("downsized" in report));
  assert.equal(report.downsized.done, true);
  assert.ok(report.downsized.parked_bytes > 0);
  const after = await ask(engine, { prompt: story, max_tokens: 8 });
  assert.equal(after.choices[0].text, before.choices[0].text);
  assert.equal(cachedOf(before), 0);
  assert.equal(cachedOf(after), story.length - 1);
  engine.control.destroy();
  await engine.ended;
});

test("with park_dir a conversation outlives its engine, told to end or left alone", async () => {
  const folder = mkdtempSync(join(tmpdir(), "corral-parked-"));
  const once = async (end) => {
    const engine = new Engine();
    engine.load({ ctx_size: 1024, park_dir: folder });
    await engine.events();
    const answer = await ask(engine, { prompt: story, max_tokens: 8 });
    end(engine);
    assert.equal(await engine.ended, 0);
    return answer;
  };
  const first = await once((engine) => engine.child.kill("SIGTERM"));
  const second = await once((engine) => engine.control.destroy());
  const other = await once((engine) => engine.control.destroy());
  assert.deepEqual([first, second, other].map(cachedOf), [0, story.length - 1, story.length - 1]);
  assert.equal(second.choices[0].text, first.choices[0].text);
  rmSync(folder, { recursive: true, force: true });
});
