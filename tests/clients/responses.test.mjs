// OpenAI's Responses API by the official client, against a real server with real models.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import OpenAI from "openai";
import { cancelled } from "../support/cancelled.mjs";
import { Server } from "../support/server.mjs";

let server;
let client;

before(async () => {
  server = await Server.start();
  client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: "none", maxRetries: 0 });
});
after(() => server.stop());

const hello = { model: "scripted-hello", input: "Say hello.", temperature: 0 };
const weather = {
  type: "function",
  name: "get_weather",
  description: "The weather of a city",
  parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"], additionalProperties: false },
  strict: true,
};
const asked = { ...hello, model: "scripted-tool-call", max_output_tokens: 128, tools: [{ type: "web_search" }, weather] };

test("a response names the model that was asked for and counts its tokens", async () => {
  const answer = await client.responses.create({ ...hello, instructions: "Be brief.", metadata: { a: "b" } });
  assert.match(answer.id, /^resp_/);
  assert.equal(answer.object, "response");
  assert.equal(answer.status, "completed");
  assert.equal(answer.model, "scripted-hello");
  assert.match(answer.output_text, /^Hello!/);
  assert.deepEqual(answer.metadata, { a: "b" });
  assert.ok(answer.created_at > 1_600_000_000);
  assert.ok(answer.usage.output_tokens > 0);
  assert.equal(answer.usage.total_tokens, answer.usage.input_tokens + answer.usage.output_tokens);
});

test("the tokens of a prompt are counted, without an answer", async () => {
  const whole = await client.responses.create(hello);
  const count = await client.responses.inputTokens.count({ model: hello.model, input: hello.input });
  assert.equal(count.object, "response.input_tokens");
  assert.equal(count.input_tokens, whole.usage.input_tokens);
  const more = await client.responses.inputTokens.count({ model: hello.model, input: hello.input, instructions: "Be brief.", tools: [weather] });
  assert.ok(more.input_tokens > count.input_tokens + 10);
});

test("an answer that was begun is gone on with, whole and streamed", async () => {
  const input = [{ role: "user", content: "Say hello." }, { role: "assistant", content: "Once upon" }]; // prettier-ignore
  const request = { model: "tiny-llama", max_output_tokens: 6, temperature: 0, input };
  const whole = await client.responses.create(request);
  const streamed = await client.responses.stream(request).finalResponse();
  assert.ok(!whole.output_text.startsWith("Once upon"));
  assert.equal(streamed.output_text, whole.output_text);
});

test("a stream adds up to the whole response", async () => {
  const whole = await client.responses.create(hello);
  const stream = client.responses.stream(hello);
  let told = "";
  let number = 0;
  for await (const event of stream) {
    assert.equal(event.sequence_number, number++);
    if (event.type === "response.output_text.delta") told += event.delta;
  }
  const answer = await stream.finalResponse();
  assert.equal(told, whole.output_text);
  assert.equal(answer.output_text, whole.output_text);
  assert.equal(answer.status, "completed");
  assert.deepEqual({ ...answer.usage, input_tokens_details: 0 }, { ...whole.usage, input_tokens_details: 0 });
});

test("an answer that is cut says so, whole and streamed", async () => {
  const request = { ...hello, model: "tiny-llama", max_output_tokens: 5 };
  const whole = await client.responses.create(request);
  const streamed = await client.responses.stream(request).finalResponse();
  for (const answer of [whole, streamed]) {
    assert.equal(answer.status, "incomplete");
    assert.equal(answer.incomplete_details.reason, "max_output_tokens");
    assert.equal(answer.usage.output_tokens, 5);
  }
  assert.equal(streamed.output_text, whole.output_text);
});

test("a tool is called, whole and streamed, and its result is understood", async () => {
  const whole = await client.responses.create(asked);
  const call = whole.output.find((item) => item.type === "function_call");
  assert.equal(call.name, "get_weather");
  assert.deepEqual(JSON.parse(call.arguments), { city: "Paris" });
  const stream = client.responses.stream(asked);
  let pieces = "";
  stream.on("response.function_call_arguments.delta", (event) => (pieces += event.delta));
  const streamed = await stream.finalResponse();
  assert.equal(pieces, call.arguments);
  const same = streamed.output.find((item) => item.type === "function_call");
  assert.equal(same.arguments, call.arguments);
  const input = [
    { role: "user", content: "Say hello." },
    ...whole.output,
    { type: "function_call_output", call_id: call.call_id, output: "Sunny." },
  ];
  const after = await client.responses.create({ ...hello, input, tools: [weather] });
  assert.match(after.output_text, /^Hello!/);
});

test("a tool that takes a text, and one of a namespace, come back as they were named", async () => {
  const tools = [{ type: "custom", name: "get_weather", description: "A city" }];
  const custom = await client.responses.create({ ...asked, tools, tool_choice: "required" });
  const call = custom.output.find((item) => item.type === "custom_tool_call");
  assert.equal(call.name, "get_weather");
  assert.match(call.call_id, /./);
  assert.match(call.input, /./);
  assert.doesNotMatch(call.input, /^\s*\{/, "the text itself, not the object that it came in");
  const inside = { ...asked, tools: [{ type: "namespace", name: "mcp", description: "of others", tools: [weather] }] };
  const spaced = await client.responses.create({ ...inside, tool_choice: "required" });
  const named = spaced.output.find((item) => item.type === "function_call");
  assert.equal(named.name, "get_weather");
  assert.equal(named.namespace, "mcp");
});

test("an answer follows a schema", async () => {
  const schema = { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"], additionalProperties: false };
  const text = { format: { type: "json_schema", name: "fine", schema, strict: true } };
  const answer = await client.responses.create({ ...hello, model: "tiny-llama", max_output_tokens: 64, text });
  assert.equal(typeof JSON.parse(answer.output_text).ok, "boolean");
});

test("what is wrong is a typed error that names the field", async () => {
  const refused = async (more, type, param) => {
    const error = await client.responses.create({ ...hello, ...more }).then(() => null, (error) => error); // prettier-ignore
    assert.ok(error instanceof type, `${JSON.stringify(more)}: ${error}`);
    if (param) assert.equal(error.param, param);
  };
  await refused({ model: "nobody" }, OpenAI.NotFoundError, "model");
  await refused({ temperature: "hot" }, OpenAI.BadRequestError, "temperature");
  await refused({ input: [{ role: "robot", content: "x" }] }, OpenAI.BadRequestError, "input[0].role");
  await refused({ previous_response_id: "resp_nobody" }, OpenAI.BadRequestError, "previous_response_id");
  await refused({ model: "tiny-embed" }, OpenAI.BadRequestError, "model");
});

test("who leaves in the middle ends the generation", async () => {
  const stream = await client.responses.create({ ...hello, model: "scripted-endless", stream: true });
  for await (const event of stream) {
    if (event.type === "response.output_text.delta") break;
  }
  stream.controller.abort();
  const underWay = async () => (await server.get("/v1/requests")).body.requests.length;
  while ((await underWay()) > 0);
  assert.equal(await cancelled(server, "scripted-endless", 1), 1, "it didn't come to its end");
});
