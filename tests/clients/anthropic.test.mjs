// Anthropic's official client against a real server with real models.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import Anthropic from "@anthropic-ai/sdk";
import { cancelled } from "../support/cancelled.mjs";
import { Server } from "../support/server.mjs";

let server;
let client;

before(async () => {
  server = await Server.start();
  client = new Anthropic({ baseURL: server.url, apiKey: "none", maxRetries: 0 });
});
after(() => server.stop());

const messages = [{ role: "user", content: "Say hello." }];
const hello = { model: "scripted-hello", messages, max_tokens: 64, temperature: 0 };
const weather = {
  name: "get_weather",
  description: "The weather of a city",
  input_schema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
};
const asked = { model: "scripted-tool-call", messages, max_tokens: 128, temperature: 0, tools: [weather] };
const text = (message) => message.content.map((block) => block.text ?? "").join("");

test("a message names the model that was asked for and counts its tokens", async () => {
  const message = await client.messages.create({ ...hello, system: "Be brief.", metadata: { user_id: "me" } });
  assert.match(message.id, /^msg_/);
  assert.equal(message.type, "message");
  assert.equal(message.role, "assistant");
  assert.equal(message.model, "scripted-hello");
  assert.deepEqual(message.content.map((block) => block.type), ["text"]);
  assert.match(text(message), /^Hello!/);
  assert.equal(message.stop_reason, "end_turn");
  assert.equal(message.stop_sequence, null);
  assert.ok(message.usage.output_tokens > 0);
  assert.ok(message.usage.input_tokens + message.usage.cache_read_input_tokens > 0);
  assert.match(message._request_id, /./);
});

test("a stream adds up to the whole message", async () => {
  const whole = await client.messages.create(hello);
  const stream = client.messages.stream(hello);
  let told = "";
  stream.on("text", (piece) => (told += piece));
  const message = await stream.finalMessage();
  assert.equal(told, text(whole));
  assert.deepEqual(message.content, whole.content);
  assert.equal(message.stop_reason, "end_turn");
  assert.equal(message.usage.output_tokens, whole.usage.output_tokens);
  const prompt = ({ usage }) => usage.input_tokens + usage.cache_read_input_tokens;
  assert.equal(prompt(message), prompt(whole));
});

test("why an answer ended is told truly", async () => {
  const met = await client.messages.create({ ...hello, stop_sequences: ["nothing", "scripted"] });
  assert.equal(met.stop_reason, "stop_sequence");
  assert.equal(met.stop_sequence, "scripted");
  const streamed = await client.messages.stream({ ...hello, stop_sequences: ["scripted"] }).finalMessage();
  assert.equal(streamed.stop_reason, "stop_sequence");
  assert.equal(streamed.stop_sequence, "scripted");
  assert.equal(text(streamed), text(met));
  const cut = await client.messages.create({ ...hello, model: "tiny-llama", max_tokens: 5 });
  assert.equal(cut.stop_reason, "max_tokens");
  assert.equal(cut.usage.output_tokens, 5);
});

test("an answer that was begun is gone on with, whole and streamed", async () => {
  const request = { model: "tiny-llama", max_tokens: 6, temperature: 0, messages: [...messages, { role: "assistant", content: "Once upon" }] };
  const whole = await client.messages.create(request);
  const streamed = await client.messages.stream(request).finalMessage();
  assert.ok(!text(whole).startsWith("Once upon"));
  assert.equal(text(streamed), text(whole));
});

test("a tool is called, whole and streamed, and its result is understood", async () => {
  const whole = await client.messages.create(asked);
  assert.equal(whole.stop_reason, "tool_use");
  const call = whole.content.find((block) => block.type === "tool_use");
  assert.equal(call.name, "get_weather");
  assert.deepEqual(call.input, { city: "Paris" });
  const stream = client.messages.stream(asked);
  const pieces = [];
  stream.on("inputJson", (piece) => pieces.push(piece));
  const streamed = await stream.finalMessage();
  assert.equal(pieces.join(""), '{"city":"Paris"}');
  const same = streamed.content.find((block) => block.type === "tool_use");
  assert.deepEqual(same.input, call.input);
  const turns = [
    ...messages,
    { role: "assistant", content: whole.content },
    { role: "user", content: [{ type: "tool_result", tool_use_id: call.id, content: [{ type: "text", text: "Sunny." }] }] },
  ];
  const after = await client.messages.create({ ...hello, messages: turns, tools: [weather] });
  assert.match(text(after), /^Hello!/);
});

