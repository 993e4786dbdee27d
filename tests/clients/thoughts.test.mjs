// SDKs that read OpenAI's responses show the thoughts of a model whose engine is played.
import assert from "node:assert/strict";
import { createOpenAI } from "@ai-sdk/openai";
import { ChatOpenAI } from "@langchain/openai";
import { generateText, streamText } from "ai";
import OpenAI from "openai";
import { event, finish, playedWith } from "../support/played.mjs";

const played = playedWith((server) => ({ baseURL: `${server.url}/v1`, apiKey: "none" }));

const thoughts = ["Let me ", "see."];
const whole = { choices: [{ message: { reasoning_content: thoughts.join(""), content: "Yes." }, finish_reason: "stop" }] };

// The engine's next answer: thoughts, then a text.
async function answer(engine, streamed) {
  const request = await engine.request();
  if (!streamed) return request.answer(200, whole);
  await request.begin();
  for (const reasoning_content of thoughts) await event(request, { reasoning_content });
  await event(request, { content: "Yes." });
  await finish(request, "stop");
}

played("the ai package shows thoughts once, whole and streamed", async (its, settings) => {
  const engine = await its.have("a");
  const request = {
    model: createOpenAI(settings).responses("a"),
    prompt: "Think.",
    maxRetries: 0,
    providerOptions: { openai: { reasoningSummary: "auto", forceReasoning: true } },
  };
  for (const streamed of [false, true]) {
    const asking = streamed ? streamText(request) : generateText(request);
    if (streamed) asking.consumeStream();
    await answer(engine, streamed);
    const result = await asking;
    assert.equal(await result.reasoningText, "Let me see.", `streamed: ${streamed}`);
    assert.equal(await result.text, "Yes.");
  }
});

played("LangChain shows thoughts once, whole and streamed", async (its, settings) => {
  const engine = await its.have("a");
  const { baseURL, apiKey } = settings;
  // By itself the class sends `reasoning` only to models that are called "o1" or "gpt-5".
  const modelKwargs = { reasoning: { summary: "auto" } };
  const model = new ChatOpenAI({ model: "a", apiKey, useResponsesApi: true, maxRetries: 0, modelKwargs, configuration: { baseURL } });
  const streaming = async () => {
    let all;
    for await (const piece of await model.stream("Think.")) all = all ? all.concat(piece) : piece;
    return all;
  };
  for (const streamed of [false, true]) {
    const asking = streamed ? streaming() : model.invoke("Think.");
    await answer(engine, streamed);
    const { contentBlocks, text } = await asking;
    const shown = contentBlocks.filter(({ type }) => type === "reasoning").map(({ reasoning }) => reasoning);
    assert.equal(shown.join(""), "Let me see.", `streamed: ${streamed}`);
    assert.equal(text, "Yes.");
  }
});

played("a summary goes back to the model as the thoughts that it is", async (its, settings) => {
  const client = new OpenAI({ ...settings, maxRetries: 0 });
  const engine = await its.have("a");
  const asking = client.responses.create({ model: "a", input: "Think.", reasoning: { summary: "detailed" } });
  await answer(engine, false);
  const { output } = await asking;
  assert.deepEqual(output[0].summary, [{ type: "summary_text", text: "Let me see." }]);
  const going = client.responses.create({ model: "a", input: [{ role: "user", content: "Think." }, ...output, { role: "user", content: "On." }] });
  const next = await engine.request();
  assert.equal(next.body.messages[1].reasoning_content, "Let me see.");
  await next.answer(200, whole);
  assert.deepEqual((await going).output[0].summary, []);
});
