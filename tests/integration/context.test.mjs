// The context that people get: as much as memory allows where nobody says, told everywhere, and what a request wants.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Server } from "../support/server.mjs";

let server;
before(async () => (server = await Server.start()));
after(() => server.stop());

const tokens = (count) => Array.from({ length: count }, (_, i) => 5 + (i * 7) % 200);
const complete = (model, count, more = {}) =>
  server.post("/v1/completions", { model, prompt: tokens(count), max_tokens: 3, temperature: 0, ...more });
const entry = async () => (await server.loaded())[0];

test("a prompt of a coding agent's size is answered with the default settings", async () => {
  const answer = await complete("tiny-mamba", 25000);
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  assert.equal(answer.body.usage.prompt_tokens, 25000);
  const { max_context_window: usable, max_context_length: trained } = await entry();
  assert.ok(usable >= 32768, `${usable}`);
  assert.equal(trained, 1048576);
  const listed = (await server.get("/v1/models/tiny-mamba")).body;
  assert.deepEqual([listed.context_length, listed.max_context_length], [usable, trained]);
});

test("models tell what a conversation may have beside what they were trained with", async () => {
  const { data } = (await server.get("/v1/models")).body;
  const of = (id) => data.find((model) => model.id === id);
  assert.deepEqual([of("tiny-llama").context_length, of("tiny-llama").max_context_length], [8192, 8192]);
  assert.ok(of("tiny-mamba").context_length >= 32768);
  const options = (await server.get("/v1/models/tiny-llama/options")).body;
  assert.deepEqual([options.context_length, options.max_context_length], [8192, 8192]);
});

test("more than the model was trained with is told, not cut in silence", async () => {
  const { body } = await server.post("/v1/load", { model_name: "tiny-llama", ctx_size: 16384 });
  assert.deepEqual([body.status, body.context_length, body.max_context_length], ["success", 8192, 8192]);
  assert.equal(body.warnings.length, 1);
  assert.match(body.warnings[0], /16384.*8192/);
  const plain = await server.post("/v1/load", { model_name: "tiny-llama", ctx_size: 1024 });
  assert.deepEqual([plain.body.context_length, plain.body.warnings], [1024, []]);
});

test("a request gets the context that it asks for", async () => {
  await server.post("/v1/load", { model_name: "tiny-llama", ctx_size: 1024 });
  const before = (await entry()).pid;
  assert.equal((await complete("tiny-llama", 10, { ctx_size: 512 })).status, 200);
  assert.equal((await entry()).pid, before, "a smaller one doesn't load it anew");
  const larger = await complete("tiny-llama", 2000, { ctx_size: 4096 });
  assert.equal(larger.status, 200, JSON.stringify(larger.body));
  const now = await entry();
  assert.equal(now.max_context_window, 4096);
  const refused = await complete("tiny-llama", 10, { ctx_size: 8193 });
  assert.equal(refused.status, 400);
  assert.equal(refused.body.error.param, "ctx_size");
  assert.match(refused.body.error.message, /8192/);
  assert.equal((await entry()).pid, now.pid);
});

test("a context that is too small is told with its numbers and the way out", async () => {
  await server.post("/v1/load", { model_name: "tiny-llama", ctx_size: 1024 });
  for (const stream of [false, true]) {
    const { status, body } = await complete("tiny-llama", 2000, { stream });
    assert.equal(status, 400);
    assert.equal(body.error.code, "context_length_exceeded");
    assert.deepEqual([body.error.n_prompt_tokens, body.error.n_ctx], [2000, 1024]);
    assert.match(body.error.message, /larger ctx_size, up to 8192/);
  }
});
