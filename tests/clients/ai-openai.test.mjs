// The ai package with its two providers of OpenAI's API against a real server with real models: the one for servers
// that are like OpenAI's, and OpenAI's own, which asks for responses where it isn't told otherwise.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { APICallError, embedMany, generateObject, generateText, jsonSchema, stepCountIs, streamText, tool } from "ai";
import { cancelled } from "../support/cancelled.mjs";
import { Server } from "../support/server.mjs";

let server;
const providers = {};
before(async () => {
  server = await Server.start("--max-loaded-models", "-1");
  const settings = { baseURL: `${server.url}/v1`, apiKey: "none" };
  providers.compatible = createOpenAICompatible({ name: "corral", includeUsage: true, supportsStructuredOutputs: true, ...settings });
  providers.openai = createOpenAI(settings);
});
after(() => server.stop());

const kinds = {
  "compatible, chat": (model) => providers.compatible(model),
  "openai, chat": (model) => providers.openai.chat(model),
  "openai, responses": (model) => providers.openai.responses(model),
};
const person = jsonSchema({
  type: "object",
  properties: { age: { type: "integer" }, name: { enum: ["ada", "bob"] } },
  required: ["age", "name"],
  additionalProperties: false,
});
const getWeather = (execute) =>
  tool({
    description: "The weather of a city",
    inputSchema: jsonSchema({ type: "object", properties: { city: { type: "string" } }, required: ["city"], additionalProperties: false }),
    execute,
  });

for (const [kind, of] of Object.entries(kinds)) {
  describe(kind, () => {
    const hello = (model = "scripted-hello") => ({ model: of(model), prompt: "Say hello.", maxOutputTokens: 64, temperature: 0, maxRetries: 0 });

    test("a text and what it cost", async () => {
      const { text, finishReason, usage } = await generateText(hello());
      assert.match(text, /^Hello!/);
      assert.equal(finishReason, "stop");
      assert.ok(usage.inputTokens > 0 && usage.outputTokens > 0);
    });

    test("a stream gives the same, and the same numbers", async () => {
      const whole = await generateText(hello());
      const result = streamText(hello());
      let text = "";
      for await (const piece of result.textStream) text += piece;
      assert.equal(text, whole.text);
      assert.equal(await result.finishReason, "stop");
      const usage = await result.usage;
      assert.deepEqual([usage.inputTokens, usage.outputTokens], [whole.usage.inputTokens, whole.usage.outputTokens]);
    });

    test("a tool is called and its result goes back, whole and streamed", async () => {
      for (const streamed of [false, true]) {
        const cities = [];
        const run = ({ city }) => (cities.push(city), "Sunny.");
        const request = { ...hello("scripted-tool-call"), tools: { get_weather: getWeather(run) }, stopWhen: stepCountIs(2) };
        const result = streamed ? streamText(request) : await generateText(request);
        if (streamed) await result.consumeStream();
        const steps = await result.steps;
        assert.equal(steps.length, 2);
        assert.equal(steps[0].finishReason, "tool-calls");
        assert.deepEqual(cities, ["Paris", "Paris"]);
      }
    });

    test("a schema shapes the answer", async () => {
      const { object } = await generateObject({ ...hello("tiny-llama"), schema: person, maxOutputTokens: 200 });
      assert.ok(Number.isInteger(object.age));
      assert.ok(["ada", "bob"].includes(object.name));
    });

    test("errors are the package's own", async () => {
      await assert.rejects(generateText(hello("no-such-model")), (error) => {
        assert.ok(APICallError.isInstance(error), `${error}`);
        assert.equal(error.statusCode, 404);
        assert.match(error.message, /no-such-model/);
        return true;
      });
    });

    test("an abort in the midst of a stream ends the generation", async () => {
      const before = await cancelled(server, "scripted-endless");
      const leaving = new AbortController();
      const result = streamText({ ...hello("scripted-endless"), maxOutputTokens: 100000, abortSignal: leaving.signal, onError() {} });
      let pieces = 0;
      for await (const piece of result.textStream) {
        assert.equal(typeof piece, "string");
        if (++pieces === 3) leaving.abort();
      }
      while ((await cancelled(server, "scripted-endless")) === before) await new Promise((resolve) => setImmediate(resolve));
    });
  });
}

for (const [kind, of] of [
  ["compatible", () => providers.compatible.textEmbeddingModel("tiny-embed")],
  ["openai", () => providers.openai.embedding("tiny-embed")],
]) {
  test(`embeddings, ${kind}`, async () => {
    const { embeddings, usage } = await embedMany({ model: of(), values: ["first text", "second text"], maxRetries: 0 });
    assert.equal(embeddings.length, 2);
    assert.ok(embeddings[0].length > 0 && embeddings[0].length === embeddings[1].length);
    assert.ok(usage.tokens > 0);
  });
}
