// Ollama's own client, and LangChain's, against a real server with real models; and with played engines for answers
// that tiny models don't give.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ChatOllama, OllamaEmbeddings } from "@langchain/ollama";
import { Ollama } from "ollama";
import { Stage } from "../support/fake-engines.mjs";
import { cancelled } from "../support/cancelled.mjs";
import { Server } from "../support/server.mjs";

let server;
let client;

before(async () => {
  server = await Server.start("--max-loaded-models", "-1", "--offline");
  client = new Ollama({ host: server.url });
});
after(() => server.stop());

const messages = [{ role: "user", content: "Say hello." }];
const options = { num_predict: 8, temperature: 0, seed: 1 };
const weather = {
  type: "function",
  function: { name: "get_weather", description: "of a city", parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] } },
};
const inMemory = async (model) => (await client.ps()).models.find((loaded) => loaded.name === model);
// Asks again and again: what is waited for comes by itself, or the runner's limit ends the test.
async function eventually(look) {
  for (;;) {
    const seen = await look();
    if (seen) return seen;
  }
}

// What a server says stands in its lines sooner or later.
const said = (by, pattern) =>
  eventually(() => by.lines.some((line) => pattern.test(line)) || new Promise((resolve) => setImmediate(resolve, false)));

test("models are listed with size, digest, time and details", async () => {
  const { models } = await client.list();
  const llama = models.find((model) => model.name === "tiny-llama");
  assert.equal(llama.model, "tiny-llama");
  assert.equal(llama.size, 868000);
  assert.match(llama.digest, /^[0-9a-f]{64}$/);
  assert.ok(new Date(llama.modified_at).getTime() > 0);
  assert.equal(llama.details.format, "gguf");
  assert.equal(llama.details.family, "llama");
  assert.deepEqual(llama.details.families, ["llama"]);
  assert.equal(new Set(models.map((model) => model.digest)).size, models.length);
  assert.ok(models.every(({ name }) => !/rerank|whisper/.test(name)), "no call is for these");
});

test("show tells what a model is and can", async () => {
  const llm = await client.show({ model: "tiny-qwen3:latest" });
  assert.equal(llm.details.family, "qwen3");
  assert.equal(llm.model_info["general.architecture"], "qwen3");
  assert.ok(llm.model_info["qwen3.context_length"] > 0);
  assert.ok(llm.capabilities.includes("completion"));
  assert.match(llm.parameters, /num_ctx \d+/);
  assert.deepEqual((await client.show({ model: "tiny-embed" })).capabilities, ["embedding"]);
  assert.deepEqual((await client.show({ model: "tiny-gap" })).capabilities.slice(0, 2), ["completion", "insert"]);
  await assert.rejects(client.show({ model: "no-such-model" }), (error) => error.status_code === 404 && /no-such-model/.test(error.message));
});

test("a temperature above what is taken here isn't refused", async () => {
  const answer = await client.chat({ model: "tiny-llama", messages, options: { ...options, temperature: 2.5 } });
  assert.ok(answer.eval_count > 0);
});

test("a chat counts its tokens and its times", async () => {
  const answer = await client.chat({ model: "tiny-llama", messages, options });
  assert.equal(answer.model, "tiny-llama");
  assert.equal(answer.message.role, "assistant");
  assert.ok(answer.message.content.length > 0);
  assert.equal(answer.done, true);
  assert.equal(answer.done_reason, "length");
  assert.equal(answer.eval_count, 8);
  assert.ok(answer.prompt_eval_count > 0 && answer.eval_duration > 0 && answer.prompt_eval_duration > 0);
  assert.ok(answer.total_duration >= answer.eval_duration + answer.prompt_eval_duration);
  assert.ok(Math.abs(new Date(answer.created_at).getTime() - Date.now()) < 3_600_000);
});

test("a stream gives the same text as the whole answer", async () => {
  const whole = await client.chat({ model: "tiny-llama:latest", messages, options });
  let text = "";
  let last;
  for await (const part of await client.chat({ model: "tiny-llama", messages, options, stream: true })) {
    assert.equal(last?.done ?? false, false, "nothing comes behind the last");
    text += part.message.content;
    last = part;
  }
  assert.equal(text, whole.message.content);
  assert.equal(last.done_reason, "length");
  assert.equal(last.eval_count, 8);
});

