// One request to a node of a mesh, and how it ended: what the model says, or one error. Anything else throws: an answer of
// another model, an error without a code, two errors, a stream that just stops.
import assert from "node:assert/strict";

const kTokens = 24;
let asked = 0;
const spoken = ({ content, tool_calls }) =>
  (content ?? "") + (tool_calls ?? []).map((call) => (call.function.name ?? "") + (call.function.arguments ?? "")).join("");

// {error, message, status} of an error that names its cause.
export function errorOf(error, status) {
  const clear = error?.code && error.code !== "internal_error" && error.message?.includes(" ");
  assert.ok(clear, `a clear error: ${status} ${JSON.stringify(error)}`);
  return { error: error.code, message: error.message, status };
}

// {said} or {error, message, status}; `status` is that of the answer's head. Each is a request of its own (`user`): one that
// was under way when two engines were killed is kept off for a while, and so are its equals.
export async function ask(server, model, stream, content = "Say hello.") {
  const request = { model, messages: [{ role: "user", content }], temperature: 0, max_tokens: kTokens, stream, user: `${++asked}` };
  if (!stream) {
    const { status, body } = await server.post("/v1/chat/completions", request);
    if (status !== 200) return errorOf(body.error, status);
    assert.equal(body.model, model);
    return { said: spoken(body.choices[0].message) };
  }
  const response = await server.fetch("/v1/chat/completions", { method: "POST", body: JSON.stringify(request) });
  const text = await server.watched(response.text());
  if (response.status !== 200) return errorOf(JSON.parse(text).error, response.status);
  const events = text.split("\n\n").filter((event) => event.startsWith("data: ")).map((event) => event.slice(6)); // prettier-ignore
  const done = events.at(-1) === "[DONE]";
  const values = (done ? events.slice(0, -1) : events).map((event) => JSON.parse(event));
  const errors = values.filter((value) => value.error);
  if (!done || errors.length > 0) {
    assert.equal(errors.length, 1, `one framed error: ${text.slice(-500)}`);
    assert.ok(!done && values.at(-1) === errors[0], `and nothing behind it: ${text.slice(-500)}`);
    return errorOf(errors[0].error, 200);
  }
  for (const value of values) assert.equal(value.model, model);
  return { said: values.flatMap((value) => value.choices).map((choice) => spoken(choice.delta)).join("") }; // prettier-ignore
}

// The same of any model: what an embedding model says are its numbers.
export async function answer(server, model, stream) {
  if (model !== "tiny-embed") return ask(server, model, stream);
  const { status, body } = await server.post("/v1/embeddings", { model, input: "a horse" });
  if (status !== 200) return errorOf(body.error, status);
  return { said: body.data[0].embedding.map((value) => value.toFixed(3)).join(" ") };
}

// A long answer whose reader leaves after `ms`: {left}, or how it ended before.
export async function abandon(server, model, ms) {
  const signal = AbortSignal.timeout(ms);
  const messages = [{ role: "user", content: "Count." }];
  const request = { model, messages, temperature: 0, max_tokens: 2000, ignore_eos: true, stream: true, user: `${++asked}` };
  try {
    const response = await server.fetch("/v1/chat/completions", { method: "POST", body: JSON.stringify(request), signal });
    const text = await server.watched(response.text());
    if (response.status !== 200) return errorOf(JSON.parse(text).error, response.status);
    const last = text.trimEnd().split("\n\n").at(-1).replace(/^data: /, "");
    return last === "[DONE]" ? { left: true } : errorOf(JSON.parse(last).error, 200);
  } catch (error) {
    if (error.name === "TimeoutError") return { left: true };
    throw error;
  }
}
