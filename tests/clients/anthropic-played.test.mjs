// Anthropic's official client against a real server whose engine is played: what no small model says by itself.
import assert from "node:assert/strict";
import Anthropic from "@anthropic-ai/sdk";
import { event, finish, playedWith } from "../support/played.mjs";

const messages = [{ role: "user", content: "Think." }];

const played = playedWith((server) => new Anthropic({ baseURL: server.url, apiKey: "none", maxRetries: 0 }));

played("thoughts, text and several calls become blocks in the client's own parser, and go back as they came", async (its, client) => {
  const engine = await its.have("a");
  const tools = ["f", "g"].map((name) => ({ name, input_schema: { type: "object" } }));
  const stream = client.messages.stream({ model: "a", max_tokens: 50, thinking: { type: "enabled", budget_tokens: 1024 }, tools, messages });
  let thoughts = "";
  stream.on("thinking", (piece) => (thoughts += piece));
  const request = await engine.request();
  assert.equal(request.body.enable_thinking, true);
  await request.begin();
  await event(request, { role: "assistant", content: "" });
  for (const reasoning_content of ["Let me ", "see."]) await event(request, { reasoning_content });
  await event(request, { content: "I ask both." });
  for (const [index, name] of ["f", "g"].entries()) {
    await event(request, { tool_calls: [{ index, id: `call_${index}`, type: "function", function: { name, arguments: "" } }] });
    await event(request, { tool_calls: [{ index, function: { arguments: '{"n":' } }] });
    await event(request, { tool_calls: [{ index, function: { arguments: `${index}}` } }] });
  }
  await finish(request, "tool_calls");
  const message = await stream.finalMessage();
  assert.equal(thoughts, "Let me see.");
  assert.deepEqual(message.content.map(({ type }) => type), ["thinking", "text", "tool_use", "tool_use"]);
  assert.deepEqual(message.content.slice(2).map(({ name, input }) => [name, input]), [["f", { n: 0 }], ["g", { n: 1 }]]);
  assert.equal(message.stop_reason, "tool_use");
  assert.equal(message.usage.input_tokens, 4);
  assert.equal(message.usage.cache_read_input_tokens, 16);
  assert.equal(message.usage.output_tokens, 7);

  const results = message.content.slice(2).map(({ id, name }) => ({ type: "tool_result", tool_use_id: id, content: name }));
  const going = client.messages.create({ model: "a", max_tokens: 50, messages: [...messages, { role: "assistant", content: message.content }, { role: "user", content: results }] });
  const next = await engine.request();
  assert.deepEqual(next.body.messages.slice(1), [
    {
      role: "assistant",
      content: "I ask both.",
      reasoning_content: "Let me see.",
      tool_calls: ["f", "g"].map((name, n) => ({ id: `call_${n}`, type: "function", function: { name, arguments: `{"n":${n}}` } })),
    },
    { role: "tool", tool_call_id: "call_0", content: "f" },
    { role: "tool", tool_call_id: "call_1", content: "g" },
  ]);
  await next.answer(200, { choices: [{ message: { content: "So it is." }, finish_reason: "stop" }] });
  assert.equal((await going).content[0].text, "So it is.");
});

played("while a model loads, its stream has begun and pings", async (its, client) => {
  const response = await client.messages.create({ model: "a", max_tokens: 5, messages, stream: true }).asResponse();
  const engine = await its.loading("a");
  let text = "";
  let ready = false;
  const decoder = new TextDecoder();
  for await (const bytes of response.body) {
    text += decoder.decode(bytes, { stream: true });
    if (ready || !text.includes("event: ping\n")) continue;
    ready = true; // Once: the answer that follows comes in any number of pieces.
    engine.ready();
    const request = await engine.request();
    await request.begin();
    await event(request, { content: "hi" });
    await finish(request, "stop");
  }
  const { message } = JSON.parse(text.match(/^data: (.*"message_start".*)$/m)[1]);
  assert.match(message.id, /^msg_./, "the first event has the answer's id, whatever comes then");
  assert.equal(message.model, "a");
  const names = [...text.matchAll(/^event: (\S+)$/gm)].map(([, name]) => name);
  const rest = ["content_block_start", "content_block_delta", "content_block_stop", "message_delta", "message_stop"];
  assert.deepEqual(names.filter((name) => name !== "ping"), ["message_start", ...rest]);
  assert.equal(names[1], "ping");
});

played("an engine that dies in the middle is an error of the client's", async (its, client) => {
  const engine = await its.have("a");
  const asking = client.messages.create({ model: "a", max_tokens: 5, messages, stream: true });
  const request = await engine.request();
  await request.begin();
  await event(request, { content: "hi" });
  const stream = await asking;
  const reading = (async () => {
    for await (const { type } of stream) if (type === "content_block_delta") engine.kill();
  })();
  await assert.rejects(reading, (error) => error instanceof Anthropic.APIError && /ended/.test(error.message) && error.error.error.type === "api_error");
});

played("a client that leaves ends its request at the engine", async (its, client) => {
  const engine = await its.have("a");
  const stream = client.messages.stream({ model: "a", max_tokens: 5, messages });
  const ending = assert.rejects(stream.finalMessage(), Anthropic.APIUserAbortError);
  stream.on("text", () => stream.abort());
  const request = await engine.request();
  await request.begin();
  await event(request, { content: "hi" });
  await request.dropped;
  await ending;
});

played("a stream whose engine just stops is an error, not an answer", async (its, client) => {
  const engine = await its.have("a");
  const asking = client.messages.stream({ model: "a", max_tokens: 5, messages }).finalMessage();
  const refused = assert.rejects(asking, (error) => error instanceof Anthropic.APIError && /cut off/.test(error.message));
  const request = await engine.request();
  await request.begin();
  await event(request, { content: "hi" });
  await request.end();
  await refused;
});

played("thinking is asked for in every way", async (its, client) => {
  const engine = await its.have("a");
  for (const [thinking, asked] of [
    [{ type: "enabled", budget_tokens: 1024 }, true],
    [{ type: "disabled" }, false],
    [{ type: "adaptive" }, true],
    [undefined, false],
  ]) {
    const asking = client.messages.create({ model: "a", max_tokens: 50, messages, thinking });
    const request = await engine.request();
    assert.equal(request.body.enable_thinking, asked, JSON.stringify(thinking));
    await request.answer(200, { choices: [{ message: { content: "So.", reasoning_content: "Hm." }, finish_reason: "stop" }] });
    const types = (await asking).content.map(({ type }) => type);
    assert.deepEqual(types, asked ? ["thinking", "text"] : ["text"], JSON.stringify(thinking));
  }
});
