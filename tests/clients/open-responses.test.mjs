// The public suite of the Open Responses specification, written anew: the same requests by HTTP and by WebSocket, and
// its schema of answers, items and events. Pictures are not among them.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Server } from "../support/server.mjs";
import { WebSocketClient } from "../support/web-socket.mjs";

let server;
before(async () => {
  server = await Server.start("--api-key", "owner");
});
after(() => server.stop());

const model = "scripted-hello";
const authorization = "Bearer owner";
const user = (content) => ({ type: "message", role: "user", content });
const assistant = (content, more = {}) => ({ type: "message", role: "assistant", content, ...more });

// ---- the schema: each member is required, and its value passes the check

const text = (value) => typeof value === "string";
const whole = (value) => Number.isInteger(value);
const number = (value) => typeof value === "number";
const flag = (value) => typeof value === "boolean";
const anything = (value) => value !== undefined;
const one = (...values) => (value) => values.includes(value); // prettier-ignore
const orNull = (check) => (value) => value === null || check(value); // prettier-ignore
const either = (...checks) => (value) => checks.some((check) => check(value)); // prettier-ignore
const list = (check) => (value) => Array.isArray(value) && value.every(check); // prettier-ignore
const object = (members) => (value) => value !== null && typeof value === "object" && Object.entries(members).every(([name, check]) => check(value[name])); // prettier-ignore

const part = either(
  object({ type: one("input_text", "text", "summary_text", "reasoning_text"), text }),
  object({ type: one("output_text"), text, annotations: list(anything) }),
  object({ type: one("refusal"), refusal: text }),
);
const item = either(
  object({ type: one("message"), id: text, status: text, role: text, content: list(part) }),
  object({ type: one("function_call"), id: text, call_id: text, name: text, arguments: text, status: text }),
  object({ type: one("reasoning"), id: text, summary: list(part) }),
  object({ type: one("compaction"), id: text, encrypted_content: text }),
);
const usage = object({
  input_tokens: whole,
  output_tokens: whole,
  total_tokens: whole,
  input_tokens_details: object({ cached_tokens: whole }),
  output_tokens_details: object({ reasoning_tokens: whole }),
});
const kResponse = {
  id: text,
  object: one("response"),
  created_at: whole,
  completed_at: orNull(whole),
  status: text,
  incomplete_details: orNull(object({ reason: text })),
  model: text,
  previous_response_id: orNull(text),
  instructions: orNull(text),
  output: list(item),
  error: orNull(object({ code: text, message: text })),
  tools: list(object({ type: one("function"), name: text, description: orNull(text), parameters: orNull(object({})), strict: orNull(flag) })),
  tool_choice: either(one("auto", "none", "required"), object({ type: text })),
  truncation: one("auto", "disabled"),
  parallel_tool_calls: flag,
  text: object({ format: object({ type: one("text", "json_object", "json_schema") }) }),
  top_p: number,
  presence_penalty: number,
  frequency_penalty: number,
  top_logprobs: whole,
  temperature: number,
  reasoning: orNull(object({ effort: orNull(text), summary: orNull(text) })),
  usage: orNull(usage),
  max_output_tokens: orNull(whole),
  max_tool_calls: orNull(whole),
  store: flag,
  background: flag,
  service_tier: text,
  metadata: anything,
  safety_identifier: orNull(text),
  prompt_cache_key: orNull(text),
};
const kCompaction = { id: text, object: one("response.compaction"), created_at: whole, output: list(item), usage };

// What is wrong with a value, by name.
function faults(members, value) {
  return Object.entries(members).filter(([name, check]) => !check(value?.[name])).map(([name]) => `${name}: ${JSON.stringify(value?.[name])}`); // prettier-ignore
}

const response = { response: (value) => faults(kResponse, value).length === 0 };
const place = { output_index: whole };
const inItem = { ...place, item_id: text, content_index: whole };
const kEvents = {
  "response.created": response,
  "response.in_progress": response,
  "response.completed": response,
  "response.failed": response,
  "response.incomplete": response,
  "response.output_item.added": { ...place, item },
  "response.output_item.done": { ...place, item },
  "response.content_part.added": { ...inItem, part },
  "response.content_part.done": { ...inItem, part },
  "response.output_text.delta": { ...inItem, delta: text },
  "response.output_text.done": { ...inItem, text },
  "response.function_call_arguments.delta": { ...place, item_id: text, delta: text },
  "response.function_call_arguments.done": { ...place, item_id: text, arguments: text },
};
const kEnds = ["response.completed", "response.failed", "response.incomplete", "error"];

function checkEvent(event) {
  if (event.type === "error") return assert.deepEqual(faults({ status: whole, error: object({ code: text, message: text }) }, event), []);
  assert.ok(event.type in kEvents, `an event that nobody knows: ${event.type}`);
  assert.deepEqual(faults({ sequence_number: whole, ...kEvents[event.type] }, event), [], event.type);
}
function checkResponse(answer, status = "completed") {
  assert.deepEqual(faults(kResponse, answer), []);
  assert.equal(answer.status, status);
  assert.equal(answer.completed_at !== null, status === "completed");
  assert.ok(answer.output.length > 0);
  return answer;
}

