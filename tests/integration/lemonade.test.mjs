// What clients of Lemonade Server expect of pins, of models that leave memory by themselves and of options: the paths,
// fields and statuses they use, on real processes.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import { promisify } from "node:util";
import { models, program, Server } from "../support/server.mjs";

let folder;
let server;
before(() => {
  folder = mkdtempSync(join(tmpdir(), "corral-lemonade-"));
});
after(() => rmSync(folder, { recursive: true, force: true }));
afterEach(() => server.stop());

const state = () => join(folder, "state");
const start = async (...more) => (server = await Server.start("--state-dir", state(), "--no-warm-spare", ...more));
async function restart(...more) {
  await server.stop();
  await start(...more);
}

const ok = (answer) => (assert.equal(answer.status, 200, JSON.stringify(answer.body)), answer.body);
const load = async (model_name, options = {}) => ok(await server.post("/api/v1/load", { model_name, ...options }));
const pin = (model_name, pinned) => server.post("/internal/pin", { model_name, pinned });
const names = async () => (await server.loaded()).map((entry) => entry.model_name).sort();
const entry = async (model) => (await server.loaded()).find((loaded) => loaded.model_name === model);
const pressure = async (pct) => ok(await server.post("/internal/simulate-vram-pressure", { pct }));
const options = async (model) => ok(await server.get(`/api/v1/models/${model}/options`));

