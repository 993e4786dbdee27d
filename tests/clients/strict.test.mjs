// What strict promises, and what is said where it isn't asked for: in the words of each API.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import Ajv from "ajv/dist/2020.js";
import { Server } from "../support/server.mjs";

let server;
before(async () => (server = await Server.start("--no-warm-spare")));
after(() => server.stop());

const messages = [{ role: "user", content: "hi" }];
const chat = (more) => ({ model: "tiny-llama", messages, max_tokens: 400, temperature: 1, ...more });
const format = (schema, strict) => ({ response_format: { type: "json_schema", json_schema: { name: "x", strict, schema } } });
const unenforced = { type: "array", uniqueItems: true, items: { type: "integer" }, maxItems: 3 };

async function ask(path, body) {
  const response = await fetch(server.url + path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  const text = await response.text();
  return { status: response.status, header: response.headers.get("x-corral-warnings"), text, body: text.startsWith("{") ? JSON.parse(text) : undefined };
}

test("a pattern never leaves its string", async () => {
  const quote = (await server.post("/tokenize", { model: "tiny-llama", content: '"' })).body.tokens.at(-1);
  for (const pattern of ["^.{20}$", "^[^#]{20}$", "\\W{4}"]) {
    const validate = new Ajv().compile({ type: "string", pattern });
    for (let seed = 0; seed < 20; ++seed) {
      const more = { ...format({ type: "string", pattern }, true), seed, logit_bias: seed % 2 ? { [quote]: 10 } : {} };
      const { status, body, text } = await ask("/v1/chat/completions", chat(more));
      assert.equal(status, 200, text);
      if (body.choices[0].finish_reason !== "stop") continue;
      assert.ok(validate(JSON.parse(body.choices[0].message.content)), body.choices[0].message.content);
    }
  }
});

test("a strict schema that can't be enforced is refused", async () => {
  const { status, body } = await ask("/v1/chat/completions", chat(format(unenforced, true)));
  assert.equal(status, 400);
  assert.equal(body.error.param, "response_format.json_schema.schema");
  assert.match(body.error.message, /"uniqueItems" at #\/uniqueItems/);
  assert.ok(body.error.message.length <= 300);
});

test("without strict it is applied, and the answer says what isn't", async () => {
  const { status, body, header } = await ask("/v1/chat/completions", chat(format(unenforced)));
  assert.equal(status, 200);
  assert.match(body.warnings[0], /"uniqueItems" at #\/uniqueItems/);
  assert.match(header, /uniqueItems/);
  const streamed = await ask("/v1/chat/completions", chat({ ...format(unenforced), stream: true }));
  assert.match(streamed.header, /uniqueItems/);
  const events = streamed.text.split("\n\n").filter((line) => line.startsWith("data: {")).map((line) => JSON.parse(line.slice(6)));
  assert.equal(events.filter((event) => event.warnings).length, 1);
  const enforced = await ask("/v1/chat/completions", chat(format({ type: "integer", minimum: 3, maximum: 7 }, true)));
  assert.equal(enforced.header, null);
  assert.equal(enforced.body.warnings, undefined);
  assert.ok([3, 4, 5, 6, 7].includes(JSON.parse(enforced.body.choices[0].message.content)));
});

test("a format without its schema is refused", async () => {
  const { status, body } = await ask("/v1/chat/completions", chat({ response_format: { type: "json_schema", json_schema: { name: "x" } } }));
  assert.equal(status, 400);
  assert.equal(body.error.param, "response_format.json_schema.schema");
});

test("what strict refuses is refused before a model is loaded", async () => {
  const loaded = async () => (await server.get("/v1/models")).body.data.filter((one) => one.status?.value === "loaded").map((one) => one.id);
  const before = await loaded();
  const tools = [{ type: "function", function: { name: "f", strict: true, parameters: { type: "object", properties: { a: unenforced } } } }];
  for (const more of [format(unenforced, true), { tools }]) {
    const { status, text } = await ask("/v1/chat/completions", { ...chat(more), model: "tiny-mamba" });
    assert.equal(status, 400, text);
    assert.deepEqual(await loaded(), before);
  }
});

test("what a call of an old message says of strict is nothing to us", async () => {
  const call = { id: "1", type: "function", function: { name: "f", arguments: "{}", strict: true, parameters: unenforced } };
  const old = [...messages, { role: "assistant", tool_calls: [call] }, { role: "tool", tool_call_id: "1", content: "ok" }];
  const { status, text } = await ask("/v1/chat/completions", { ...chat({}), max_tokens: 2, messages: old });
  assert.equal(status, 200, text);
});

test("a complex pattern costs nothing but itself", async () => {
  const nested = "(".repeat(60) + "a" + ")".repeat(60);
  const groups = await ask("/v1/chat/completions", chat(format({ type: "string", pattern: nested, maxLength: 9 }, true)));
  assert.equal(groups.status, 200, groups.text);
  const tool = (name, properties) => ({ type: "function", function: { name, parameters: { type: "object", properties } } });
  const complex = { type: "string", pattern: `^(?=.*${"(?:a|b).{9}".repeat(60)})x` };
  const names = { type: "object", patternProperties: { "^y": { type: "null" } }, propertyNames: { maxLength: 3 } };
  const values = { enum: ["xa", "b"], pattern: "^x" };
  for (const pattern of ["(".repeat(20) + "$" + "){8}".repeat(20), complex.pattern]) {
    const tools = [tool("f", { a: { ...complex, pattern } }), tool("g", { names, values })];
    const { status, text, header } = await ask("/v1/chat/completions", chat({ tools, max_tokens: 4 }));
    assert.equal(status, 200, text);
    assert.match(header, /"pattern" at #\/properties\/a\/pattern/);
  }
});

test("tools: strict, and not", async () => {
  const tools = (parameters, strict) => ({ max_tokens: 4, tools: [{ type: "web_search" }, { type: "function", function: { name: "f", strict, parameters } }] });
  const parameters = { type: "object", properties: { n: { type: "integer", not: { multipleOf: 2 } } }, required: ["n"] };
  const refused = await ask("/v1/chat/completions", chat(tools(parameters, true)));
  assert.equal(refused.status, 400, refused.text);
  assert.equal(refused.body.error.param, "tools[1].function.parameters");
  assert.match(refused.body.error.message, /"not" at #\/properties\/n\/not/);
  const taken = await ask("/v1/chat/completions", chat(tools(parameters)));
  assert.equal(taken.status, 200, taken.text);
  assert.match(taken.header, /"not"/);
  const recursive = { type: "object", properties: { children: { type: "array", items: { $ref: "#" } } }, required: ["children"] };
  for (const model of ["tiny-llama", "tiny-gpt-oss"]) assert.equal((await ask("/v1/chat/completions", { ...chat(tools(recursive, true)), model })).status, 200, model);
});

test("all other APIs", async () => {
  const text = (strict) => ({ model: "tiny-llama", input: "x", max_output_tokens: 60, text: { format: { type: "json_schema", name: "x", strict, schema: unenforced } } });
  const { status, body } = await ask("/v1/responses", text(true));
  assert.equal(status, 400);
  assert.equal(body.error.param, "text.format.schema");
  const tool = (strict) => ({ model: "tiny-llama", max_tokens: 4, messages, tools: [{ name: "g", strict, input_schema: { type: "object", properties: { a: unenforced } } }] });
  assert.equal((await ask("/v1/messages", tool(true))).status, 400);
  const soft = [
    ["/v1/responses", text(false)],
    ["/v1/messages", tool(false)],
    ["/api/chat", { model: "tiny-llama", messages, stream: false, format: unenforced, options: { num_predict: 60 } }],
    ["/completion", { model: "tiny-llama", prompt: "x", n_predict: 60, json_schema: unenforced }],
    ["/v1/completions", { model: "tiny-llama", prompt: "x", max_tokens: 60, json_schema: unenforced }],
  ];
  for (const [path, asked] of soft) {
    const answer = await ask(path, asked);
    assert.equal(answer.status, 200, `${path}: ${answer.text}`);
    assert.match(answer.header ?? "", /uniqueItems/, path);
  }
});