// ---- requests

const ask = (path, body) => server.json("POST", path, body, { authorization });
async function responded(body) {
  const { status, body: answer } = await ask("/v1/responses", body);
  assert.equal(status, 200, JSON.stringify(answer));
  return checkResponse(answer);
}
async function compacted(body) {
  const { status, body: answer } = await ask("/v1/responses/compact", body);
  assert.equal(status, 200, JSON.stringify(answer));
  assert.deepEqual(faults(kCompaction, answer), []);
  return answer;
}
const open = () => WebSocketClient.open(`${server.url}/v1/responses`, { authorization, "content-type": "application/json" });
// All events of a message, checked.
async function turn(socket, body) {
  socket.send({ type: "response.create", model, ...body });
  for (const events = []; ; ) {
    const event = await socket.next();
    assert.ok(event, "the connection ended in the middle");
    checkEvent(event);
    events.push(event);
    if (kEnds.includes(event.type)) return events;
  }
}
// Opens a connection, sends the messages in turn (each may depend on the last responses), and returns all last events.
async function session(...messages) {
  const socket = await open();
  const ends = [];
  for (const message of messages) ends.push((await turn(socket, typeof message === "function" ? message(ends) : message)).at(-1));
  assert.equal(await socket.close(), 1000);
  return ends;
}
const idOf = (end) => checkResponse(end.response).id;

// ---- by HTTP

test("a plain message", () => responded({ model, input: [user("Say hello in exactly 3 words.")] }));

test("phases of an assistant's messages are accepted", () =>
  responded({ model, input: [assistant("I will look.", { phase: "commentary" }), assistant("Four.", { phase: "final_answer" }), user("Which number?")] }));

test("a stream has known events, and the whole response at its end", async () => {
  const body = JSON.stringify({ model, stream: true, input: [user("Count from 1 to 5.")] });
  const answer = await server.fetch("/v1/responses", { method: "POST", headers: { authorization, "content-type": "application/json" }, body });
  assert.equal(answer.status, 200);
  const lines = (await answer.text()).split("\n").filter((line) => line.startsWith("data: "));
  const events = lines.map((line) => JSON.parse(line.slice(6)));
  events.forEach(checkEvent);
  assert.equal(events.at(-1).type, "response.completed");
  checkResponse(events.at(-1).response);
});

test("a system message within the input", () => responded({ model, input: [{ type: "message", role: "system", content: "You are a pirate." }, user("Say hello.")] }));

