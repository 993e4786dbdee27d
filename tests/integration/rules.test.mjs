// Rules of docs/residency-rules.md that need the whole program: where settings come from, what stays in memory.
import assert from "node:assert/strict";
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { models, Server } from "../support/server.mjs";

const names = async (server) => (await server.loaded()).map((entry) => entry.model_name).sort();
const load = async (server, body) => assert.equal((await server.post("/api/v1/load", body)).status, 200, JSON.stringify(body));

test("a value of the load goes before the environment and a flag, and they before the default", async () => {
  const context = async (server) => (await server.loaded())[0].recipe_options.ctx_size;
  process.env.CORRAL_CTX_SIZE = "1536";
  try {
    for (const [flags, configured] of [[[], 1536], [["--ctx-size", "1792"], 1792]]) {
      const server = await Server.start(...flags);
      try {
        assert.equal((await server.chat("tiny-llama", "hi")).status, 200);
        assert.equal(await context(server), configured, "what a request loads by itself is as configured");
        await load(server, { model_name: "tiny-llama", ctx_size: 1024 });
        assert.equal(await context(server), 1024);
        assert.equal((await server.chat("tiny-llama", "hi")).status, 200);
        assert.equal(await context(server), 1024, "a request doesn't load it anew");
      } finally {
        await server.stop();
      }
    }
  } finally {
    delete process.env.CORRAL_CTX_SIZE;
  }
  const server = await Server.start();
  try {
    await load(server, { model_name: "tiny-llama", ctx_size: 1024 });
    await load(server, { model_name: "tiny-llama" });
    assert.notEqual(await context(server), 1024);
  } finally {
    await server.stop();
  }
});

test("--max-loaded-models 2 1 keeps two llms, the ones used last, and an embedding model", async () => {
  const server = await Server.start("--max-loaded-models", "2", "1");
  try {
    const { max_models: limits } = (await server.get("/api/v1/health")).body;
    assert.deepEqual([limits.llm, limits.embedding, limits.reranking, limits.transcription, limits.image], [2, 1, 1, 1, 1]);
    await load(server, { model_name: "tiny-embed" });
    await load(server, { model_name: "tiny-llama" });
    await load(server, { model_name: "tiny-qwen3" });
    assert.deepEqual(await names(server), ["tiny-embed", "tiny-llama", "tiny-qwen3"]);
    assert.equal((await server.chat("tiny-llama", "hi")).status, 200);
    assert.equal((await server.chat("tiny-moe", "hi")).status, 200);
    assert.deepEqual(await names(server), ["tiny-embed", "tiny-llama", "tiny-moe"]);
  } finally {
    await server.stop();
  }
});

test("stats are those of the last request, of whatever kind", async () => {
  const server = await Server.start();
  try {
    const requests = [
      ["/v1/chat/completions", { model: "tiny-llama", messages: [{ role: "user", content: "hi" }], max_tokens: 4 }],
      ["/v1/embeddings", { model: "tiny-embed", input: "one two three" }],
      ["/v1/rerank", { model: "tiny-rerank", query: "one", documents: ["two", "three"] }],
      ["/v1/completions", { model: "tiny-llama", prompt: "one two three four", max_tokens: 3 }],
    ];
    for (const [i, [path, body]] of requests.entries()) {
      const answer = await server.post(path, body);
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      let stats;
      do stats = (await server.get("/api/v1/stats")).body;
      while (stats.request_count_total <= i);
      assert.equal(stats.prompt_tokens, answer.body.usage.prompt_tokens ?? answer.body.usage.total_tokens, path);
      assert.equal(stats.output_tokens, answer.body.usage.completion_tokens ?? 0, path);
    }
  } finally {
    await server.stop();
  }
});

test("a model whose file was overwritten is refused, at once, and evicts nobody", async () => {
  const folder = mkdtempSync(join(tmpdir(), "corral-test-models-"));
  copyFileSync(join(models, "tiny-qwen3.gguf"), join(folder, "spoilt.gguf"));
  const server = await Server.start("--models-dir", folder);
  try {
    assert.equal((await server.get("/v1/models/spoilt")).status, 200);
    await load(server, { model_name: "tiny-llama" });
    const [{ pid }] = await server.loaded();
    writeFileSync(join(folder, "spoilt.gguf"), "<html>too many requests</html>");
    const refused = await server.post("/api/v1/load", { model_name: "spoilt" });
    assert.equal(refused.status, 500);
    assert.equal(refused.body.error.code, "model_load_error");
    assert.match(refused.body.error.message, /is no longer GGUF/);
    assert.deepEqual((await server.loaded()).map((entry) => entry.pid), [pid]);
  } finally {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
});

test("a model whose file is gone is 404, at once, and evicts nobody", async () => {
  const folder = mkdtempSync(join(tmpdir(), "corral-test-models-"));
  copyFileSync(join(models, "tiny-qwen3.gguf"), join(folder, "short-lived.gguf"));
  const server = await Server.start("--models-dir", folder);
  try {
    assert.equal((await server.get("/v1/models/short-lived")).status, 200);
    await load(server, { model_name: "tiny-llama" });
    const [{ pid }] = await server.loaded();
    rmSync(join(folder, "short-lived.gguf"));
    const refused = await server.post("/api/v1/load", { model_name: "short-lived" });
    assert.equal(refused.status, 404);
    assert.equal(refused.body.error.code, "model_file_not_found");
    assert.deepEqual((await server.loaded()).map((entry) => entry.pid), [pid]);
  } finally {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
});
