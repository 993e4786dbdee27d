// Bodies that are meant to cost much: each gets a clean answer, nothing is evicted for it, and a good client beside it is
// answered. What a body says by itself is refused by the router; what needs the model, by its process.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { Server } from "../support/server.mjs";

const model = "tiny-llama";
const chat = "/v1/chat/completions";
const completion = "/v1/completion";
const messages = [{ role: "user", content: "hi" }];

let server;
let resident;
before(async () => {
  server = await Server.start();
  assert.equal((await server.chat(model, "hi")).status, 200);
  resident = (await server.loaded())[0].pid;
});
after(() => server.stop());

const many = (count, make) => Array.from({ length: count }, (_, i) => make(i));
const ask = (more) => ({ model, messages, max_tokens: 8, ...more });
const tell = (more) => ({ model, prompt: "hi", n_predict: 8, ...more });
const tool = (i, parameters = { type: "object" }) => ({ type: "function", function: { name: `f${i}`, parameters } });
const nested = (depth, inner, wrap) => many(depth, () => 0).reduce(wrap, inner);
const properties = (count, name = (i) => `p${i}`, value = { type: "string" }) =>
  Object.fromEntries(many(count, (i) => [name(i), value]));
const lazy = (grammar, ...triggers) => ({ grammar, grammar_lazy: true, grammar_triggers: triggers });
const doubling = ["root ::= r0", ...many(60, (i) => `r${i} ::= r${i + 1} "a" | r${i + 1} "b"`), 'r60 ::= "c"'].join("\n");
const deepObject = (depth) => nested(depth, { type: "null" }, (inner) => ({ type: "object", properties: { a: inner } }));

