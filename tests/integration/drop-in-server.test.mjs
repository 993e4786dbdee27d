// What programs find that were written for llama-server: its own paths, beside those of drop-in.test.mjs.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { models, Server } from "../support/server.mjs";

async function ready(server) {
  while ((await server.get("/health")).status === 503);
  return server;
}

async function eventsOf(response) {
  const text = await response.text();
  return text.split("\n\n").filter((event) => event.startsWith("data: ")).map((event) => event.slice(6));
}

describe("one model", () => {
  const file = join(models, "tiny-llama.gguf");
  let server;
  before(async () => {
    server = await ready(await Server.start("-m", file, "-c", "512", "-np", "2", "-n", "8", "--no-jinja", "--api-key", "secret-key-1"));
    server.key = { authorization: "Bearer secret-key-1" };
  });
  after(() => server.stop());
  const post = (path, body, headers = {}) => server.json("POST", path, body, { ...server.key, ...headers });
  const get = (path) => server.json("GET", path, undefined, server.key);

  test("a prompt that is too long says how long it is, and how long it may be", async () => {
    const { status, body } = await post("/chat/completions", { messages: [{ role: "user", content: "What is the best book? ".repeat(100) }] });
    assert.equal(status, 400);
    assert.equal(body.error.type, "exceed_context_size_error");
    assert.equal(body.error.code, "context_length_exceeded");
    assert.equal(body.error.n_ctx, 256, "-c divided by -np");
    assert.ok(body.error.n_prompt_tokens > 256);
  });

  test("a chat that is to be verbose shows its prompt", async () => {
    const messages = [{ role: "user", content: "What is the best book" }];
    const shown = await post("/chat/completions", { messages, verbose: true, max_tokens: 2 });
    assert.match(shown.body.__verbose.prompt, /What is the best book/);
    assert.equal(shown.body.__verbose.generation_settings.n_predict, 2);
    const plain = await post("/chat/completions", { messages, max_tokens: 2 });
    assert.equal(plain.body.__verbose, undefined);
  });

  test("metrics have llama-server's names, without labels", async () => {
    const before = (await get_text("/metrics")).match(/^llamacpp:tokens_predicted_total (\d+)$/m);
    const answer = await post("/completion", { prompt: "I believe", n_predict: 5, ignore_eos: true });
    const response = await server.fetch("/metrics", { headers: server.key });
    const text = await response.text();
    assert.ok(Number(response.headers.get("process-start-time-unix")) > 1e9);
    const after = text.match(/^llamacpp:tokens_predicted_total (\d+)$/m);
    assert.equal(Number(after[1]) - Number(before[1]), answer.body.tokens_predicted);
    for (const name of ["prompt_tokens_total", "n_decode_total", "spec_decode_num_drafts_total", "requests_processing", "prompt_tokens_seconds"])
      assert.match(text, new RegExp(`^# TYPE llamacpp:${name} (counter|gauge)\nllamacpp:${name} \\d`, "m"));
    assert.match(text, /^corral_engine_prompt_tokens_total\{/m, "ours stand beside them");
  });
  const get_text = async (path) => (await server.fetch(path, { headers: server.key })).text();

  test("slots are as many as there are places", async () => {
    const { body } = await get("/slots");
    assert.deepEqual(body.map((slot) => [slot.id, slot.n_ctx, slot.is_processing]), [[0, 256, false], [1, 256, false]]);
  });

  test("pages may ask with the key", async () => {
    const headers = { origin: "http://web.example.fr", "access-control-request-method": "POST", "access-control-request-headers": "authorization" };
    const preflight = await server.fetch("/completions", { method: "OPTIONS", headers });
    assert.equal(preflight.status, 200);
    assert.equal(preflight.headers.get("access-control-allow-origin"), "http://web.example.fr");
    const answer = await post("/completion", { prompt: "Hi" }, { origin: "http://web.example.fr" });
    assert.equal(answer.status, 200);
    const keyless = await server.fetch("/completion", { method: "POST", body: "{}", headers: { origin: headers.origin, "content-type": "application/json" } });
    assert.equal(keyless.status, 401);
  });

  test("a stream goes on when its client has gone, and can be read from anywhere", async () => {
    const body = JSON.stringify({ stream: true, max_tokens: 200, ignore_eos: true, messages: [{ role: "user", content: "Hi" }] });
    const headers = { ...server.key, "content-type": "application/json", "x-conversation-id": "mine/1::m" };
    const leaving = new AbortController();
    const first = await server.fetch("/chat/completions", { method: "POST", body, headers, signal: leaving.signal });
    await first.body.getReader().read();
    leaving.abort();
    const conversation = "/v1/stream?conv_id=" + encodeURIComponent("mine/1::m");
    const whole = await eventsOf(await server.fetch(conversation, { headers: server.key }));
    assert.equal(whole.at(-1), "[DONE]");
    assert.ok(whole.length > 10);
    const found = await post("/v1/streams/lookup", { conversation_ids: ["mine/1"] });
    assert.deepEqual(found.body.map((stream) => [stream.conversation_id, stream.is_done]), [["mine/1::m", true]]);
    const rest = await server.fetch(`${conversation}&from=${found.body[0].total_bytes - 14}`, { headers: server.key });
    assert.equal(await rest.text(), "data: [DONE]\n\n");
    assert.equal((await server.fetch(conversation, { method: "DELETE", headers: server.key })).status, 204);
    assert.equal((await get(conversation)).status, 404);
  });
});

test("a format by its name", async () => {
  const server = await ready(await Server.start("-m", join(models, "tiny-llama.gguf"), "--no-jinja", "--chat-template", "llama3"));
  const messages = [{ role: "user", content: "Hi" }];
  const { body } = await server.post("/apply-template", { messages });
  assert.match(body.prompt, /^<\|start_header_id\|>user<\|end_header_id\|>\n\nHi<\|eot_id\|>/);
  const tools = await server.post("/apply-template", { messages, tools: [{ type: "function", function: { name: "f" } }] });
  assert.equal(tools.status, 400);
  assert.match(tools.body.error.message, /'tools' need a Jinja template/);
  await server.stop();
});

test("several addresses", async () => {
  const server = await Server.start("--host", "127.0.0.1,127.0.0.2");
  assert.match(server.url, /\/\/127\.0\.0\.1:/);
  const { port } = new URL(server.url);
  assert.equal((await fetch(`http://127.0.0.2:${port}/health`)).status, 200);
  assert.equal((await server.get("/health")).status, 200);
  await server.stop();
});

test("slots are off, and requests load nothing", async () => {
  const server = await Server.start("--no-slots", "--no-models-autoload");
  const slots = await server.get("/slots");
  assert.equal(slots.status, 501);
  assert.equal(slots.body.error.type, "not_supported_error");
  assert.equal((await server.get("/props")).body.models_autoload, false);
  const chat = { model: "tiny-llama", messages: [{ role: "user", content: "Hi" }], max_tokens: 4 };
  assert.equal((await server.post("/v1/chat/completions", chat)).status, 400);
  assert.equal((await server.post("/models/load", { model: "tiny-llama" })).status, 200);
  assert.equal((await server.post("/v1/chat/completions", chat)).status, 200);
  await server.stop();
});

describe("several models", () => {
  let server;
  before(async () => (server = await Server.start("--models-max", "2")));
  after(() => server.stop());
  const status = async (name) => (await server.get("/models")).body.data.find((model) => model.id === name).status.value;

  test("a request may say that it loads none; all are loaded by their name", async () => {
    const { body } = await server.get("/props");
    assert.deepEqual([body.role, body.max_instances, body.models_autoload], ["router", 2, true]);
    const chat = { model: "tiny-llama", messages: [{ role: "user", content: "Hi" }], max_tokens: 4 };
    const refused = await server.post("/v1/chat/completions?autoload=false", chat);
    assert.equal(refused.status, 400);
    assert.match(refused.body.error.message, /not in memory/);

    const leaving = new AbortController();
    const feed = await server.fetch("/models/sse", { signal: leaving.signal });
    const reader = feed.body.pipeThrough(new TextDecoderStream()).getReader();
    let told = (await reader.read()).value;
    assert.deepEqual((await server.post("/models/load", { model: "tiny-llama" })).body, { success: true });
    assert.equal(await status("tiny-llama"), "loaded");
    while (!/"model":"tiny-llama","event":"model_status","data":\{"status":"loaded"\}/.test(told)) told += (await reader.read()).value;
    leaving.abort();
    assert.equal((await server.post("/v1/chat/completions?autoload=false", chat)).status, 200);
    assert.deepEqual((await server.post("/models/unload", { model: "tiny-llama" })).body, { success: true });
    assert.equal(await status("tiny-llama"), "unloaded");
    assert.equal((await server.post("/models/unload", { model: "tiny-llama" })).status, 404);
    assert.equal((await server.post("/tokenize", { model: "tiny-llama", content: "Hi" })).status, 200);
    assert.equal((await server.get("/models?reload=1")).status, 200);
  });
});
