// What is kept of OpenAI's Responses API, by the official client against a real server with real models: answers and
// conversations, what goes on from them, and answers in the background.
import assert from "node:assert/strict";
import { cpSync, rmSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import OpenAI from "openai";
import { Server } from "../support/server.mjs";

let server;
let ann;
let bob;
const clientOf = (of, apiKey) => new OpenAI({ baseURL: `${of.url}/v1`, apiKey, maxRetries: 0 });

before(async () => {
  server = await Server.start("--api-key", "owner", "--no-warm-spare", "--max-loaded-models", "-1");
  const key = async (name) => (await server.json("POST", "/internal/keys", { name, scopes: ["inference"] }, { authorization: "Bearer owner" })).body.key;
  ann = clientOf(server, await key("ann"));
  bob = clientOf(server, await key("bob"));
});
after(() => server.stop());

const hello = { model: "scripted-hello", input: "Say hello.", temperature: 0 };
const endless = { ...hello, model: "scripted-endless", background: true };
const failing = (asking) => asking.then(() => assert.fail("it was answered"), (error) => error); // prettier-ignore
async function refused(asking, type, code, param) {
  const error = await failing(asking);
  assert.ok(error instanceof type, String(error));
  assert.equal(error.code, code);
  if (param) assert.equal(error.param, param);
}
// Polls without a pause: each look is a request of its own.
async function until(client, id, wanted) {
  for (;;) {
    const answer = await client.responses.retrieve(id);
    if (wanted.includes(answer.status)) return answer;
  }
}

test("an answer is kept, whole and streamed, and comes back as it was", async () => {
  const whole = await ann.responses.create({ ...hello, metadata: { a: "b" } });
  assert.equal(whole.store, true);
  assert.deepEqual(await ann.responses.retrieve(whole.id), { ...whole });
  const streamed = await ann.responses.stream(hello).finalResponse();
  const again = await ann.responses.retrieve(streamed.id);
  assert.equal(again.output_text, streamed.output_text);
  assert.deepEqual(again.output, whole.output.map((item, n) => ({ ...item, id: again.output[n].id }))); // prettier-ignore
});

test("what isn't to be kept isn't, and what is deleted is gone", async () => {
  const unkept = await ann.responses.create({ ...hello, store: false });
  assert.equal(unkept.store, false);
  await refused(ann.responses.retrieve(unkept.id), OpenAI.NotFoundError, "not_found");
  const kept = await ann.responses.create(hello);
  await ann.responses.delete(kept.id);
  await refused(ann.responses.retrieve(kept.id), OpenAI.NotFoundError, "not_found");
  await refused(ann.responses.delete(kept.id), OpenAI.NotFoundError, "not_found");
});

test("a key finds its own alone", async () => {
  const mine = await ann.responses.create(hello);
  const talk = await ann.conversations.create({});
  for (const ask of [
    () => bob.responses.retrieve(mine.id),
    () => bob.responses.delete(mine.id),
    () => bob.responses.cancel(mine.id),
    () => bob.responses.inputItems.list(mine.id),
    () => bob.conversations.retrieve(talk.id),
    () => bob.conversations.items.list(talk.id),
    () => bob.conversations.delete(talk.id),
    () => bob.responses.create({ ...hello, conversation: talk.id }),
  ])
    await refused(ask(), OpenAI.NotFoundError, "not_found");
  await refused(bob.responses.create({ ...hello, previous_response_id: mine.id }), OpenAI.BadRequestError, "previous_response_not_found", "previous_response_id");
  for (const id of ["..%2F", "' OR 1=1 --", "x".repeat(2000)]) await refused(ann.responses.retrieve(id), OpenAI.NotFoundError, "not_found");
  await refused(ann.responses.create({ ...hello, previous_response_id: "x".repeat(513) }), OpenAI.BadRequestError, "invalid_value", "previous_response_id");
});

test("a conversation goes on from an answer: its prompt is that of the whole conversation", async () => {
  const first = await ann.responses.create({ ...hello, instructions: "Be brief." });
  const second = await ann.responses.create({ ...hello, input: "And again.", previous_response_id: first.id });
  assert.equal(second.previous_response_id, first.id);
  const whole = { model: hello.model, input: [{ role: "user", content: hello.input }, ...first.output, { role: "user", content: "And again." }] };
  const { input_tokens } = await ann.responses.inputTokens.count(whole);
  assert.equal(second.usage.input_tokens, input_tokens, "without the instructions of the first one");
  const counted = await ann.responses.inputTokens.count({ model: hello.model, input: "And again.", previous_response_id: first.id });
  assert.equal(counted.input_tokens, input_tokens);
  // Some clients send what they had from here as references.
  const referring = [{ role: "user", content: hello.input }, { type: "item_reference", id: first.output[0].id }, { role: "user", content: "And again." }]; // prettier-ignore
  const third = await ann.responses.create({ ...hello, input: referring });
  assert.equal(third.usage.input_tokens, input_tokens);
  await ann.responses.delete(first.id);
  const error = await failing(ann.responses.create({ ...hello, previous_response_id: second.id }));
  assert.equal(error.code, "previous_response_not_found");
  assert.match(error.message, /is no longer stored/);
});

test("the result of a tool that was called in an answer before is understood", async () => {
  const tools = [{ type: "function", name: "get_weather", parameters: { type: "object", properties: { city: { type: "string" } } }, strict: false }];
  const first = await ann.responses.create({ ...hello, model: "scripted-tool-call", tools, max_output_tokens: 128 });
  const call = first.output.find((item) => item.type === "function_call");
  const input = [{ type: "function_call_output", call_id: call.call_id, output: "Sunny." }];
  const second = await ann.responses.create({ ...hello, input, tools, previous_response_id: first.id });
  assert.match(second.output_text, /^Hello!/);
  const nothing = { ...hello, input: [], tools, previous_response_id: first.id };
  await refused(ann.responses.create(nothing), OpenAI.BadRequestError, "invalid_value", "input");
});

test("what came with a request is listed in pages", async () => {
  const input = Array.from({ length: 5 }, (_, n) => ({ role: n % 2 ? "assistant" : "user", content: `text ${n}` })); // prettier-ignore
  const { id } = await ann.responses.create({ ...hello, input });
  const texts = [];
  for await (const item of ann.responses.inputItems.list(id, { limit: 2, order: "asc" })) texts.push(item.content[0].text);
  assert.deepEqual(texts, input.map(({ content }) => content)); // prettier-ignore
  const newest = await ann.responses.inputItems.list(id, { limit: 1 });
  assert.equal(newest.data[0].content[0].text, "text 4");
  assert.equal(newest.has_more, true);
  await refused(ann.responses.inputItems.list(id, { limit: 1000 }), OpenAI.BadRequestError, "invalid_value", "limit");
});

test("a conversation is kept, gone on with, listed, changed and deleted", async () => {
  const talk = await ann.conversations.create({ metadata: { topic: "names" }, items: [{ type: "message", role: "user", content: "I am Ann." }] });
  assert.equal((await ann.conversations.retrieve(talk.id)).metadata.topic, "names");
  const answer = await ann.responses.create({ ...hello, conversation: talk.id });
  assert.equal(answer.conversation.id, talk.id);
  const streamed = await ann.responses.stream({ ...hello, input: "Again.", conversation: { id: talk.id } }).finalResponse();
  const items = [];
  for await (const item of ann.conversations.items.list(talk.id, { limit: 2, order: "asc" })) items.push(item);
  assert.deepEqual(items.map(({ role, content }) => [role, content[0].text]), [["user", "I am Ann."], ["user", "Say hello."], ["assistant", answer.output_text], ["user", "Again."], ["assistant", streamed.output_text]]); // prettier-ignore
  const { input_tokens } = await ann.responses.inputTokens.count({ model: hello.model, input: [...items.slice(0, 3), { role: "user", content: "Again." }] });
  assert.equal(streamed.usage.input_tokens, input_tokens);
  const added = await ann.conversations.items.create(talk.id, { items: [{ type: "message", role: "user", content: "Wait." }] });
  const one = await ann.conversations.items.retrieve(added.data[0].id, { conversation_id: talk.id });
  assert.equal(one.content[0].text, "Wait.");
  assert.equal((await ann.conversations.items.delete(one.id, { conversation_id: talk.id })).id, talk.id);
  await refused(ann.conversations.items.retrieve(one.id, { conversation_id: talk.id }), OpenAI.NotFoundError, "not_found");
  assert.equal((await ann.conversations.update(talk.id, { metadata: { topic: "none" } })).metadata.topic, "none");
  assert.equal((await ann.conversations.delete(talk.id)).deleted, true);
  await refused(ann.conversations.retrieve(talk.id), OpenAI.NotFoundError, "not_found");
  await refused(ann.conversations.create({ items: [{ role: "robot", content: "x" }] }), OpenAI.BadRequestError, "invalid_value", "items[0].role");
});

test("what was kept needs no input, but must say something", async () => {
  const talk = await ann.conversations.create({ items: [{ type: "message", role: "user", content: "Say hello." }] });
  const { model } = hello;
  const answer = await ann.responses.create({ model, temperature: 0, conversation: talk.id });
  assert.match(answer.output_text, /^Hello!/);
  const items = [];
  for await (const item of ann.conversations.items.list(talk.id, { order: "asc" })) items.push(item.role);
  assert.deepEqual(items, ["user", "assistant"]);
  const on = await ann.responses.create({ model, previous_response_id: answer.id, max_output_tokens: 4 });
  assert.equal(on.previous_response_id, answer.id);
  const empty = await ann.conversations.create({});
  await refused(ann.responses.create({ model, conversation: empty.id }), OpenAI.BadRequestError, "invalid_value", "input");
  await refused(ann.responses.create({ model }), OpenAI.BadRequestError, "missing_required_parameter", "input");
});

test("an answer in the background is made and found, though nobody waited for it", async () => {
  const queued = await ann.responses.create({ ...hello, background: true });
  assert.ok(["queued", "in_progress"].includes(queued.status), queued.status);
  const done = await until(ann, queued.id, ["completed", "failed"]);
  assert.match(done.output_text, /^Hello!/);
  assert.equal(done.background, true);
  assert.equal((await ann.responses.cancel(queued.id)).status, "completed");
  const next = await ann.responses.create({ ...hello, previous_response_id: queued.id });
  assert.match(next.output_text, /^Hello!/);
  await refused(ann.responses.create({ ...hello, background: true, store: false }), OpenAI.BadRequestError, "invalid_value", "background");
  await refused(ann.responses.create({ ...endless, model: "nobody" }), OpenAI.NotFoundError, "model_not_found", "model");
});

test("an answer in the background is cancelled, and another one deleted", async () => {
  const one = await ann.responses.create(endless);
  await until(ann, one.id, ["in_progress"]);
  await refused(bob.responses.cancel(one.id), OpenAI.NotFoundError, "not_found");
  assert.equal((await ann.responses.cancel(one.id)).status, "cancelled");
  assert.equal((await ann.responses.retrieve(one.id)).status, "cancelled");
  const two = await ann.responses.create(endless);
  await ann.responses.delete(two.id);
  await refused(ann.responses.retrieve(two.id), OpenAI.NotFoundError, "not_found");
  const whole = await ann.responses.create(hello);
  await refused(ann.responses.cancel(whole.id), OpenAI.BadRequestError, "response_not_in_background");
});

test("a stream in the background goes on when its client leaves, and can be gone on with", async () => {
  const stream = await ann.responses.create({ ...hello, background: true, stream: true });
  const seen = [];
  for await (const event of stream) {
    seen.push(event);
    if (event.type === "response.output_text.delta") break;
  }
  const { id } = seen[0].response;
  assert.deepEqual(seen.slice(0, 3).map(({ type, response }) => [type, response.status]), [["response.created", "queued"], ["response.queued", "queued"], ["response.in_progress", "in_progress"]]); // prettier-ignore
  const last = seen.at(-1).sequence_number;
  const rest = [];
  for await (const event of await ann.responses.retrieve(id, { stream: true, starting_after: last })) rest.push(event);
  assert.deepEqual([...seen, ...rest].map(({ sequence_number }) => sequence_number), Array.from({ length: seen.length + rest.length }, (_, n) => n)); // prettier-ignore
  assert.equal(rest.at(-1).type, "response.completed");
  const told = [...seen, ...rest].filter(({ type }) => type === "response.output_text.delta");
  assert.equal(told.map(({ delta }) => delta).join(""), rest.at(-1).response.output_text ?? rest.at(-1).response.output[0].content[0].text); // prettier-ignore
  const replayed = await ann.responses.stream({ response_id: id }).finalResponse();
  assert.equal(replayed.id, id);
  assert.match(replayed.output_text, /^Hello!/);
  const unstreamed = await ann.responses.create(hello);
  await refused(ann.responses.retrieve(unstreamed.id, { stream: true }), OpenAI.BadRequestError, "response_events_gone", "stream");
});

test("a key has no more than so many in the background", async () => {
  const running = [];
  for (let n = 0; n < 16; ++n) running.push(await bob.responses.create(endless));
  const error = await failing(bob.responses.create(endless));
  assert.ok(error instanceof OpenAI.RateLimitError, String(error));
  assert.equal(error.headers.get("retry-after"), "10");
  await ann.responses.create({ ...hello, background: true });
  for (const { id } of running) assert.equal((await bob.responses.cancel(id)).status, "cancelled");
  await until(bob, running[0].id, ["cancelled"]);
});

test("log probabilities stand beside the text", async () => {
  const request = { ...hello, max_output_tokens: 4, top_logprobs: 2, include: ["message.output_text.logprobs"] };
  const whole = await ann.responses.create(request);
  const { text, logprobs } = whole.output[0].content[0];
  assert.equal(logprobs.map(({ token }) => token).join(""), text);
  for (const { logprob, top_logprobs } of logprobs) {
    assert.ok(logprob <= 0);
    assert.equal(top_logprobs.length, 2);
  }
  const streamed = await ann.responses.stream(request).finalResponse();
  assert.deepEqual(streamed.output[0].content[0].logprobs.map(({ token }) => token), logprobs.map(({ token }) => token)); // prettier-ignore
  assert.equal(whole.top_logprobs, 2);
});

test("answers outlive the server, and what it was making then was interrupted", async () => {
  const first = await Server.start("--no-warm-spare");
  const client = clientOf(first, "none");
  const kept = await client.responses.create(hello);
  const talk = await client.conversations.create({ metadata: { a: "b" } });
  const running = await client.responses.create(endless);
  await until(client, running.id, ["in_progress"]);
  first.child.kill("SIGKILL");
  await first.ended;
  const prepare = (state) => {
    for (const name of ["kept.sqlite", "kept.sqlite-wal"]) cpSync(join(first.state, name), join(state, name));
  };
  const second = await Server.launch({ prepare }, "--no-warm-spare");
  rmSync(first.state, { recursive: true, force: true });
  const later = clientOf(second, "none");
  assert.deepEqual(await later.responses.retrieve(kept.id), { ...kept });
  assert.equal((await later.conversations.retrieve(talk.id)).metadata.a, "b");
  const cut = await later.responses.retrieve(running.id);
  assert.deepEqual([cut.status, cut.incomplete_details.reason], ["incomplete", "interrupted"]);
  const next = await later.responses.create({ ...hello, previous_response_id: kept.id });
  assert.match(next.output_text, /^Hello!/);
  await second.stop();
});

test("the end of the server waits for no answer that has no end", async () => {
  const own = await Server.start("--no-warm-spare", "--drain-timeout", "0s");
  const client = clientOf(own, "none");
  const running = await client.responses.create(endless);
  await until(client, running.id, ["in_progress"]);
  await own.stop();
});

test("a server that is told to keep nothing keeps nothing", async () => {
  const own = await Server.start("--no-warm-spare", "--no-store-responses");
  const client = clientOf(own, "none");
  const answer = await client.responses.create({ ...hello, store: true });
  assert.equal(answer.store, false);
  await refused(client.responses.retrieve(answer.id), OpenAI.NotFoundError, "not_found");
  await refused(client.responses.create({ ...hello, previous_response_id: answer.id }), OpenAI.BadRequestError, "nothing_kept", "previous_response_id");
  await refused(client.conversations.create({}), OpenAI.BadRequestError, "nothing_kept");
  await own.stop();
});

test("nothing of all this is left running", async () => {
  const running = async () => (await server.json("GET", "/v1/requests", undefined, { authorization: "Bearer owner" })).body.requests.length;
  while ((await running()) > 0);
});
