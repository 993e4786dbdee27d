// OpenAI's official client asks for responses of a real server whose engine is played: the documented order of events,
// and what no small model says by itself.
import assert from "node:assert/strict";
import OpenAI from "openai";
import { event, finish, playedWith } from "../support/played.mjs";

const played = playedWith((server) => new OpenAI({ baseURL: `${server.url}/v1`, apiKey: "none", maxRetries: 0 }));

// The events of a stream, numbered without a gap.
async function collected(stream) {
  const events = [];
  for await (const one of stream) {
    assert.equal(one.sequence_number, events.length);
    events.push(one);
  }
  return events;
}
// Their types as OpenAI's documentation orders them; deltas of one kind that follow each other stand once.
const order = (events) =>
  events.map(({ type }) => type.replace(/^response\./, "")).filter((type, n, all) => !(type.endsWith(".delta") && type === all[n - 1]));

const item = (...inside) => ["output_item.added", ...inside, "output_item.done"];
const text = (kind) => item("content_part.added", `${kind}.delta`, `${kind}.done`, "content_part.done");
const call = (kind) => item(`${kind}.delta`, `${kind}.done`);

played("thoughts, a text and several calls come in the documented order, and go back as they came", async (its, client) => {
  const engine = await its.have("a");
  const tools = [
    { type: "function", name: "f", parameters: { type: "object" }, strict: false },
    { type: "custom", name: "patch" },
    { type: "namespace", name: "mcp", description: "of others", tools: [{ type: "function", name: "f", parameters: { type: "object" } }] },
  ];
  const collecting = client.responses.create({ model: "a", input: "Think.", stream: true, tools }).then(collected);
  const request = await engine.request();
  await request.begin();
  await event(request, { role: "assistant", content: "" });
  for (const reasoning_content of ["Let me ", "see."]) await event(request, { reasoning_content });
  await event(request, { content: "I ask all." });
  const calls = [
    ["f", '{"n":0}'],
    ["patch", '{"input":"a\\nb"}'],
    ["mcp__f", '{"n":2}'],
  ];
  for (const [index, [name, whole]] of calls.entries()) {
    await event(request, { tool_calls: [{ index, id: `call_${index}`, type: "function", function: { name, arguments: "" } }] });
    for (const piece of [whole.slice(0, 4), whole.slice(4)]) await event(request, { tool_calls: [{ index, function: { arguments: piece } }] });
  }
  await finish(request, "tool_calls");
  const events = await collecting;
  const fn = call("function_call_arguments");
  assert.deepEqual(order(events), [
    "created",
    "in_progress",
    ...text("reasoning_text"),
    ...text("output_text"),
    ...fn,
    ...call("custom_tool_call_input"),
    ...fn,
    "completed",
  ]);
  const { response } = events.at(-1);
  assert.deepEqual(response.output.map(({ type }) => type), ["reasoning", "message", "function_call", "custom_tool_call", "function_call"]);
  assert.deepEqual(response.output[3].input, "a\nb");
  assert.deepEqual([response.output[4].namespace, response.output[4].name], ["mcp", "f"]);
  assert.equal(response.usage.input_tokens_details.cached_tokens, 16);
  for (const { type, response: of } of events) if (of) assert.deepEqual([of.id, of.model], [response.id, "a"], type);

  const outputs = response.output.slice(2).map(({ type, call_id }) => ({ type: `${type}_output`, call_id, output: call_id }));
  const going = client.responses.create({ model: "a", input: [{ role: "user", content: "Think." }, ...response.output, ...outputs], tools });
  const next = await engine.request();
  assert.deepEqual(next.body.messages.slice(1), [
    {
      role: "assistant",
      content: "I ask all.",
      reasoning_content: "Let me see.",
      tool_calls: calls.map(([name, whole], n) => ({ id: `call_${n}`, type: "function", function: { name, arguments: whole } })),
    },
    ...calls.map((_, n) => ({ role: "tool", tool_call_id: `call_${n}`, content: `call_${n}` })),
  ]);
  await next.answer(200, { choices: [{ message: { content: "So it is." }, finish_reason: "stop" }] });
  assert.equal((await going).output_text, "So it is.");
});

played("while a model loads, its stream has begun and pings; then comes the documented order", async (its, client) => {
  const response = await client.responses.create({ model: "a", input: "x", stream: true }).asResponse();
  const engine = await its.loading("a");
  let stream = "";
  let ready = false;
  const decoder = new TextDecoder();
  for await (const bytes of response.body) {
    stream += decoder.decode(bytes, { stream: true });
    if (ready || !stream.includes(": ping\n")) continue;
    ready = true; // Once: the answer that follows comes in any number of pieces.
    engine.ready();
    const request = await engine.request();
    await request.begin();
    await event(request, { content: "hi" });
    await finish(request, "length");
  }
  assert.ok(stream.startsWith(": ping\n"));
  const events = [...stream.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data));
  assert.deepEqual(order(events), ["created", "in_progress", ...text("output_text"), "incomplete"]);
  assert.equal(events.at(-1).response.output[0].status, "incomplete");
});

played("an engine that dies in the middle is a failed response, with its id and model", async (its, client) => {
  const engine = await its.have("a");
  const asking = client.responses.create({ model: "a", input: "x", stream: true });
  const request = await engine.request();
  await request.begin();
  await event(request, { content: "hi" });
  const events = [];
  for await (const one of await asking) {
    events.push(one);
    if (one.type === "response.output_text.delta") engine.kill();
  }
  assert.deepEqual(order(events), ["created", "in_progress", "output_item.added", "content_part.added", "output_text.delta", "failed"]);
  const { response } = events.at(-1);
  assert.match(response.id, /^resp_./);
  assert.equal(response.id, events[0].response.id);
  assert.equal(response.model, "a");
  assert.equal(response.error.code, "server_error");
  assert.match(response.error.message, /ended/);
});

played("a prompt that is too long for a stream that has begun says so by its code", async (its, client) => {
  const engine = await its.have("a");
  const asking = client.responses.create({ model: "a", input: "x", stream: true });
  const request = await engine.request();
  await request.begin();
  const error = { message: "too long", type: "invalid_request_error", code: "context_length_exceeded", param: "messages" };
  await request.send(JSON.stringify({ error }));
  await request.end();
  const events = await collected(await asking);
  assert.deepEqual(order(events), ["created", "in_progress", "failed"]);
  assert.equal(events.at(-1).response.error.code, "context_length_exceeded");
});