test("a call of a tool, which is repeated with all of its members", async () => {
  const tool = { type: "function", name: "get_weather", description: "The weather of a city", parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"], additionalProperties: false } };
  const answer = await responded({ model: "scripted-tool-call", input: [user("The weather?")], temperature: 0, max_output_tokens: 128, tools: [tool] });
  assert.ok(answer.output.some(({ type }) => type === "function_call"));
  assert.deepEqual(answer.tools, [{ ...tool, strict: false }]);
});

test("a conversation of several turns", () => responded({ model, input: [user("My name is Alice."), assistant("Hello Alice!"), user("What is my name?")] }));

test("options that the request has are in the answer", async () => {
  const answer = await responded({ model, input: "x", presence_penalty: 0.5, frequency_penalty: -0.5, reasoning: { effort: "low" }, text: { verbosity: "low" } });
  assert.equal(answer.presence_penalty, 0.5);
  assert.equal(answer.frequency_penalty, -0.5);
  assert.deepEqual(answer.reasoning, { effort: "low", summary: null });
  assert.deepEqual(answer.text, { verbosity: "low", format: { type: "text" } });
});

test("a compacted conversation, which later requests continue", async () => {
  const input = [user("We launch on Tuesday."), assistant("Understood: Tuesday.")];
  const { output } = await compacted({ model, prompt_cache_key: "a", input });
  assert.deepEqual(output.map(({ type }) => type), ["message", "compaction"]);
  assert.equal(output[0].content[0].text, "We launch on Tuesday.");
  await responded({ model, input: [...output, user("When?")] });
});

test("a compaction needs a model", async () => {
  const { status, body } = await ask("/v1/responses/compact", { input: [user("Compact this.")] });
  assert.equal(status, 400);
  assert.equal(body.error.param, "model");
});

test("an output without its call is no continuation", async () => {
  const { id } = await responded({ model, input: "Hello" });
  const { status, body } = await ask("/v1/responses", { model, previous_response_id: id, input: [{ type: "function_call_output", call_id: "c", output: "ok" }] });
  assert.equal(status, 400);
  assert.equal(body.error.param, "input[0].call_id");
});

// ---- by WebSocket

test("WebSocket: a response comes as events", async () => {
  const [end] = await session({ input: [user("Count from 1 to 3.")] });
  assert.equal(end.type, "response.completed");
  checkResponse(end.response);
});

test("WebSocket: one response after the other", async () => {
  const ends = await session({ store: false, input: "first" }, { store: false, input: "second" });
  assert.notEqual(idOf(ends[0]), idOf(ends[1]));
});

test("WebSocket: messages that are sent at once are answered in turn", async () => {
  const socket = await open();
  for (const input of ["a", "b", "c"]) socket.send({ type: "response.create", model, input });
  const order = [];
  while (order.length < 3) {
    const event = await socket.next();
    checkEvent(event);
    if (event.type === "response.completed") order.push(event.response.id);
    else if (event.response) assert.ok(!order.includes(event.response.id));
  }
  await socket.close();
});

test("WebSocket: what isn't stored is continued in the same connection", async () => {
  const ends = await session({ store: false, input: "The word is ember." }, ([first]) => ({ store: false, previous_response_id: idOf(first), input: "Which word?" }));
  assert.equal(checkResponse(ends[1].response).previous_response_id, idOf(ends[0]));
  assert.ok(ends[1].response.usage.input_tokens > ends[0].response.usage.input_tokens);
});

test("WebSocket: another connection doesn't know it, and can begin anew", async () => {
  const [first] = await session({ store: false, input: "The word is ember." });
  const ends = await session({ store: false, previous_response_id: idOf(first), input: "Which?" }, { store: false, input: [user("Begin anew.")] });
  assert.equal(ends[0].error.code, "previous_response_not_found");
  checkResponse(ends[1].response);
});

test("WebSocket: an unknown response can't be continued", async () => {
  const [end] = await session({ store: false, previous_response_id: "resp_missing", input: "x" });
  assert.equal(end.type, "error");
  assert.equal(end.error.code, "previous_response_not_found");
  assert.equal(end.status, 400);
});

test("WebSocket: a continuation that fails ends what it continued", async () => {
  const ends = await session(
    { store: false, input: "The word is ember." },
    ([first]) => ({ store: false, previous_response_id: idOf(first), input: [{ type: "function_call_output", call_id: "missing", output: "x" }] }),
    ([first]) => ({ store: false, previous_response_id: first.response.id, input: "And now?" }),
  );
  assert.equal(ends[1].error.param, "input[0].call_id");
  assert.equal(ends[2].error.code, "previous_response_not_found");
});

test("WebSocket: a compacted conversation begins a new one", async () => {
  const { output } = await compacted({ model, input: [user("The word is slate."), assistant("OK."), user("Compress this.")] });
  const [end] = await session({ store: false, tools: [], input: [...output, user("Go on.")] });
  assert.equal(checkResponse(end.response).previous_response_id, null);
});

// ---- what HTTP has, the WebSocket has, too

test("WebSocket: the same rights", async () => {
  const refused = await WebSocketClient.open(`${server.url}/v1/responses`).catch((error) => error);
  assert.equal(refused.status, 401);
  const page = await WebSocketClient.open(`${server.url}/v1/responses`, { authorization, origin: "http://elsewhere.example" }).catch((error) => error);
  assert.equal(page.status, 403);
  const { body: key } = await server.json("POST", "/internal/keys", { name: "ann", scopes: ["inference"] }, { authorization });
  const socket = await WebSocketClient.open(`${server.url}/v1/responses`, { authorization: `Bearer ${key.key}` });
  checkResponse((await turn(socket, { input: "x" })).at(-1).response);
  const gone = await server.json("DELETE", `/internal/keys/${key.id}`, undefined, { authorization });
  assert.equal(gone.status, 200);
  assert.equal((await turn(socket, { input: "x" })).at(-1).status, 401);
  await socket.close();
});

test("WebSocket: pings are answered, wrong messages get an error, and it goes on", async () => {
  const socket = await open();
  socket.ping("there?");
  assert.equal(await socket.pong(), "there?");
  for (const [message, param] of [["no JSON", null], ["[]", null], ["{}", "type"], [{ type: "session.update" }, "type"], [{ type: "response.create", model, input: 7 }, "input"]]) {
    socket.send(message);
    const event = await socket.next();
    assert.equal(event.type, "error");
    assert.equal(event.status, 400);
    assert.equal(event.error.param ?? null, param);
  }
  checkResponse((await turn(socket, { input: "x" })).at(-1).response);
  await socket.close();
});

test("WebSocket: who leaves ends the response", async () => {
  for (const leave of [(socket) => socket.leave(), (socket) => socket.close()]) {
    const socket = await open();
    socket.send({ type: "response.create", model: "scripted-endless", input: "Go.", store: false });
    for (let event; event?.type !== "response.output_text.delta"; ) event = await socket.next();
    await leave(socket);
    // Each look is a request of its own.
    for (;;) {
      const { body } = await server.json("GET", "/v1/requests", undefined, { authorization });
      if (body.requests.every(({ model: of }) => of !== "scripted-endless")) break;
    }
  }
});

test("other requests to the path learn of the protocol", async () => {
  for (const method of ["GET", "HEAD"]) {
    const answer = await server.fetch("/v1/responses", { method, headers: { authorization } });
    assert.equal(answer.status, 426);
    assert.equal(answer.headers.get("upgrade"), "websocket");
    await answer.text();
  }
});