test("characters of several bytes stay whole in a stream", async () => {
  let text = "";
  for await (const part of await client.chat({ model: "scripted-unicode", messages, stream: true })) text += part.message.content;
  assert.equal(text, "Grüße! 你好，世界 καλημέρα 🐎🌾🤠 — fin.");
});

test("tools are called with objects as arguments, streamed or not, and their answers are taken", async () => {
  const ask = { model: "scripted-tool-call", messages, tools: [weather] };
  const whole = await client.chat(ask);
  const expected = { name: "get_weather", arguments: { city: "Paris" } };
  const only = ({ name, arguments: given }) => ({ name, arguments: given });
  assert.deepEqual(only(whole.message.tool_calls[0].function), expected);
  const calls = [];
  for await (const part of await client.chat({ ...ask, stream: true })) calls.push(...(part.message.tool_calls ?? []));
  assert.deepEqual(calls.map((call) => only(call.function)), [expected]);
  const answered = [...messages, whole.message, { role: "tool", tool_name: "get_weather", content: "rain" }];
  assert.equal((await client.chat({ model: "scripted-hello", messages: answered, tools: [weather], options })).done, true);
});

test("a schema shapes the answer", async () => {
  const format = { type: "object", properties: { age: { type: "integer" }, name: { enum: ["ada", "bob"] } }, required: ["age", "name"] };
  const answer = await client.chat({ model: "tiny-llama", messages, format, options: { temperature: 0, num_predict: 200 } });
  const parsed = JSON.parse(answer.message.content);
  assert.ok(Number.isInteger(parsed.age));
  assert.ok(["ada", "bob"].includes(parsed.name));
});

test("generate: a prompt, raw, streamed, and a context that goes on", async () => {
  const ask = { model: "scripted-hello", prompt: "Hello", options };
  const first = await client.generate(ask);
  assert.ok(first.response.startsWith("Hello!"));
  assert.equal(first.eval_count, 8);
  assert.ok(Array.isArray(first.context) && first.context.every(Number.isInteger));
  const second = await client.generate({ ...ask, context: first.context });
  assert.ok(second.prompt_eval_count > first.prompt_eval_count, "what was said before is in the prompt");
  const raw = await client.generate({ model: "tiny-llama", prompt: "Once upon", raw: true, options });
  assert.equal(raw.context, undefined);
  let text = "";
  for await (const part of await client.generate({ model: "tiny-llama", prompt: "Once upon", raw: true, options, stream: true })) text += part.response;
  assert.equal(text, raw.response);
  await assert.rejects(client.generate({ ...ask, context: [1, 2, 3] }), /'context' must be/);
  await assert.rejects(client.generate({ ...ask, suffix: "x" }), /'suffix'/);
});