test("choices of tools", async () => {
  for (const choice of [{ type: "any" }, { type: "tool", name: "get_weather" }, { type: "auto", disable_parallel_tool_use: true }]) {
    const message = await client.messages.create({ ...asked, tool_choice: choice });
    assert.equal(message.stop_reason, "tool_use", JSON.stringify(choice));
  }
  const none = await client.messages.create({ ...hello, tools: [weather], tool_choice: { type: "none" } });
  assert.equal(none.stop_reason, "end_turn");
  const foreign = await client.messages.create({ ...hello, tools: [{ type: "web_search_20250305", name: "web_search" }] });
  assert.equal(foreign.stop_reason, "end_turn");
});

test("tools are run by the client's own runner", async () => {
  let ran = 0;
  const runner = client.beta.messages.toolRunner({
    ...asked,
    max_iterations: 2,
    tools: [{ ...weather, run: async () => (++ran, "Sunny."), parse: (input) => input }],
  });
  await runner;
  assert.ok(ran >= 1);
});

test("tokens are counted, without an answer", async () => {
  const whole = await client.messages.create(hello);
  const { messages: asking, model } = hello;
  const count = await client.messages.countTokens({ model, messages: asking });
  assert.equal(count.input_tokens, whole.usage.input_tokens + whole.usage.cache_read_input_tokens);
  const more = await client.messages.countTokens({ model, messages: asking, system: "Be brief.", tools: [weather] });
  assert.ok(more.input_tokens > count.input_tokens + 10);
  const long = await client.messages.countTokens({ model, messages: [{ role: "user", content: "word ".repeat(20_000) }] });
  assert.ok(long.input_tokens > 15_000, "also where it doesn't fit");
});

test("models that converse are listed, page by page, and found", async () => {
  const ids = [];
  for await (const model of client.models.list({ limit: 2 })) {
    assert.equal(model.type, "model");
    assert.ok(!Number.isNaN(Date.parse(model.created_at)));
    ids.push(model.id);
  }
  assert.ok(ids.includes("tiny-llama") && ids.includes("scripted-hello") && !ids.includes("tiny-embed"));
  assert.equal(new Set(ids).size, ids.length);
  assert.equal((await client.models.retrieve("tiny-qwen3")).id, "tiny-qwen3");
});