// Asks until the answer is the wanted one; a test that never gets it ends by the runner's deadline.
async function until(ask, wanted) {
  for (;;) {
    const answer = await ask();
    if (wanted(answer)) return answer;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

beforeEach(() => rmSync(state(), { recursive: true, force: true }));

describe("pinning", () => {
  test("a load may pin, and health tells it", async () => {
    await start();
    const { status, model_name, checkpoint, recipe } = await load("tiny-llama", { pinned: true });
    assert.deepEqual([status, model_name, checkpoint, recipe], ["success", "tiny-llama", join(models, "tiny-llama.gguf"), "llamacpp"]);
    assert.equal((await entry("tiny-llama")).pinned, true);
    const health = ok(await server.get("/api/v1/health"));
    assert.deepEqual([health.pinned_models.llm, health.pinned_models.embedding, health.max_models.llm], [1, 0, 1]);
  });

  test("a pin is set and taken off by itself, as often as one likes, and what makes no sense is 400", async () => {
    await start();
    await load("tiny-llama");
    for (const pinned of [true, true, false, false]) {
      for (const key of ["model", "model_name"]) {
        const answer = ok(await server.post("/internal/pin", { [key]: "tiny-llama", pinned }));
        assert.deepEqual(answer, { status: "success", model_name: "tiny-llama", pinned });
        assert.equal((await entry("tiny-llama")).pinned, pinned);
      }
    }
    for (const body of ["", "{", {}, { pinned: true }, { model: "tiny-llama" }, { model: "tiny-llama", pinned: "yes" }, { model: "tiny-llama", pinned: null }, { model: "tiny-qwen3", pinned: true }, { model: "no-such-model", pinned: true }]) {
      const answer = await server.post("/internal/pin", body);
      assert.equal(answer.status, 400, JSON.stringify(body));
      assert.ok(answer.body.error.message && answer.body.error.type);
    }
    const unknown = await pin("tiny-lama", true);
    assert.match(unknown.body.error.message, /no model 'tiny-lama': did you mean 'tiny-llama'/);
    assert.equal(unknown.body.error.code, "model_not_found");
  });

  test("where every slot is pinned a load of the type is 409, others load, and unpinning frees the slot", async () => {
    await start();
    await load("tiny-llama", { pinned: true });
    for (const ask of [() => server.post("/api/v1/load", { model_name: "tiny-qwen3" }), () => server.chat("tiny-qwen3", "hi")]) {
      const refused = await ask();
      assert.equal(refused.status, 409);
      assert.equal(refused.body.error.code, "slots_pinned_error");
      assert.equal(refused.body.error.param, "model");
    }
    await load("tiny-embed");
    ok(await pin("tiny-llama", false));
    await load("tiny-qwen3");
    assert.deepEqual(await names(), ["tiny-embed", "tiny-qwen3"]);
  });

  test("a pin outlives a reload and a second load, unless they say otherwise", async () => {
    await start();
    await load("tiny-llama", { pinned: true, ctx_size: 1024 });
    const { pid } = await entry("tiny-llama");
    await load("tiny-llama", { ctx_size: 1024 });
    assert.deepEqual([(await entry("tiny-llama")).pid, (await entry("tiny-llama")).pinned], [pid, true]);
    await load("tiny-llama", { ctx_size: 512 });
    assert.notEqual((await entry("tiny-llama")).pid, pid);
    assert.equal((await entry("tiny-llama")).pinned, true);
    await load("tiny-llama", { ctx_size: 512, pinned: false });
    assert.equal((await entry("tiny-llama")).pinned, false);
  });

  test("a pinned model is neither downsized nor evicted, by idleness or for memory", async () => {
    await start("--max-loaded-models", "2");
    const soon = { auto_evict: true, downsize_idle_timeout: 0, evict_idle_timeout: 0 };
    await load("tiny-llama", { ...soon, pinned: true });
    const { pid } = await entry("tiny-llama");
    await load("tiny-qwen3", soon);
    for (const pct of [-1, 0.99]) await pressure(pct);
    await until(names, (left) => left.length === 1);
    const pinned = await entry("tiny-llama");
    assert.deepEqual([pinned.pid, pinned.status], [pid, "ready"]);
    assert.deepEqual(await pressure(-1), { status: "success", downsized: [], evicted: [] });
    ok(await pin("tiny-llama", false));
    await until(names, (left) => left.length === 0);
  });

  test("a saved pin holds after a restart, and can be taken off without loading the model", async () => {
    await start();
    await load("tiny-llama", { pinned: true });
    await restart();
    assert.equal((await options("tiny-llama")).pinned, true);
    await load("tiny-llama");
    assert.equal((await entry("tiny-llama")).pinned, true);
    await restart();
    const { stdout } = await promisify(execFile)(program, ["unpin", "tiny-llama", "--url", server.url]);
    assert.match(stdout, /tiny-llama is unpinned/);
    assert.equal((await options("tiny-llama")).pinned, false);
    await load("tiny-llama");
    await load("tiny-qwen3");
    assert.deepEqual(await names(), ["tiny-qwen3"]);
  });
});

describe("eviction", () => {
  test("without auto_evict no pass does anything", async () => {
    await start();
    await load("tiny-llama", { downsize_idle_timeout: 0, evict_idle_timeout: 0 });
    for (const pct of [-1, 0.5, 0.99]) assert.deepEqual(await pressure(pct), { status: "success", downsized: [], evicted: [] });
    assert.equal((await entry("tiny-llama")).status, "ready");
  });

  test("downsize_idle_timeout 0 is at once, and the next request finds it as it was", async () => {
    await start();
    await load("tiny-llama", { auto_evict: true, downsize_idle_timeout: 0, evict_idle_timeout: 3600 });
    const said = (await server.chat("tiny-llama", "Say hello.")).body.choices[0].message.content;
    const { pid, recipe_options } = await entry("tiny-llama");
    assert.deepEqual([recipe_options.auto_evict, recipe_options.downsize_idle_timeout, recipe_options.evict_idle_timeout], [true, 0, 3600]);
    await pressure(-1);
    assert.equal((await entry("tiny-llama")).status, "downsized");
    assert.equal((await server.chat("tiny-llama", "Say hello.")).body.choices[0].message.content, said);
    await until(() => entry("tiny-llama"), (one) => one.status === "downsized"); // by itself
    assert.equal((await entry("tiny-llama")).pid, pid);
  });

  test("evict_idle_timeout 0 is at once, -1 never", async () => {
    await start("--max-loaded-models", "2");
    await load("tiny-qwen3", { auto_evict: true, downsize_idle_timeout: -1, evict_idle_timeout: -1 });
    await load("tiny-llama", { auto_evict: true, downsize_idle_timeout: -1, evict_idle_timeout: 0 });
    await pressure(-1);
    await until(names, (left) => left.length === 1);
    assert.equal((await entry("tiny-qwen3")).status, "ready");
    assert.equal((await entry("tiny-qwen3")).recipe_options.evict_idle_timeout, -1);
  });

  test("under pressure the lighter model goes, however heavy the other is", async () => {
    await start("--max-loaded-models", "2");
    const never = { auto_evict: true, downsize_idle_timeout: -1, evict_idle_timeout: -1 };
    await load("tiny-llama", { ...never, evict_weight_factor: 1e12 });
    await load("tiny-qwen3", { ...never, evict_weight_factor: 1e-6 });
    const done = await pressure(0.95);
    assert.deepEqual(done.evicted, ["tiny-qwen3"]);
    assert.deepEqual(await names(), ["tiny-llama"]);
    assert.equal((await entry("tiny-llama")).recipe_options.evict_weight_factor, 1e12);
    const refused = await server.post("/api/v1/load", { model_name: "tiny-llama", evict_weight_factor: 0 });
    assert.equal(refused.status, 400);
    assert.match(refused.body.error.message, /evict_weight_factor.*above 0/);
  });

  test("settings of one model go before those of the server, which may change while it runs", async () => {
    await start("--max-loaded-models", "2");
    ok(await server.post("/internal/set", { auto_evict: true, downsize_idle_timeout: "never", evict_idle_timeout: 0 }));
    await load("tiny-llama", { auto_evict: false });
    await load("tiny-qwen3");
    await pressure(-1);
    await until(names, (left) => left.length === 1 && left[0] === "tiny-llama");
    assert.equal(ok(await server.get("/internal/config")).settings.downsize_idle_timeout.value, "never");
  });
});

describe("options", () => {
  test("flags are kept as they were given; null is without them, a text instead of them", async () => {
    await start("--parallel", "3");
    ok(await server.post("/internal/set", { llamacpp: { args: "-t 1" } }));
    const parallel = async (more) => {
      await load("tiny-llama", more);
      const { recipe_options } = await entry("tiny-llama");
      return [recipe_options.ctx_size, recipe_options.parallel, recipe_options.threads];
    };
    await load("tiny-llama", { llamacpp_args: "-np 2  -c 1024", save_options: true });
    assert.deepEqual((await options("tiny-llama")).saved, { llamacpp_args: "-np 2  -c 1024" });
    assert.deepEqual(ok(await server.get("/v1/models/tiny-llama")).recipe_options, { llamacpp_args: "-np 2  -c 1024" });
    assert.equal((await entry("tiny-llama")).recipe_options.llamacpp_args, "-np 2  -c 1024");
    assert.deepEqual(await parallel({}), [1024, 2, 1]);
    assert.deepEqual(await parallel({ llamacpp_args: null }), [-1, 3, 1]);
    assert.deepEqual(await parallel({ llamacpp_args: "-c 512" }), [512, 3, 1]);
    assert.deepEqual(await parallel({ llamacpp_args: "-c 512", merge_args: false }), [512, 3, 0]);
    assert.deepEqual(await parallel({}), [1024, 2, 1], "what a load said isn't saved");
  });

  test("options tell the whole of a load, and a dry run what is saved", async () => {
    await start();
    const now = await options("tiny-llama");
    assert.equal(now.effective.model_name, "tiny-llama");
    assert.ok(now.resolved_ctx_size > 0);
    ok(await server.post("/api/v1/models/tiny-llama/options", { ctx_size: 768 }));
    const dry = ok(await server.post("/api/v1/models/tiny-llama/options", { ctx_size: 512, dry_run: true }));
    assert.deepEqual([dry.saved, dry.effective.ctx_size, dry.resolved_ctx_size], [{ ctx_size: 768 }, 512, 512]);
    ok(await server.post("/api/v1/load", (await options("tiny-llama")).effective));
    assert.equal((await entry("tiny-llama")).max_context_window, 768);
    const after = await options("tiny-llama");
    assert.deepEqual([after.needs_reload, after.resolved_ctx_size], [false, 768]);
  });

  test("an unknown option is refused with the nearest, in options and in load, and unloads nobody", async () => {
    await start();
    await load("tiny-llama");
    for (const path of ["/api/v1/load", "/api/v1/models/tiny-qwen3/options"]) {
      const refused = await server.post(path, { model_name: "tiny-qwen3", context_size: 512 });
      assert.equal(refused.status, 400);
      assert.equal(refused.body.error.param, "context_size");
      assert.match(refused.body.error.message, /did you mean 'ctx_size'\?/);
    }
    assert.deepEqual(await names(), ["tiny-llama"]);
  });

  test("names with a prefix are understood, in requests and in files that other servers wrote", async () => {
    mkdirSync(state(), { recursive: true });
    writeFileSync(join(state(), "user_models.json"), JSON.stringify({ "user.mine": { checkpoint: "tiny-llama.gguf", recipe: "llamacpp" } }));
    writeFileSync(join(state(), "recipe_options.json"), JSON.stringify({ "user.mine": { ctx_size: 1280, pinned: true } }));
    await start();
    for (const name of ["mine", "user.mine", "extra.mine", "builtin.mine:latest"]) assert.equal(ok(await server.get(`/v1/models/${name}`)).id, "mine");
    await load("user.mine");
    const { max_context_window, pinned } = await entry("mine");
    assert.deepEqual([max_context_window, pinned], [1280, true]);
    ok(await pin("user.mine", false));
    assert.deepEqual(JSON.parse(readFileSync(join(state(), "recipe_options.json"), "utf8")), { mine: { ctx_size: 1280 } });
    const unknown = await server.get("/v1/models/user.nobody");
    assert.deepEqual([unknown.status, unknown.body.error.code, unknown.body.error.param], [404, "model_not_found", "model"]);
  });

  test("a request without a model goes to the only one loaded, under the paths of llama-server too", async () => {
    await start();
    const chat = { messages: [{ role: "user", content: "hi" }], max_tokens: 4, temperature: 0 };
    const refused = await server.post("/v1/chat/completions", chat);
    assert.equal(refused.status, 400);
    assert.match(refused.body.error.message, /no model of type llm is loaded; available: '/);
    await load("tiny-llama");
    await load("tiny-embed");
    for (const path of ["/v1/chat/completions", "/chat/completions"]) {
      const answer = ok(await server.post(path, chat));
      assert.equal(answer.model, "tiny-llama");
      assert.ok(answer.choices[0].message);
    }
    for (const path of ["/completion", "/completions"]) assert.equal(typeof ok(await server.post(path, { prompt: "hi", n_predict: 2 })).content, "string");
    for (const path of ["/embedding", "/embeddings"]) {
      const [first] = ok(await server.post(path, { content: "hi" }));
      assert.equal(first.index, 0);
      assert.ok(first.embedding[0].length > 0);
    }
    assert.ok(ok(await server.post("/tokenize", { model: "tiny-llama", content: "hi" })).tokens.length > 0);
    assert.equal(ok(await server.get("/props?model=tiny-llama")).model_alias, "tiny-llama");
    assert.equal(ok(await server.get("/models")).object, "list");
    const page = await fetch(server.url);
    assert.deepEqual([page.status, await page.text()], [200, "corral is running\n"]);
    assert.equal((await fetch(server.url, { method: "HEAD" })).status, 200);
    assert.equal((await (await fetch(server.url, { headers: { accept: "application/json" } })).json()).status, "ok");
  });
});
