// Who is in memory, seen from outside: real models, real processes, several clients.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Server } from "../support/server.mjs";

let server;
before(async () => {
  server = await Server.start();
});
after(() => server.stop());

const seconds = Number(process.env.CORRAL_ALTERNATE_SECONDS ?? 10);

test(`two models share one slot under 8 clients for ${seconds} s; a model of another type stays`, async () => {
  const expected = {};
  for (const model of ["scripted-hello", "tiny-qwen3"]) expected[model] = (await server.chat(model, "Say hello.")).body.choices[0].message.content;
  assert.equal((await server.post("/v1/embeddings", { model: "tiny-embed", input: "x" })).status, 200);
  const embedder = (await server.loaded()).find((entry) => entry.model_name === "tiny-embed").pid;

  const end = Date.now() + seconds * 1000;
  const counts = { "scripted-hello": 0, "tiny-qwen3": 0 };
  const client = async (number) => {
    for (let i = number; Date.now() < end; ++i) {
      const model = i % 2 ? "scripted-hello" : "tiny-qwen3";
      const answer = await server.chat(model, "Say hello.");
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      assert.equal(answer.body.model, model);
      assert.equal(answer.body.choices[0].message.content, expected[model]);
      counts[model] += 1;
      const occupying = await server.occupying();
      assert.ok(occupying.filter((entry) => entry.type === "llm").length <= 1, "one slot, at most one model in it");
    }
  };
  await Promise.all([...Array(8).keys()].map(client));
  assert.ok(counts["scripted-hello"] > 0 && counts["tiny-qwen3"] > 0);
  assert.equal((await server.loaded()).find((entry) => entry.model_name === "tiny-embed").pid, embedder);
});

test("load, health, models and unload tell the same story", async () => {
  assert.equal((await server.post("/v1/unload", {})).status, 200);
  assert.deepEqual(await server.loaded(), []);
  const loaded = await server.post("/v1/load", { model_name: "tiny-llama", ctx_size: 2048, llamacpp_backend: "cpu" });
  assert.deepEqual(loaded.body, { ...loaded.body, status: "success", model_name: "tiny-llama", recipe: "llamacpp" });
  const entry = (await server.loaded())[0];
  assert.equal(entry.model_name, "tiny-llama");
  assert.equal(entry.status, "ready");
  assert.equal(entry.recipe_options.ctx_size, 2048);
  assert.equal(entry.max_context_window, 2048);
  assert.equal(entry.device, "cpu");
  assert.ok(entry.pid > 0 && entry.memory_bytes > 0 && entry.last_use > 1e12);
  const model = (await server.get("/v1/models/tiny-llama")).body;
  assert.equal(model.status.value, "loaded");
  assert.equal((await server.post("/v1/unload", { model_name: "tiny-qwen3" })).status, 404);
  assert.equal((await server.post("/v1/unload", { model_name: "tiny-llama" })).status, 200);
  assert.deepEqual(await server.loaded(), []);
});

test("a load with progress ends in one complete event", async () => {
  const events = [];
  for await (const data of server.events("/v1/load", { model_name: "tiny-moe", stream: true })) events.push(JSON.parse(data));
  assert.equal(events.at(-1).status, "success");
  for (const event of events.slice(0, -1)) assert.ok(event.progress >= 0 && event.progress <= 1);
});

test("a pinned model keeps its slot and the refusal says so at once", async () => {
  assert.equal((await server.post("/v1/load", { model_name: "tiny-llama", pinned: true })).status, 200);
  const refused = await server.chat("tiny-qwen3", "hi");
  assert.equal(refused.status, 409);
  assert.equal(refused.body.error.code, "slots_pinned_error");
  assert.equal((await server.post("/internal/pin", { model_name: "tiny-llama", pinned: false })).status, 200);
  assert.equal((await server.chat("tiny-qwen3", "hi")).status, 200);
});
