// Memory: what is said before a load and what is there after it; loads that can't be.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { models, Reference, Server } from "../support/server.mjs";

const MiB = 2 ** 20;
const words = Array.from({ length: 600 }, (_, i) => `word${i}`).join(" ");

let server;
before(async () => {
  server = await Server.start("--max-loaded-models", "2");
});
after(() => server.stop());

const resident = (pid) => Number(readFileSync(`/proc/${pid}/status`, "utf8").match(/^VmRSS:\s+(\d+)/m)[1]) * 1024;
const entry = async (model) => (await server.loaded()).find((loaded) => loaded.model_name === model);

// Touches everything: full passes, several sequences.
const use = {
  llm: async (model) => {
    const body = (text) => ({ model, prompt: text, max_tokens: 4, temperature: 0, ignore_eos: true });
    const answers = await Promise.all([words, "a", "b", "c"].map((text) => server.post("/v1/completions", body(text))));
    for (const answer of answers) assert.equal(answer.status, 200, JSON.stringify(answer.body));
  },
  embedding: async (model) => assert.equal((await server.post("/v1/embeddings", { model, input: Array(16).fill("word ".repeat(60)) })).status, 200),
  reranking: async (model) => assert.equal((await server.post("/v1/rerank", { model, query: "q", documents: Array(16).fill("word ".repeat(60)) })).status, 200),
};

for (const [model, type] of [["tiny-llama", "llm"], ["tiny-llama-q8_0", "llm"], ["tiny-moe", "llm"], ["tiny-mamba", "llm"], ["tiny-embed", "embedding"], ["tiny-rerank", "reranking"]]) {
  test(`${model} occupies what was predicted`, async (t) => {
    if (process.env.CORRAL_SANITIZE) return t.skip("a sanitizer's own memory is not predicted");
    const estimate = await server.post("/v1/estimate", { model_name: model });
    assert.equal(estimate.status, 200, JSON.stringify(estimate.body));
    const { memory } = estimate.body;
    const [host] = memory.devices;
    assert.equal(host.device, "cpu");
    assert.equal(host.total, host.weights + host.kv + host.compute);
    assert.equal(memory.total, memory.devices.reduce((sum, device) => sum + device.total, memory.process));
    assert.equal(await entry(model), undefined, "an estimate loads nothing");

    assert.equal((await server.post("/v1/load", { model_name: model })).status, 200);
    await use[type](model);
    const loaded = await entry(model);
    assert.deepEqual(loaded.memory, memory, "health tells what was predicted");
    const measured = resident(loaded.pid);
    // Of a process this small, what its libraries and threads happen to touch is more than a twentieth.
    const tolerance = measured / 20 + 8 * MiB;
    const text = `${(memory.resident / MiB).toFixed(1)} MiB predicted, ${(measured / MiB).toFixed(1)} measured`;
    t.diagnostic(text);
    assert.ok(Math.abs(memory.resident - measured) <= tolerance, text);
  });
}

test("a context that no machine holds is refused with need and have, and evicts nobody", async () => {
  for (const model of ["tiny-llama", "tiny-qwen3"]) assert.equal((await server.chat(model, "hi")).status, 200);
  const before = (await server.loaded()).map((loaded) => loaded.pid).sort();
  const refused = await server.post("/v1/load", { model_name: "tiny-moe", ctx_size: 2 ** 26 });
  assert.equal(refused.status, 422, JSON.stringify(refused.body));
  assert.equal(refused.body.error.code, "insufficient_memory");
  assert.equal(refused.body.error.param, "ctx_size");
  const [lack] = refused.body.error.details.memory;
  assert.equal(lack.device, "cpu");
  assert.ok(lack.need > lack.have && lack.have > 0);
  // Two layers, keys and values of two heads of 16 numbers, two bytes each, and the process.
  assert.ok(lack.need > 2 ** 26 * 2 * 2 * 2 * 16 * 2);
  assert.deepEqual((await server.loaded()).map((loaded) => loaded.pid).sort(), before);
  assert.equal((await server.post("/v1/load", { model_name: "tiny-moe", ctx_size: 4096 })).status, 200, "nothing is remembered against it");
});

test("options that a model can't have evict nobody", async () => {
  const pids = async () => (await server.loaded()).filter((loaded) => loaded.type === "llm").map((loaded) => loaded.pid).sort();
  for (const model of ["tiny-llama", "tiny-qwen3"]) assert.equal((await server.chat(model, "hi")).status, 200);
  const before = await pids();
  const adapter = join(models, "tiny-llama-lora.gguf");
  const missing = await server.post("/v1/load", { model_name: "tiny-embed", lora: ["/nowhere/adapter.gguf"] });
  assert.equal(missing.status, 400);
  assert.equal(missing.body.error.param, "lora");
  const other = await server.post("/v1/load", { model_name: "tiny-embed", lora: [adapter] });
  assert.equal(other.status, 400, JSON.stringify(other.body));
  assert.equal(other.body.error.param, "lora");
  assert.match(other.body.error.message, /tiny-llama-lora/);
  assert.deepEqual(await pids(), before);
});

test("an adapter changes the answer as it does in llama.cpp's own server", async (t) => {
  const adapter = join(models, "tiny-llama-lora.gguf");
  const ask = async (lora) => {
    const loaded = await server.post("/v1/load", { model_name: "tiny-llama", ctx_size: 2048, lora });
    assert.equal(loaded.status, 200, JSON.stringify(loaded.body));
    assert.deepEqual((await entry("tiny-llama")).recipe_options.lora, lora);
    const answer = await server.post("/v1/completions", { model: "tiny-llama", prompt: "Once upon a time", max_tokens: 12, temperature: 0 });
    return answer.body.choices[0].text;
  };
  const plain = await ask(undefined);
  const adapted = await ask([adapter]);
  assert.notEqual(adapted, plain);
  assert.equal(await ask([`${adapter}:0`]), plain);
  assert.notEqual(await ask([`${adapter}:-1`]), adapted);
  const reference = await Reference.start("tiny-llama.gguf", "--lora", adapter, "-c", "2048");
  t.after(() => reference.stop());
  const theirs = await reference.post("/v1/completions", { prompt: "Once upon a time", max_tokens: 12, temperature: 0 });
  assert.equal(adapted, theirs.body.choices[0].text);
});