test("embeddings of texts, normalised, and the older call", async () => {
  const { embeddings, prompt_eval_count } = await client.embed({ model: "tiny-embed", input: ["first text", "second text"] });
  assert.equal(embeddings.length, 2);
  for (const vector of embeddings) assert.ok(Math.abs(Math.hypot(...vector) - 1) < 1e-3);
  assert.ok(prompt_eval_count > 0);
  const one = await client.embed({ model: "tiny-embed", input: "first text" });
  one.embeddings[0].forEach((value, i) => assert.ok(Math.abs(value - embeddings[0][i]) < 1e-5));
  const cut = await client.embed({ model: "tiny-embed", input: ["first text", "word ".repeat(50_000)] });
  assert.equal(cut.embeddings.length, 2);
  await assert.rejects(client.embed({ model: "tiny-embed", input: "word ".repeat(50_000), truncate: false }), (error) => error.status_code === 400 && /'input/.test(error.message));
  const older = await client.embeddings({ model: "tiny-embed", prompt: "first text" });
  assert.equal(older.embedding.length, embeddings[0].length);
});

test("an answer that was begun is gone on with, whole and streamed", async () => {
  const begun = [...messages, { role: "assistant", content: "Once upon" }];
  const request = { model: "tiny-llama", messages: begun, options: { num_predict: 6, temperature: 0 } };
  const whole = await client.chat(request);
  assert.ok(!whole.message.content.startsWith("Once upon"));
  let streamed = "";
  for await (const part of await client.chat({ ...request, stream: true })) streamed += part.message.content;
  assert.equal(streamed, whole.message.content);
});

test("errors are texts, with their status and the name of the field", async () => {
  const refused = (more, status, text) =>
    assert.rejects(client.chat({ model: "tiny-llama", messages, ...more }), (error) => error.status_code === status && text.test(error.message));
  await refused({ model: "no-such-model" }, 404, /no-such-model/);
  await refused({ options: { temperature: "hot" } }, 400, /'options.temperature' must be/);
  await refused({ model: "tiny-embed" }, 400, /tiny-embed/);
  await refused({ messages: [{ role: "user", content: "word ".repeat(20000) }] }, 400, /context/);
  await refused({ messages: [{ role: "user", content: "see", images: ["iVBORw0KGgo="] }] }, 400, /^'messages' has pictures, but 'tiny-llama' reads only text: no model here does/);
  const unknown = await server.get("/api/nothing");
  assert.equal(unknown.status, 404);
  assert.equal(typeof unknown.body.error, "string");
});

test("a stream that is aborted ends its generation", async () => {
  const under_way = async () => (await server.get("/v1/requests")).body.requests.filter(({ model }) => model === "scripted-endless").length;
  const stream = await client.chat({ model: "scripted-endless", messages, options: { num_predict: 100000 }, stream: true });
  let parts = 0;
  await assert.rejects(async () => {
    for await (const part of stream) {
      assert.equal(part.done, false);
      if (++parts === 3) stream.abort();
    }
  }, { name: "AbortError" });
  await eventually(async () => (await under_way()) === 0);
  assert.equal(await cancelled(server, "scripted-endless", 1), 1, "it didn't come to its end");
  assert.equal((await client.chat({ model: "scripted-endless", messages, options })).eval_count, 8);
});

test("keep_alive: a time, for ever, and at once", async () => {
  const model = "tiny-moe";
  const loading = await client.generate({ model, prompt: "", keep_alive: "10m" });
  assert.equal(loading.done_reason, "load");
  const minutes = async () => (new Date((await inMemory(model)).expires_at).getTime() - Date.now()) / 60_000;
  await eventually(async () => (await minutes()) < 11);
  assert.ok((await minutes()) > 8);
  const loaded = await inMemory(model);
  assert.ok(loaded.size > 0 && loaded.context_length > 0 && loaded.size_vram >= 0);
  await client.chat({ model, messages, options, keep_alive: -1 });
  await eventually(async () => (await minutes()) > 60 * 24 * 365);
  const unloading = await client.generate({ model, prompt: "", keep_alive: 0 });
  assert.equal(unloading.done_reason, "unload");
  await eventually(async () => !(await inMemory(model)));
  await client.chat({ model, messages, options, keep_alive: 0 });
  await eventually(async () => !(await inMemory(model)));
});

test("pull of what is there succeeds; what can't be done says why", async () => {
  assert.equal((await client.pull({ model: "tiny-llama" })).status, "success");
  const steps = [];
  for await (const step of await client.pull({ model: "tiny-llama", stream: true })) steps.push(step.status);
  assert.equal(steps.at(-1), "success");
  await assert.rejects(client.pull({ model: "llama9" }), /offline/);
  await assert.rejects(client.delete({ model: "tiny-llama" }), /folder|tiny-llama/);
  assert.equal((await client.copy({ source: "tiny-llama", destination: "other" })).status, "success");
  assert.ok((await client.show({ model: "other" })).details);
  assert.equal((await client.delete({ model: "other" })).status, "success");
  await assert.rejects(client.show({ model: "other" }), /other/);
  assert.ok((await client.show({ model: "tiny-llama" })).details, "it was a name");
  await assert.rejects(client.create({ model: "mine", from: "tiny-llama", adapters: { "a.gguf": "sha256:0" } }), /'adapters' is not supported here/);
  await assert.rejects(client.push({ model: "tiny-llama" }), /registry/);
});

test("a model is created from another one with a system text and parameters, and listed", async () => {
  const created = await client.create({ model: "mine", from: "scripted-hello", system: "Be brief.", parameters: { temperature: 0, num_predict: 3 } });
  assert.equal(created.status, "success");
  const listed = (await client.list()).models.map((one) => one.name);
  assert.ok(listed.includes("mine") && listed.includes("scripted-hello"), listed.join());
  const answer = await client.chat({ model: "mine", messages });
  assert.equal(answer.model, "mine");
  assert.equal(answer.eval_count, 3, "num_predict of the preset");
  assert.ok(answer.prompt_eval_count > (await client.chat({ model: "scripted-hello", messages, options: { num_predict: 1 } })).prompt_eval_count);
  assert.equal((await client.delete({ model: "mine" })).status, "success");
  assert.ok(!(await client.list()).models.some((one) => one.name === "mine"));
});

test("the version, and that it runs", async () => {
  const { version } = await client.version();
  assert.match(version, /^\d+\.\d+\.\d+$/);
  assert.equal((await fetch(server.url, { method: "HEAD" })).status, 200);
});

test("LangChain: chat, stream, tools, embeddings", async () => {
  const model = (name) => new ChatOllama({ baseUrl: server.url, model: name, temperature: 0, numPredict: 8 });
  const answer = await model("tiny-llama").invoke("Say hello.");
  assert.ok(answer.content.length > 0);
  assert.equal(answer.usage_metadata.output_tokens, 8);
  let text = "";
  for await (const part of await model("tiny-llama").stream("Say hello.")) text += part.content;
  assert.equal(text, answer.content);
  const tools = new ChatOllama({ baseUrl: server.url, model: "scripted-tool-call" }).bindTools([weather]);
  const called = await tools.invoke("How is the weather?");
  assert.deepEqual(called.tool_calls.map(({ name, args }) => ({ name, args })), [{ name: "get_weather", args: { city: "Paris" } }]);
  const vectors = await new OllamaEmbeddings({ baseUrl: server.url, model: "tiny-embed" }).embedDocuments(["one", "two"]);
  assert.equal(vectors.length, 2);
});

test("thoughts stand apart, streamed and whole", async () => {
  const its = await Stage.startIn({}, ["a"]);
  try {
    await its.play(async (stage, played) => {
      const engine = await stage.have("a");
      const here = new Ollama({ host: played.url });
      const asking = here.chat({ model: "a", messages, think: true, stream: true });
      const request = await engine.request();
      assert.equal(request.body.enable_thinking, true);
      await request.begin();
      const delta = (members) => JSON.stringify({ choices: [{ index: 0, delta: members, finish_reason: null }] });
      await request.send(delta({ reasoning_content: "hm, " }));
      await request.send(delta({ reasoning_content: "well" }));
      await request.send(delta({ content: "Yes." }));
      await request.send(JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }));
      await request.send("[DONE]");
      await request.end();
      let thinking = "";
      let content = "";
      for await (const part of await asking) {
        thinking += part.message.thinking ?? "";
        content += part.message.content;
      }
      assert.deepEqual([thinking, content], ["hm, well", "Yes."]);
    });
  } catch (error) {
    await its.abort();
    throw error;
  }
  await its.stop();
});

test("a second port is where Ollama's clients look, unless somebody else has it", async () => {
  const { createServer } = await import("node:net");
  const taken = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => taken.once("listening", resolve));
  const { port } = taken.address();
  const without = await Server.start("--ollama-port", `${port}`);
  assert.equal((await without.get("/live")).status, 200);
  await said(without, /ollama_port/);
  await without.stop();
  await new Promise((resolve) => taken.close(resolve));
  const both = await Server.start("--ollama-port", `${port}`);
  try {
    await said(both, /Ollama clients can use/);
    const other = `http://127.0.0.1:${port}`;
    assert.equal(await (await fetch(other)).text(), "Ollama is running");
    assert.ok((await new Ollama({ host: other }).list()).models.length > 0);
    assert.match(await (await fetch(both.url)).text(), /corral is running/);
  } finally {
    await both.stop();
  }
});