test("an answer of a schema", async () => {
  const schema = { type: "object", properties: { n: { type: "integer" } }, required: ["n"], additionalProperties: false };
  const message = await client.messages.create({
    model: "tiny-llama",
    messages,
    max_tokens: 200,
    temperature: 0,
    output_config: { format: { type: "json_schema", schema } },
  });
  assert.match(text(message), /^\s*\{\s*"n"/);
});

test("errors arrive as the client's typed exceptions", async () => {
  const ask = (body) => client.messages.create({ ...hello, model: "tiny-llama", max_tokens: 1, ...body });
  const says = (type, name, pattern) => (error) => {
    assert.ok(error instanceof type, `${error}`);
    assert.equal(error.error.type, "error");
    assert.equal(error.error.error.type, name);
    assert.match(error.error.error.message, pattern);
    assert.match(error.requestID, /./);
    return true;
  };
  await assert.rejects(ask({ model: "no-such-model" }), says(Anthropic.NotFoundError, "not_found_error", /no-such-model/));
  await assert.rejects(ask({ temperature: "hot" }), says(Anthropic.BadRequestError, "invalid_request_error", /'temperature'/));
  await assert.rejects(ask({ model: "tiny-embed" }), says(Anthropic.BadRequestError, "invalid_request_error", /embedding/));
  await assert.rejects(client.models.retrieve("no-such-model"), says(Anthropic.NotFoundError, "not_found_error", /no-such-model/));
  const long = [{ role: "user", content: "word ".repeat(20_000) }];
  await assert.rejects(ask({ messages: long }), says(Anthropic.BadRequestError, "invalid_request_error", /^prompt is too long: \d+ tokens > \d+ maximum/));
  // A stream whose prompt takes long to count has begun with a ping: its error has no status then.
  const streamed = client.messages.stream({ ...hello, messages: long }).finalMessage();
  await assert.rejects(streamed, says(Anthropic.APIError, "invalid_request_error", /^prompt is too long: /));
  const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" } };
  await assert.rejects(ask({ messages: [{ role: "user", content: [image] }] }), says(Anthropic.BadRequestError, "invalid_request_error", /text/));
});

test("an aborted stream ends its generation", async () => {
  const stream = await client.messages.create({ model: "scripted-endless", messages, stream: true, max_tokens: 100000 });
  let events = 0;
  for await (const event of stream) {
    assert.ok(event.type);
    if (++events === 4) break;
  }
  const underWay = async () => (await server.get("/v1/requests")).body.requests.length;
  while ((await underWay()) > 0);
  assert.equal(await cancelled(server, "scripted-endless", 1), 1, "it didn't come to its end");
  const message = await client.messages.create({ model: "scripted-endless", messages, max_tokens: 4 });
  assert.equal(message.usage.output_tokens, 4);
});

test("both headers hold a key", async () => {
  const locked = await Server.start("--api-key", "secret");
  try {
    const ask = (options) => new Anthropic({ baseURL: locked.url, maxRetries: 0, ...options }).models.list();
    await assert.rejects(ask({ apiKey: "wrong" }), (e) => e instanceof Anthropic.AuthenticationError && e.error.error.type === "authentication_error");
    assert.ok((await ask({ apiKey: "secret" })).data.length > 0);
    assert.ok((await ask({ apiKey: null, authToken: "secret" })).data.length > 0);
  } finally {
    await locked.stop();
  }
});

// ---- the order and the shapes of events, as the documentation has them

const documented = JSON.parse(readFileSync(new URL("anthropic-events.json", import.meta.url)));

// A shape: an object has these members at least, each of its shape; "string", "number", ...; null and [] as they are.
function fits(value, shape, where) {
  if (shape === null || typeof shape === "boolean") return assert.equal(value, shape, where);
  if (typeof shape === "string") {
    if (shape.startsWith("=")) return assert.equal(value, shape.slice(1), where);
    return assert.equal(typeof value, shape, where);
  }
  if (Array.isArray(shape)) return assert.deepEqual(value, shape, where);
  assert.equal(typeof value, "object", where);
  for (const [name, inside] of Object.entries(shape)) fits(value[name], inside, `${where}.${name}`);
}

async function eventsOf(body) {
  const response = await server.fetch("/v1/messages?beta=true", {
    method: "POST",
    body: JSON.stringify({ ...body, stream: true }),
    headers: { "content-type": "application/json", "anthropic-version": "2023-06-01", "anthropic-beta": "any-2025-01-01" },
  });
  assert.equal(response.status, 200);
  const blocks = (await response.text()).split("\n\n");
  assert.equal(blocks.pop(), "");
  return blocks.map((block) => {
    const [, name, data] = block.match(/^event: (\S+)\ndata: (\{.*\})$/);
    return { name, data: JSON.parse(data) };
  });
}

for (const [what, { request, order }] of Object.entries(documented.sequences)) {
  test(`events in their documented order: ${what}`, async () => {
    const events = (await eventsOf(request)).filter(({ name }) => name !== "ping");
    for (const { name, data } of events) {
      fits(data, documented.shapes[name], name);
      const kind = data.content_block?.type ?? data.delta?.type;
      if (kind !== undefined) fits(data.content_block ?? data.delta, documented.parts[kind], `${name} ${kind}`);
    }
    const words = events.map(({ name, data }) => [name, data.content_block?.type ?? data.delta?.type].filter(Boolean).join(":"));
    assert.deepEqual(words.filter((word, i) => !word.startsWith("content_block_delta") || word !== words[i - 1]), order);
  });
}