// Refused: path, body, param.
const refused = {
  "10,000 tools": [chat, ask({ tools: many(10_000, tool) }), "tools"],
  "a MiB of tools": [chat, ask({ tools: many(400, (i) => tool(i, { type: "object", properties: properties(100) })) }), "tools"],
  "a function's name of 100 KiB": [chat, ask({ tools: [{ type: "function", function: { name: "%".repeat(100_000) } }] }), "tools[0].function.name"],
  "20,000 messages": [chat, ask({ messages: many(20_000, () => messages[0]) }), "messages"],
  "a message of 8 MiB": [chat, ask({ messages: [{ role: "user", content: "word ".repeat(1_600_000) }] }), "messages"],
  "a message of 8 MiB in one word": [chat, ask({ messages: [{ role: "user", content: "x".repeat(8 << 20) }] }), "messages"],
  "a message of 300 KiB": [chat, ask({ messages: [{ role: "user", content: "a b ".repeat(75_000) }] }), "messages"],
  "2,000 parts": [chat, ask({ messages: [{ role: "user", content: many(2000, () => ({ type: "text", text: "x" })) }] }), "messages[0].content"],
  "1,000 calls": [chat, ask({ messages: [{ role: "assistant", tool_calls: many(1000, () => ({ type: "function", function: { name: "f", arguments: "{}" } })) }, messages[0]] }), "messages[0].tool_calls"],
  "a role of 1 MiB": [chat, ask({ messages: [{ role: "r".repeat(1 << 20), content: "x" }] }), "messages[0].role"],
  "a prompt of 8 MiB": ["/v1/completions", tell({ prompt: "word ".repeat(1_600_000) }), "prompt"],
  "a prompt of a million tokens": [completion, tell({ prompt: many(1_000_000, () => 1) }), "prompt"],
  "2,000 prompts": [completion, tell({ prompt: many(2000, () => "x") }), "prompt"],
  "a schema of 2,000 properties": [chat, ask({ json_schema: { type: "object", properties: properties(2000) } }), "json_schema"],
  "200 properties of a tool that may be left out": [chat, ask({ tools: [tool(0, { type: "object", properties: properties(200) })] }), "tools[0].function.parameters"],
  "600 properties in a format": [chat, ask({ response_format: { type: "json_schema", json_schema: { schema: { type: "object", properties: properties(600) } } } }), "response_format.json_schema.schema"],
  "names of 100 KiB": [chat, ask({ json_schema: { type: "object", properties: { ["%".repeat(100_000)]: { type: "null" } }, required: ["%".repeat(100_000)] } }), "json_schema"],
  "a schema 100 deep": [chat, ask({ json_schema: deepObject(100) }), "json_schema"],
  "lists of types that double": [chat, ask({ json_schema: nested(30, { type: "null" }, (items) => ({ type: ["array", "array"], items })) }), "json_schema"],
  "10,000 choices": [chat, ask({ json_schema: { anyOf: many(10_000, () => ({ type: "null" })) } }), "json_schema"],
  "10,000 values": [chat, ask({ json_schema: { enum: many(10_000, (i) => `v${i}`) } }), "json_schema"],
  "references that lead nowhere": [chat, ask({ json_schema: { $defs: { a: { $ref: "#/$defs/b" }, b: { $ref: "#/$defs/a" } }, allOf: [{ $ref: "#/$defs/a" }] } }), "json_schema"],
  "parts that are merged": [chat, ask({ json_schema: { $defs: { a: { type: "object", properties: properties(100) } }, allOf: many(100, () => ({ $ref: "#/$defs/a" })) } }), "json_schema"],
  "1,000 references": [chat, ask({ json_schema: { anyOf: many(1000, (i) => ({ $ref: `#/$defs/a${i}` })) } }), "json_schema"],
  "a pattern of 100 KiB": [chat, ask({ json_schema: { type: "string", pattern: `^${"a".repeat(100_000)}$` } }), "json_schema"],
  "a pattern of 2,000,000,000 times": [chat, ask({ json_schema: { type: "string", pattern: "^((a{2000}){2000}b{2000}){2000000000,}$" } })],
  "a text of 2,000,000 at least": [chat, ask({ json_schema: { type: "string", minLength: 2_000_000 } })],
  "1,000 stops": [chat, ask({ stop: many(1000, (i) => `s${i}`) }), "stop"],
  "a stop of 1 MiB": [chat, ask({ stop: "a".repeat(1 << 20) }), "stop"],
  "samplers 60 times": [completion, tell({ samplers: "y".repeat(60) }), "samplers"],
  "biases for 60,000 tokens": [chat, ask({ logit_bias: many(60_000, (i) => [i, 1]) }), "logit_bias"],
  "a bias for a text of 1 MiB": [chat, ask({ logit_bias: { ["a".repeat(1 << 20)]: 1 } }), "logit_bias"],
  "breakers of 1 MiB": [chat, ask({ dry_multiplier: 1, dry_sequence_breakers: ["a".repeat(1 << 20)] }), "dry_sequence_breakers[0]"],
  "preserved tokens of 1 MiB": [chat, ask({ preserved_tokens: ["a".repeat(1 << 20)] }), "preserved_tokens[0]"],
  "a grammar of 1 MiB": [completion, tell({ grammar: `root ::= "${"a".repeat(1 << 20)}"` }), "grammar"],
  "a repetition of 100,000": [completion, tell({ grammar: 'root ::= "a"{1,100000}{100000}' }), "grammar"],
  "a repetition of much": [completion, tell({ grammar: `root ::= "${"a".repeat(10_000)}"{2000}` }), "grammar"],
  "400 parentheses": [completion, tell({ grammar: `root ::= ${"(".repeat(400)}` }), "grammar"],
  "left recursion": [completion, tell({ grammar: 'root ::= root "a" | "b"' }), "grammar"],
  "left recursion behind nothing": [completion, tell({ grammar: 'root ::= a root\na ::= "" | "b"' }), "grammar"],
  "rules that double": [completion, tell({ grammar: doubling }), "grammar"],
  "a trigger that overflowed the stack": [completion, tell(lazy("root ::= .", { type: 2, value: "a".repeat(600) })), "grammar_triggers[0].value"],
  "triggers of many instructions": [completion, tell(lazy("root ::= .", ...many(10, () => ({ type: 2, value: "[ab]{500}" })))), "grammar_triggers"],
  "a trigger that nests repetitions": [completion, tell(lazy("root ::= .", { type: 2, value: "((a{30}){30}){30}" })), "grammar_triggers"],
  "a trigger with a backreference": [completion, tell(lazy("root ::= .", { type: 3, value: "(a+)\\1" })), "grammar_triggers"],
  "text of 8 MiB to count": ["/v1/tokenize", { model, content: "x".repeat(8 << 20) }, "content"],
  "5,000 messages in a template": ["/v1/apply-template", ask({ messages: many(5000, () => messages[0]) }), "messages"],
  "a tree 300 deep": [chat, `{"model":"${model}","messages":${"[".repeat(300)}${"]".repeat(300)}}`],
  "4 MiB of brackets": [chat, "[".repeat(4 << 20)],
};

