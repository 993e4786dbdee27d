// The official OpenAI client against a real server with real models.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import OpenAI from "openai";
import { Server } from "../support/server.mjs";

let server;
let client;

before(async () => {
  server = await Server.start();
  client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: "none", maxRetries: 0 });
});
after(() => server.stop());

const messages = [{ role: "user", content: "Say hello." }];

test("models can be listed and retrieved", async () => {
  const ids = [];
  for await (const model of client.models.list()) ids.push(model.id);
  assert.ok(ids.includes("tiny-llama") && ids.includes("tiny-embed"));
  const one = await client.models.retrieve("tiny-qwen3");
  assert.equal(one.id, "tiny-qwen3");
  assert.equal(one.object, "model");
});

test("a chat completion names the model that was asked for and counts its tokens", async () => {
  const answer = await client.chat.completions.create({ model: "tiny-llama", messages, max_tokens: 8, temperature: 0 });
  assert.equal(answer.model, "tiny-llama");
  assert.equal(answer.object, "chat.completion");
  assert.equal(answer.choices[0].message.role, "assistant");
  assert.equal(answer.choices[0].finish_reason, "length");
  assert.equal(answer.usage.completion_tokens, 8);
  assert.equal(answer.usage.total_tokens, answer.usage.prompt_tokens + 8);
});

test("a stream gives the same text as the whole answer, then its usage", async () => {
  const request = { model: "tiny-llama", messages, max_tokens: 24, temperature: 0 };
  const whole = await client.chat.completions.create(request);
  const stream = await client.chat.completions.create({ ...request, stream: true, stream_options: { include_usage: true } });
  let text = "";
  let usage;
  let finish;
  for await (const chunk of stream) {
    text += chunk.choices[0]?.delta?.content ?? "";
    finish = chunk.choices[0]?.finish_reason ?? finish;
    usage = chunk.usage ?? usage;
  }
  assert.equal(text, whole.choices[0].message.content);
  assert.equal(finish, "length");
  assert.equal(usage.completion_tokens, 24);
});

test("a stream that tells how far its prompt is stays one message", async () => {
  const request = { model: "tiny-llama", messages, max_tokens: 12, temperature: 0 };
  const whole = await client.chat.completions.create(request);
  let told;
  const stream = client.chat.completions.stream({ ...request, return_progress: true, sse_ping_interval: 1 });
  stream.on("chunk", (chunk) => (told = chunk.prompt_progress ?? told));
  const { message } = (await stream.finalChatCompletion()).choices[0];
  assert.equal(message.role, "assistant");
  assert.equal(message.content, whole.choices[0].message.content);
  assert.equal(told.processed, told.total);
});

test("two models answer side by side, each with its own text", async () => {
  const ask = (model) => client.chat.completions.create({ model, messages, max_tokens: 16, temperature: 0 });
  const alone = [await ask("tiny-llama"), await ask("tiny-qwen3")];
  const together = await Promise.all([ask("tiny-llama"), ask("tiny-qwen3")]);
  together.forEach((answer, i) => assert.equal(answer.choices[0].message.content, alone[i].choices[0].message.content));
});

test("an aborted stream ends and the server goes on answering", async () => {
  const stream = await client.chat.completions.create({ model: "scripted-endless", messages, stream: true, max_tokens: 5000 });
  let chunks = 0;
  for await (const chunk of stream) {
    assert.ok(chunk.id);
    if (++chunks === 3) break;
  }
  const answer = await client.chat.completions.create({ model: "scripted-endless", messages, max_tokens: 4 });
  assert.equal(answer.usage.completion_tokens, 4);
});

test("text completions", async () => {
  const answer = await client.completions.create({ model: "tiny-llama", prompt: "Once upon", max_tokens: 6, temperature: 0 });
  assert.equal(answer.object, "text_completion");
  assert.equal(answer.usage.completion_tokens, 6);
  assert.ok(answer.choices[0].text.length > 0);
});

test("embeddings are the same as base64 and as numbers", async () => {
  const input = ["first text", "second text"];
  const decoded = await client.embeddings.create({ model: "tiny-embed", input }); // the client asks for base64
  const plain = await client.embeddings.create({ model: "tiny-embed", input, encoding_format: "float" });
  assert.equal(plain.data.length, 2);
  plain.data.forEach((row, i) => {
    assert.equal(row.index, i);
    const other = decoded.data[i].embedding;
    assert.equal(row.embedding.length, other.length);
    row.embedding.forEach((value, k) => assert.ok(Math.abs(value - other[k]) < 1e-6));
  });
});

test("errors arrive as the client's typed exceptions", async () => {
  const ask = (body) => client.chat.completions.create({ model: "tiny-llama", messages, max_tokens: 1, ...body });
  await assert.rejects(ask({ model: "no-such-model" }), (e) => e instanceof OpenAI.NotFoundError && e.code === "model_not_found");
  await assert.rejects(ask({ temperature: "hot" }), (e) => e instanceof OpenAI.BadRequestError && e.param === "temperature");
  await assert.rejects(ask({ model: "tiny-embed" }), (e) => e instanceof OpenAI.BadRequestError);
  const long = [{ role: "user", content: "word ".repeat(20000) }];
  await assert.rejects(ask({ messages: long }), (e) => e instanceof OpenAI.BadRequestError && e.code === "context_length_exceeded");
});

test("a wrong key is an authentication error", async () => {
  const locked = await Server.start("--api-key", "secret");
  try {
    const stranger = new OpenAI({ baseURL: `${locked.url}/v1`, apiKey: "wrong", maxRetries: 0 });
    await assert.rejects(stranger.models.list(), OpenAI.AuthenticationError);
    const friend = new OpenAI({ baseURL: `${locked.url}/v1`, apiKey: "secret", maxRetries: 0 });
    assert.ok((await friend.models.list()).data.length > 0);
  } finally {
    await locked.stop();
  }
});
