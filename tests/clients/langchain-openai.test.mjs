// LangChain's classes for OpenAI's API against a real server with real models.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { tool } from "@langchain/core/tools";
import { ChatOpenAI, OpenAIEmbeddings } from "@langchain/openai";
import { cancelled } from "../support/cancelled.mjs";
import { Server } from "../support/server.mjs";

let server;
before(async () => (server = await Server.start("--max-loaded-models", "-1")));
after(() => server.stop());

const chat = (model, more = {}) =>
  new ChatOpenAI({ model, apiKey: "none", temperature: 0, maxTokens: 64, maxRetries: 0, configuration: { baseURL: `${server.url}/v1` }, ...more });
const weather = tool(() => "Sunny.", {
  name: "get_weather",
  description: "The weather of a city",
  schema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
});

for (const useResponsesApi of [false, true]) {
  const by = useResponsesApi ? "by responses" : "by chat completions";
  const model = (name, more = {}) => chat(name, { useResponsesApi, ...more });

  test(`an answer and what it cost, ${by}`, async () => {
    const answer = await model("scripted-hello").invoke("Say hello.");
    assert.match(answer.text, /^Hello!/);
    assert.ok(answer.usage_metadata.input_tokens > 0 && answer.usage_metadata.output_tokens > 0);
  });

  test(`a stream gives the same, ${by}`, async () => {
    const whole = await model("scripted-hello").invoke("Say hello.");
    let all;
    for await (const piece of await model("scripted-hello").stream("Say hello.")) all = all ? all.concat(piece) : piece;
    assert.equal(all.text, whole.text);
    assert.equal(all.usage_metadata.output_tokens, whole.usage_metadata.output_tokens);
  });

  test(`tools are called, ${by}`, async () => {
    const { tool_calls } = await model("scripted-tool-call").bindTools([weather]).invoke("What is the weather in Paris?");
    assert.deepEqual(tool_calls.map(({ name, args }) => ({ name, args })), [{ name: "get_weather", args: { city: "Paris" } }]);
  });

  test(`a schema shapes the answer, ${by}`, async () => {
    const schema = {
      title: "person",
      type: "object",
      properties: { age: { type: "integer" }, name: { enum: ["ada", "bob"] } },
      required: ["age", "name"],
      additionalProperties: false,
    };
    const answer = await model("tiny-llama", { maxTokens: 200 }).withStructuredOutput(schema, { method: "jsonSchema" }).invoke("Who?");
    assert.ok(Number.isInteger(answer.age) && ["ada", "bob"].includes(answer.name));
  });
}

test("embeddings", async () => {
  const embeddings = new OpenAIEmbeddings({ model: "tiny-embed", apiKey: "none", maxRetries: 0, configuration: { baseURL: `${server.url}/v1` } });
  const vectors = await embeddings.embedDocuments(["first text", "second text"]);
  assert.equal(vectors.length, 2);
  assert.ok(vectors[0].length > 0 && vectors[0].every(Number.isFinite));
});

test("errors have a status and a reason", async () => {
  await assert.rejects(chat("no-such-model").invoke("Hi"), (error) => error.status === 404 && /no-such-model/.test(error.message));
  await assert.rejects(chat("tiny-embed").invoke("Hi"), (error) => error.status === 400);
});

test("an abort in the midst of a stream ends the generation", async () => {
  const before = await cancelled(server, "scripted-endless");
  const leaving = new AbortController();
  let pieces = 0;
  const reading = (async () => {
    for await (const piece of await chat("scripted-endless", { maxTokens: 100000 }).stream("Go on.", { signal: leaving.signal })) {
      assert.ok(piece);
      if (++pieces === 3) leaving.abort();
    }
  })();
  await reading.catch((error) => assert.match(`${error}`, /abort/i));
  while ((await cancelled(server, "scripted-endless")) === before) await new Promise((resolve) => setImmediate(resolve));
});
