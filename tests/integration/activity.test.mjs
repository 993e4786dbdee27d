// What requests come to, with real processes: rows of the log, the list of those under way, captures, and a restart.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Server } from "../support/server.mjs";

let server;
before(async () => {
  server = await Server.start("--no-warm-spare", "--capture-bodies");
});
after(() => server.stop());

const chat = { model: "tiny-llama", messages: [{ role: "user", content: "Hi" }], max_tokens: 8, temperature: 0 };
const rows = async (query = "") => (await server.json("GET", `/v1/activity${query}`)).body.activity;
// A row is written when the server has seen the end of its answer, which its client may see first.
async function row(query) {
  for (;;) {
    const found = await rows(query);
    if (found.length > 0) return found[0];
  }
}
const post = (path, body, more = {}) => fetch(server.url + path, { method: "POST", headers: { "content-type": "application/json", "user-agent": "test/1" }, body: JSON.stringify(body), ...more });

test("a whole answer and a stream are rows with the numbers that their clients got", async () => {
  const answer = await (await post("/v1/chat/completions", { ...chat, metadata: { api_key: "SECRET" } })).json();
  const whole = await row("?status=200");
  assert.equal(whole.prompt_tokens, answer.usage.prompt_tokens);
  assert.equal(whole.output_tokens, answer.usage.completion_tokens);
  assert.deepEqual([whole.model, whole.dialect, whole.path, whole.client, whole.code], ["tiny-llama", "openai", "/v1/chat/completions", "test/1", "ok"]);
  await (await post("/api/chat", { ...chat, options: { num_predict: 8, temperature: 0 } })).text();
  let streamed = await row("?status=200");
  while (streamed.number === whole.number) streamed = await row("?status=200");
  assert.deepEqual([streamed.dialect, streamed.code], ["ollama", "ok"]);
  assert.equal(streamed.prompt_tokens, whole.prompt_tokens);
  assert.ok(streamed.first_token_ms >= 0 && streamed.first_token_ms <= streamed.duration_ms, JSON.stringify(streamed));
});

test("what was said is there without secrets", async () => {
  const first = (await rows("?limit=1000")).at(-1);
  const { status, body } = await server.json("GET", `/v1/activity/${first.id}/capture`);
  assert.equal(status, 200);
  assert.deepEqual(body.capture.request.messages, chat.messages);
  assert.equal(body.capture.request.metadata.api_key, "[struck out]");
  assert.equal(body.capture.answer.object, "chat.completion");
});

test("a request under way is listed with what has come of it, and a row when it is cancelled", async () => {
  const answer = await post("/v1/chat/completions", { model: "scripted-endless", messages: chat.messages, stream: true });
  const reading = answer.text();
  let listed;
  do listed = (await server.json("GET", "/v1/requests")).body.requests.find(({ model }) => model === "scripted-endless");
  while (!(listed?.output_tokens > 3));
  assert.deepEqual([listed.status, listed.dialect, listed.client], ["running", "openai", "test/1"]);
  assert.ok(listed.first_token_ms <= listed.age_ms && listed.since > 1.7e12, JSON.stringify(listed));
  await server.json("POST", `/v1/requests/${listed.id}/cancel`);
  assert.match(await reading, /"code":"cancelled"/);
  const ended = await row("?model=scripted-endless&code=cancelled");
  assert.equal(ended.id, listed.id);
  assert.ok(ended.output_tokens >= listed.output_tokens, JSON.stringify(ended));
});

test("refusals are rows, too", async () => {
  assert.equal((await post("/v1/messages", { model: "none", max_tokens: 1, messages: chat.messages })).status, 404);
  const refused = await row("?status=4xx&model=none");
  assert.deepEqual([refused.dialect, refused.status, refused.code], ["anthropic", 404, "model_not_found"]);
});
