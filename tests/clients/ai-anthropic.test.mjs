// The ai package with its Anthropic provider against a real server with real models.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createAnthropic } from "@ai-sdk/anthropic";
import { APICallError, generateText, jsonSchema, stepCountIs, streamText, tool } from "ai";
import { cancelled } from "../support/cancelled.mjs";
import { Server } from "../support/server.mjs";

let server;
let anthropic;

before(async () => {
  server = await Server.start();
  anthropic = createAnthropic({ baseURL: `${server.url}/v1`, apiKey: "none" });
});
after(() => server.stop());

const hello = () => ({ model: anthropic("scripted-hello"), prompt: "Say hello.", maxOutputTokens: 64, temperature: 0, maxRetries: 0 });
const getWeather = (execute) =>
  tool({
    description: "The weather of a city",
    inputSchema: jsonSchema({ type: "object", properties: { city: { type: "string" } }, required: ["city"] }),
    execute,
  });

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
  assert.equal((await result.usage).inputTokens, whole.usage.inputTokens);
  assert.equal((await result.usage).outputTokens, whole.usage.outputTokens);
});

for (const [what, ask] of [
  ["whole", (request) => generateText(request)],
  [
    "streamed",
    async (request) => {
      const result = streamText(request);
      await result.consumeStream();
      return { steps: await result.steps };
    },
  ],
]) {
  test(`a tool is called and its result goes back, ${what}`, async () => {
    const cities = [];
    const run = ({ city }) => (cities.push(city), "Sunny.");
    const { steps } = await ask({ ...hello(), model: anthropic("scripted-tool-call"), tools: { get_weather: getWeather(run) }, stopWhen: stepCountIs(2) });
    assert.equal(steps.length, 2);
    assert.equal(steps[0].finishReason, "tool-calls");
    assert.deepEqual(cities, ["Paris", "Paris"]);
  });
}

test("errors are the package's own", async () => {
  await assert.rejects(generateText({ ...hello(), model: anthropic("no-such-model") }), (error) => {
    assert.ok(APICallError.isInstance(error), `${error}`);
    assert.equal(error.statusCode, 404);
    assert.match(error.message, /no-such-model/);
    return true;
  });
});

test("a stream that is aborted leaves nothing behind", async () => {
  const stop = new AbortController();
  const result = streamText({ ...hello(), model: anthropic("scripted-endless"), maxOutputTokens: 100000, abortSignal: stop.signal });
  for await (const piece of result.textStream) {
    assert.ok(piece);
    stop.abort();
  }
  while ((await server.get("/v1/requests")).body.requests.length > 0);
  assert.equal(await cancelled(server, "scripted-endless", 1), 1, "it didn't come to its end");
  const { text } = await generateText({ ...hello(), model: anthropic("scripted-endless"), maxOutputTokens: 4 });
  assert.ok(text.length > 0);
});
