// Members that are null and odd values inside messages and tools, in all dialects; and requests that name no model.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { models, Server } from "../support/server.mjs";

const user = { role: "user", content: "hi" };
const called = (call) => [user, { role: "assistant", content: null, tool_calls: [call] }, { role: "tool", tool_call_id: "c1", content: "4" }];
const withArguments = (text) => called({ id: "c1", type: "function", function: { name: "f", arguments: text } });
const schema = { type: "object", title: null, properties: { a: { type: "string", description: null, default: null } }, required: null };

describe("what the field tables take is answered", () => {
  let server;
  before(async () => {
    server = await Server.start();
  });
  after(() => server.stop());

  const chats = {
    "name: null": { messages: [{ ...user, name: null }] },
    "tool_call_id: null": { messages: [user, { role: "assistant", content: "a" }, { role: "tool", tool_call_id: null, content: "4" }] },
    "reasoning_content: null": { messages: [user, { role: "assistant", content: "a", reasoning_content: null, refusal: null }, user] },
    "tool_calls: null": { messages: [user, { role: "assistant", content: "a", tool_calls: null, function_call: null, audio: null }, user] },
    "tool_calls[].id: null": { messages: called({ id: null, type: "function", function: { name: "f", arguments: "{}" } }) },
    'arguments: ""': { messages: withArguments("") },
    "arguments that are blank": { messages: withArguments(" \n") },
    'arguments: "null"': { messages: withArguments("null") },
    "arguments that were cut off": { messages: withArguments('{"a":') },
    "arguments that are no object": { messages: withArguments("[1]") },
    "arguments with a null": { messages: withArguments('{"a":null}') },
    "members of parts": { messages: [{ role: "user", content: [{ type: "text", text: "hi", image_url: null, cache_control: null }] }] },
    "a refusal": { messages: [user, { role: "assistant", content: null, refusal: "no" }, user] },
    "a part that refuses": { messages: [user, { role: "assistant", content: [{ type: "refusal", refusal: "no" }] }, user] },
    "only reasoning": { messages: [user, { role: "assistant", reasoning_content: "hm" }, user] },
    "an old call": { messages: [user, { role: "assistant", content: null, function_call: { name: "f", arguments: "" } }, { role: "function", name: "f", content: "4" }] },
    "a tool without anything": { messages: [user], tools: [{ type: "function", function: { name: "f", description: null, parameters: null, strict: null } }] },
    "nulls in a schema": { messages: [user], tools: [{ type: "function", function: { name: "f", parameters: schema } }] },
    "nulls in the schema of the answer": { messages: [user], response_format: { type: "json_schema", json_schema: { name: "x", description: null, strict: null, schema } } },
    "maps with nulls": { messages: [user], logit_bias: { 5: null }, chat_template_kwargs: { enable_thinking: null, other: null } },
    "every field": { messages: [user], tools: null, tool_choice: null, stop: null, n: null, response_format: null, stream_options: null, seed: null },
  };
  for (const [name, body] of Object.entries(chats)) {
    test(name, async () => {
      for (const model of ["tiny-llama", "tiny-qwen3", "tiny-gpt-oss"]) {
        const answer = await server.post("/v1/chat/completions", { model, max_tokens: 2, ...body });
        assert.equal(answer.status, 200, `${model}: ${JSON.stringify(answer.body)}`);
      }
    });
  }

  const dialects = {
    "/v1/messages": {
      max_tokens: 2, system: null, metadata: null,
      messages: [user, { role: "assistant", content: [{ type: "text", text: "a", citations: null }, { type: "tool_use", id: "t", name: "f", input: { a: null }, cache_control: null }] },
        { role: "user", content: [{ type: "tool_result", tool_use_id: "t", content: null, is_error: null }] }],
      tools: [{ type: null, name: "f", description: null, input_schema: schema, cache_control: null }],
    },
    "/v1/responses": {
      max_output_tokens: 2, instructions: null, metadata: { a: null }, text: null, reasoning: null,
      input: [{ type: null, role: "user", content: "hi" }, { type: "reasoning", id: null, content: null, summary: null },
        { type: "function_call", id: null, call_id: "c", name: "f", namespace: null, arguments: "", status: null },
        { type: "function_call_output", id: null, call_id: null, output: "4" }],
      tools: [{ type: "function", name: "f", description: null, parameters: null, strict: null }],
    },
    "/api/chat": {
      stream: false, keep_alive: null, format: null, think: null, options: { num_predict: 2, temperature: null, stop: null },
      messages: [{ ...user, images: null }, { role: "assistant", content: null, thinking: null, tool_calls: [{ id: null, function: { name: "f", arguments: null } }] },
        { role: "tool", tool_name: null, tool_call_id: null, content: "4" }],
      tools: [{ type: "function", function: { name: "f", description: null, parameters: schema } }],
    },
    "/apply-template": { messages: withArguments(""), tools: [{ type: "function", function: { name: "f", description: null } }] },
  };
  for (const [path, body] of Object.entries(dialects)) {
    test(`nulls at ${path}`, async () => {
      for (const model of ["tiny-llama", "tiny-qwen3"]) {
        const answer = await server.post(path, { model, ...body });
        assert.equal(answer.status, 200, `${model}: ${JSON.stringify(answer.body)}`);
      }
    });
  }

  test("of several models without a name the only one that is loaded is meant, else none: the names are listed", async () => {
    const chat = { messages: [user], max_tokens: 2 };
    assert.equal((await server.post("/v1/unload", {})).status, 200);
    const { status, body } = await server.post("/v1/chat/completions", chat);
    assert.deepEqual([status, body.error.param], [400, "model"]);
    assert.match(body.error.message, /no model of type llm is loaded; available: '.*', '/);
    assert.deepEqual(await server.loaded(), []);
    assert.equal((await server.chat("tiny-qwen3", "hi")).status, 200);
    assert.equal((await server.post("/v1/chat/completions", chat)).body.model, "tiny-qwen3");
  });

  test("an error names the exact path and repeats little", async () => {
    const long = "x".repeat(50_000);
    const bad = [
      [{ messages: [user, { role: "assistant", tool_calls: [{ id: 5, type: "function", function: { name: "f", arguments: "{}" } }] }] }, "messages[1].tool_calls[0].id"],
      [{ messages: [{ ...user, name: [long] }] }, "messages[0].name"],
      [{ messages: [user, { role: "tool", content: null }] }, "messages[1].content"],
      [{ messages: [{ role: "user", content: [{ type: "text", text: null }] }] }, "messages[0].content[0].text"],
      [{ messages: [{ role: "user", content: [null] }] }, "messages[0].content[0]"],
      [{ messages: [user, { role: "assistant", function_call: { name: null, arguments: "" } }] }, "messages[1].function_call.name"],
      [{ messages: [user], tools: [{ type: "function", function: { name: "f", description: { long } } }] }, "tools[0].function.description"],
      [{ messages: [user], tool_choice: { type: "function", function: { name: long } } }, "tool_choice"],
      [{ messages: [user], response_format: { type: "json_object", schema: { type: long } } }, "response_format.schema"],
      [{ messages: [user], grammar: `root ::= ${long} "` }, "grammar"],
    ];
    for (const [body, param] of bad) {
      const { status, body: answer } = await server.post("/v1/chat/completions", { model: "tiny-llama", max_tokens: 2, ...body });
      assert.deepEqual([status, answer.error.param], [400, param], JSON.stringify(answer).slice(0, 500));
      assert.ok(answer.error.message.length < 500, answer.error.message.slice(0, 600));
    }
  });
});

describe("a request that names no model", () => {
  const chat = { messages: [user], max_tokens: 2 };
  const folder = mkdtempSync(join(tmpdir(), "corral-test-models-"));
  let server;
  before(async () => {
    for (const name of ["tiny-llama.gguf", "tiny-embed.gguf"]) symlinkSync(join(models, name), join(folder, name));
    server = await Server.launch({ modelsDir: folder });
  });
  after(async () => {
    await server.stop();
    rmSync(folder, { recursive: true });
  });

  test("means the only one of the type that the path needs, loaded or not", async () => {
    for (const [path, body] of [
      ["/v1/chat/completions", chat], ["/v1/completions", { prompt: "x", max_tokens: 2 }], ["/completion", { model: null, prompt: "x", n_predict: 2 }],
      ["/v1/messages", chat], ["/v1/responses", { input: "hi", max_output_tokens: 2 }], ["/api/chat", { messages: [user], stream: false, options: { num_predict: 2 } }],
      ["/v1/embeddings", { input: "x" }], ["/embedding", { content: "x" }], ["/api/embed", { input: "x" }],
    ]) {
      assert.equal((await server.post("/v1/unload", {})).status, 200);
      const answer = await server.post(path, body);
      assert.equal(answer.status, 200, `${path}: ${JSON.stringify(answer.body)}`);
    }
  });
});