// Taken, and ended within bounds: the answer, or an error of its own.
const ended = {
  "200 properties that may be left out": [chat, ask({ json_schema: { type: "object", properties: properties(200) } })],
  "names that are all one to a grammar": [chat, ask({ json_schema: { type: "object", properties: properties(300, (i) => "%".repeat(i + 1)) } })],
  "a trigger that hung the model": [completion, tell({ n_predict: 200, ...lazy("root ::= .", { type: 2, value: "([a-z ]+)+!" }) })],
  "a trigger over all there is": [completion, tell({ n_predict: 200, ...lazy("root ::= .", { type: 2, value: "[\\s\\S]*?(xyzzy)[\\s\\S]*" }) })],
  "a grammar that can be read in many ways": [completion, tell({ n_predict: 200, grammar: 'root ::= [^x] root "a" | [^x] root "b" | [^x] root "c" | "y"' })],
  "loops in loops": [completion, tell({ n_predict: 50, grammar: "root ::= (a* b* c*)*\na ::= [a-z]+ [b-y]*\nb ::= [a-x]+ [c-z]*\nc ::= a b? [a-z]*" })],
  "32 answers with a schema": [chat, ask({ n: 32, max_tokens: 2, json_schema: { type: "object", properties: properties(120) } })],
  "every step of sampling": [completion, tell({ samplers: "edskypmxt", top_k: 0, dry_multiplier: 1, dry_penalty_last_n: -1, repeat_penalty: 1.1, repeat_last_n: -1 })],
};

const memory = (pid) => Number(readFileSync(`/proc/${pid}/status`, "utf8").match(/VmRSS:\s+(\d+)/)[1]);
const good = async () => assert.equal((await server.chat(model, "hello")).status, 200);
const intact = async () => assert.deepEqual((await server.loaded()).map((one) => [one.model_name, one.pid]), [[model, resident]]);

const checkRefused = async (name) => {
  const [path, body, param] = refused[name];
  const answer = await server.post(path, body);
  assert.equal(answer.status, 400, `${name}: ${JSON.stringify(answer.body)}`);
  const { message, param: named } = answer.body.error;
  assert.ok(message.length > 20 && message.length < 2000, `${name}: ${message}`);
  if (param) assert.equal(named, param, `${name}: ${message}`);
};

for (const name of Object.keys(refused)) test(`refused: ${name}`, () => Promise.all([checkRefused(name), good()]));

for (const [name, [path, body]] of Object.entries(ended)) {
  test(`ended: ${name}`, async () => {
    const [answer] = await Promise.all([server.post(path, body), good()]);
    assert.ok([200, 500].includes(answer.status), `${name}: ${answer.status} ${JSON.stringify(answer.body)}`);
    await intact();
  });
}

test("a grammar's fault says where it is", async () => {
  const answer = await server.post(completion, tell({ grammar: 'root ::= item\nitem ::= "a" }' }));
  assert.equal(answer.status, 400);
  assert.match(answer.body.error.message, /line 2, column 14, in the rule 'item'/);
});

test("requests that are given up leave nothing behind, and a good one ends while others are still made ready", async () => {
  const heavy = ask({ tools: many(500, (i) => tool(i, { type: "object", properties: properties(20), required: [] })) });
  const left = many(8, () => {
    const stop = new AbortController();
    const gone = fetch(server.url + chat, { method: "POST", body: JSON.stringify(heavy), signal: stop.signal }).then(() => "answered", () => "gone");
    return { stop, gone };
  });
  await good();
  for (const { stop } of left) stop.abort();
  await Promise.all(left.map(({ gone }) => gone));
  await good();
  await intact();
});

test("nothing is evicted, and memory stays flat", async () => {
  const round = async () => {
    for (const name of Object.keys(refused)) await checkRefused(name);
  };
  await round();
  await good();
  const before = [memory(server.pid), memory(resident)];
  await round();
  await good();
  await intact();
  if (process.env.CORRAL_SANITIZE) return;
  for (const [i, now] of [memory(server.pid), memory(resident)].entries())
    assert.ok(now < before[i] + 32 * 1024, `memory of ${["the router", "the engine"][i]} grew from ${before[i]} to ${now} KiB`);
});
