// Requests that are meant to harm, of every endpoint, at every layer: each gets a clean answer that names what is wrong,
// nothing is loaded or evicted for it, and memory comes back. Bodies that cost much are in hostile-bodies.test.mjs.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { after, before, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { endings } from "../support/endings.mjs";
import { program, Server } from "../support/server.mjs";

const model = "tiny-llama";
const embedder = "tiny-embed";
const ranker = "tiny-rerank";
const chat = "/v1/chat/completions";
const completion = "/v1/completion";
const messages = [{ role: "user", content: "hi" }];
const secret = "/etc/passwd";

let server;
let resident;
before(async () => {
  server = await Server.start();
  assert.equal((await server.chat(model, "hi")).status, 200);
  assert.equal((await server.post("/v1/embeddings", { model: embedder, input: "hi" })).status, 200);
  assert.equal((await server.post("/v1/rerank", { model: ranker, query: "a", documents: ["b"] })).status, 200);
  resident = await pids();
});
after(() => server.stop());

const pids = async () => (await server.loaded()).map(({ model_name: name, pid }) => [name, pid]).sort();
const many = (count, make) => Array.from({ length: count }, (_, i) => make(i));
const nested = (depth, inner, wrap) => many(depth, () => 0).reduce(wrap, inner);
const ask = (more) => ({ model, messages, max_tokens: 4, ...more });
const tell = (more) => ({ model, prompt: "hi", n_predict: 4, ...more });
const embed = (input, more) => ({ model: embedder, input, ...more });
const rank = (more) => ({ model: ranker, query: "a", documents: ["b"], ...more });
const call = (args) => ({ id: "c", type: "function", function: { name: "f", arguments: args } });
const answered = (part) => [messages[0], { role: "assistant", ...part }, messages[0]];
const wide = { type: "object", properties: Object.fromEntries(many(50, (i) => [`p${i}`, { type: "string" }])), required: many(50, (i) => `p${i}`) };
const large = "x".repeat(9 << 20);

// Refused with 400: path, body, param.
const refused = {
  // bodies
  "a million fields": [chat, `{${many(1_000_000, (i) => `"a${i}":0`).join()}}`],
  "a field 10,000 times": [chat, `{"model":"${model}",${many(10_000, () => '"messages":[]').join()}}`],
  "a mark of the byte order": [chat, "\ufeff{}"],
  "a number beyond all": [chat, `{"model":"${model}","messages":[],"temperature":1e999}`],
  "an integer of 1,000 digits": [chat, `{"model":"${model}","messages":[],"max_tokens":${"9".repeat(1000)}}`],
  "a fraction of a million digits": [chat, ask({ temperature: "0." + "1".repeat(1_000_000) }), "temperature"],
  "NaN": [chat, `{"model":"${model}","messages":[],"temperature":NaN}`],
  "two bodies in one": [chat, `${JSON.stringify(ask())}${JSON.stringify(ask())}`],
  "a name of a model of 1 MiB": [chat, ask({ model: "m".repeat(1 << 20) }), "model"],
  // templates
  "a member of a message with a million values": [chat, ask({ messages: [{ ...messages[0], extra: many(1_000_000, () => ({})) }] }), "messages"],
  "arguments with a million values": [chat, ask({ messages: answered({ tool_calls: [call({ a: many(1_000_000, () => ({})) })] }) }), "messages"],
  "arguments of 9 MiB": [chat, ask({ messages: answered({ tool_calls: [call(JSON.stringify({ a: large }))] }) }), "messages"],
  "thoughts of 9 MiB": [chat, ask({ messages: answered({ content: "x", reasoning_content: large }) }), "messages"],
  "a name of 9 MiB": [chat, ask({ messages: [{ ...messages[0], name: large }] }), "messages"],
  "an unknown member of 9 MiB": [chat, ask({ messages: [{ ...messages[0], extra: large }] }), "messages"],
  "arguments of a template with a million values": [chat, ask({ chat_template_kwargs: { a: many(1_000_000, () => ({})) } }), "chat_template_kwargs"],
  "thinking that is neither on nor off": [chat, ask({ chat_template_kwargs: { enable_thinking: { a: 1 } } }), "chat_template_kwargs.enable_thinking"],
  "parts of unknown types": [chat, ask({ messages: [{ role: "user", content: many(1000, () => ({ type: "exploit", exploit: 1 })) }] }), "messages[0].content[0].type"],
  "the same from the template alone": ["/v1/apply-template", ask({ messages: answered({ content: "x", reasoning_content: large }) }), "messages"],
  // tools and schemas
  "a choice of a tool that isn't there": [chat, ask({ tools: [], tool_choice: { type: "function", function: { name: "rm" } } }), "tool_choice"],
  "10,000 allowed tools": [chat, ask({ tool_choice: { type: "allowed_tools", allowed_tools: { mode: "auto", tools: many(10_000, () => ({ type: "function", function: { name: "f" } })) } } }), "tool_choice.allowed_tools.tools"],
  "definitions of 9 MiB": [chat, ask({ json_schema: { $defs: Object.fromEntries(many(100_000, (i) => [`d${i}`, { const: "x".repeat(64) }])), anyOf: many(128, (i) => ({ $ref: `#/$defs/d${i}` })) } }), "json_schema"],
  "a value of 9 MiB": [chat, ask({ json_schema: { const: large } }), "json_schema"],
  "a list of 2,000,000,000 at least": [chat, ask({ json_schema: { type: "array", items: { type: "null" }, minItems: 2_000_000_000 } })],
  "a reference out of the schema": [chat, ask({ json_schema: { $ref: "file:///etc/passwd" } })],
  "a pattern that isn't closed": [chat, ask({ json_schema: { type: "string", pattern: "^(((((a$" } })],
  // samplers, stops, biases
  "33 answers": [chat, ask({ n: 33 }), "n"],
  "many answers to many prompts": [completion, tell({ prompt: many(64, () => "x"), n: 32 })],
  "a bias that is no number": [chat, ask({ logit_bias: { 5: "inf" } }), "logit_bias"],
  "biases that aren't pairs": [completion, tell({ logit_bias: many(1000, () => [1, 2, 3]) }), "logit_bias"],
  "a seed that is a text": [chat, ask({ seed: "; rm -rf /" }), "seed"],
  "a stop that is an object": [chat, ask({ stop: { a: 1 } }), "stop"],
  "a temperature below nothing": [chat, ask({ temperature: -1e300 }), "temperature"],
  // grammars
  "a grammar without a root": [completion, tell({ grammar: 'a ::= "x"' }), "grammar"],
  "a text that isn't closed": [completion, tell({ grammar: 'root ::= "x' }), "grammar"],
  "a rule that isn't there": [completion, tell({ grammar: "root ::= nothing" }), "grammar"],
  "a repetition that ends before it begins": [completion, tell({ grammar: 'root ::= "a"{5,2}' }), "grammar"],
  "repetitions in repetitions": [completion, tell({ grammar: 'root ::= ((("a"{0,1000}){0,1000}){0,1000}){0,1000}' }), "grammar"],
  "a trigger of an unknown type": [completion, tell({ grammar: "root ::= .", grammar_lazy: true, grammar_triggers: [{ type: 9, value: "x" }] }), "grammar_triggers[0].type"],
  // prompts
  "a token below nothing": [completion, tell({ prompt: [-1] }), "prompt[0]"],
  "a token beyond the vocabulary": [completion, tell({ prompt: [2_000_000_000] }), "prompt"],
  "lists in lists in lists": [completion, tell({ prompt: [[[[1]]]] })],
  "fields of the answer by the thousand": [completion, tell({ response_fields: many(10_000, (i) => `a/${i}`) }), "response_fields"],
  // embeddings and rerank
  "100,000 inputs": ["/v1/embeddings", embed(many(100_000, () => "x")), "input"],
  "an input of 9 MiB": ["/v1/embeddings", embed(large), "input"],
  "an input of a million tokens": ["/v1/embeddings", embed(many(1_000_000, () => 1)), "input"],
  "inputs of all kinds": ["/v1/embeddings", embed(["x", 5, [1]]), "input[2]"],
  "a width of 2,000,000,000": ["/v1/embeddings", embed("x", { dimensions: 2_000_000_000 }), "dimensions"],
  "a norm of 1,000": ["/v1/embedding", { model: embedder, content: "x", embd_normalize: 1000 }, "embd_normalize"],
  "an embedding from a model that makes none": ["/v1/embeddings", { ...embed("x"), model }, "model"],
  "100,000 documents": ["/v1/rerank", rank({ documents: many(100_000, () => "x") }), "documents"],
  "a document of 9 MiB": ["/v1/rerank", rank({ documents: [large] }), "documents"],
  "a query of 9 MiB": ["/v1/rerank", rank({ query: large })],
  "documents and texts": ["/v1/rerank", rank({ texts: ["x"] }), "texts"],
  "best of -5": ["/v1/rerank", rank({ top_n: -5 }), "top_n"],
  // tokenize and detokenize
  "a content that is a list": ["/v1/tokenize", { model, content: many(1000, () => "x") }, "content"],
  "tokens that nobody has": ["/v1/detokenize", { model, tokens: [1, 2_000_000_000] }, "tokens"],
  "tokens that are texts": ["/v1/detokenize", { model, tokens: ["../../etc/passwd"] }, "tokens[0]"],
  // options of loads
  "a context of 10^15": ["/v1/load", { model_name: model, ctx_size: 1e15 }, "ctx_size"],
  "a context for a request of 10^9": [chat, ask({ ctx_size: 1e9 }), "ctx_size"],
  "an option that there isn't": ["/v1/load", { model_name: model, ctx_sizes: 5 }, "ctx_sizes"],
  "another program's file as an argument": ["/v1/load", { model_name: model, llamacpp_args: `--model ${secret}` }],
  "arguments of 60 KiB": ["/v1/load", { model_name: model, llamacpp_args: "-c ".repeat(20_000) }],
  "options that are a list": ["/v1/load", [model]],
  "a pin that is a text": ["/internal/pin", { model_name: model, pinned: "yes" }, "pinned"],
};

// Refused in another way: what is sent, status.
const post = (path, body) => () => server.post(path, body);
const get = (path) => () => server.get(path);
const others = {
  "a model by a path": [post(chat, ask({ model: "../../../../etc/passwd" })), 404],
  "a model with a line in its name": [post(chat, ask({ model: "a\r\nX-Evil: 1" })), 404],
  "a load of a path": [post("/v1/load", { model_name: "/etc/passwd" }), 404],
  "an unload of what isn't there": [post("/v1/unload", { model_name: "%00" }), 404],
  "a load of 1 MiB": [post("/v1/load", { model_name: model, llamacpp_args: "-c ".repeat(350_000) }), 413],
  "a path out of the models": [get("/v1/models/..%2f..%2fetc%2fpasswd"), 404],
  "a path with a zero": [get("/v1/models/%00"), 404],
  "a path of 30 KiB": [get(`/v1/models/${"a".repeat(30_000)}`), 404],
  "a path of slashes": [get(`/${"/".repeat(1000)}v1/models`), 404],
  "escapes that are none": [get("/v1/models/%zz%"), 404],
};

const memory = () => [server.pid, ...resident.map(([, pid]) => pid)].map((pid) => Number(readFileSync(`/proc/${pid}/status`, "utf8").match(/VmRSS:\s+(\d+)/)[1]));
const good = async () => assert.equal((await server.chat(model, "hello", { max_tokens: 4 })).status, 200);
const intact = async () => assert.deepEqual(await pids(), resident);

const clean = (name, { status, body }, wanted, param) => {
  assert.equal(status, wanted, `${name}: ${JSON.stringify(body).slice(0, 500)}`);
  const { message, param: named } = body.error;
  assert.ok(message.length > 10 && message.length < 2000, `${name}: ${message}`);
  assert.ok(!message.includes("root:"), "bytes of a file are told");
  if (param) assert.equal(named, param, `${name}: ${message}`);
};
const checkRefused = async (name) => {
  const [path, body, param] = refused[name];
  clean(name, await server.post(path, body), 400, param);
};

for (const name of Object.keys(refused)) test(`refused: ${name}`, () => Promise.all([checkRefused(name), good()]));

for (const [name, [send, status]] of Object.entries(others)) {
  test(`refused otherwise: ${name}`, async () => {
    clean(name, await send(), status);
    await intact();
  });
}

for (const [option, value] of [["lora", secret], ["lora", "/"], ["draft_model", secret], ["draft_model", "/dev/zero"], ["mmproj", "/proc/self/mem"]]) {
  test(`a load with ${option} ${value} is refused and evicts nobody`, async () => {
    const answer = await server.post("/v1/load", { model_name: model, [option]: value });
    assert.ok([400, 403, 404].includes(answer.status), JSON.stringify(answer));
    assert.ok(!JSON.stringify(answer.body).includes("root:"));
    await intact();
  });
}

// --- bytes ---

// What comes back of bytes that are sent as they are.
const raw = (bytes) =>
  new Promise((resolve) => {
    const socket = connect(server.port, "127.0.0.1");
    let answer = "";
    socket.on("data", (data) => (answer += data));
    socket.on("close", () => resolve(answer));
    socket.on("error", () => {});
    socket.write(bytes);
  });
const head = (...fields) => `POST ${chat} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${fields.map((field) => `${field}\r\n`).join("")}\r\n`;
const chunked = (text) => head("Transfer-Encoding: chunked") + text;

const bytes = {
  "a zero in a head": [head("X-Zero: a\0b"), 400],
  "a field without a colon": [head("nothing"), 400],
  "a field with a space in its name": [head("Content Length: 5"), 400],
  "1,000 fields": [head(...many(1000, (i) => `X-${i}: 1`)), 431],
  "a method of 100 KiB": [`${"A".repeat(100_000)} / HTTP/1.1\r\nHost: localhost\r\n\r\n`, 431],
  "a version that nobody knows": ["GET / HTTP/9.9\r\nHost: localhost\r\n\r\n", 400],
  "a length below nothing": [head("Content-Length: -1"), 400],
  "a length of 30 digits": [head(`Content-Length: ${"9".repeat(30)}`), 400],
  "a chunk that overflows": [chunked("ffffffffffffffff1\r\nx"), 400],
  "a chunk without digits": [chunked("zz\r\nx\r\n"), 400],
  "a chunk whose end is missing": [chunked("1\r\nxy\r\n0\r\n\r\n"), 400],
  "a chunk with a comment of 100 KiB": [chunked(`1;${"a".repeat(100_000)}\r\nx\r\n0\r\n\r\n`), 400],
  "100 MiB in a chunk": [chunked("6400000\r\nx"), 413],
  "TLS": [Buffer.from([0x16, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3, 13, 10, 13, 10]), 400],
};
for (const [name, [text, status]] of Object.entries(bytes)) {
  test(`bytes: ${name}`, async () => {
    assert.match(await raw(text), new RegExp(`^HTTP/1.1 ${status}`));
    await good();
    await intact();
  });
}

test("bytes: a bomb of gzip is unpacked no further than the largest body", async () => {
  const bomb = gzipSync(Buffer.alloc(256 << 20, " "));
  const [router] = memory();
  const response = await fetch(server.url + chat, { method: "POST", body: bomb, headers: { "content-type": "application/json", "content-encoding": "gzip" } });
  assert.equal(response.status, 413);
  await response.text();
  if (!process.env.CORRAL_SANITIZE) assert.ok(memory()[0] < router + 128 * 1024);
});

// --- order ---

test("a good client's answer ends while a reader that takes nothing still has its own", async () => {
  const body = JSON.stringify(ask({ stream: true, max_tokens: 1500, ignore_eos: true }));
  const socket = connect(server.port, "127.0.0.1");
  const closed = new Promise((resolve) => socket.on("close", resolve));
  socket.on("error", () => {});
  await new Promise((resolve) => {
    socket.write(`POST ${chat} HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
    socket.once("readable", resolve);
  });
  await good();
  assert.equal(socket.destroyed, false);
  socket.destroy();
  await closed;
  await intact();
});

test("a small request ends while large ones of the same client are still made ready", async () => {
  const tools = many(80, (i) => ({ type: "function", function: { name: `f${i}`, parameters: wide } }));
  const heavy = many(12, () => ({ name: "large", send: () => server.post(chat, ask({ tools })) }));
  const small = { name: "small", send: () => server.chat(model, "hello", { max_tokens: 4 }) };
  const { answers, order } = await endings(server.get.bind(server), model, [...heavy, small]);
  assert.equal(answers.at(-1).status, 200);
  assert.notEqual(order.at(-1), "small", `all large ones were ready before a small one: ${order}`);
});

// Their turns come by key: who asks for much waits for itself. What a client says of itself under the router's own name
// doesn't count, or each of its requests would be another client's.
test("one client's large requests are answered before another's many", async () => {
  const own = await Server.start();
  try {
    const key = (name, ...more) => execFileSync(program, ["key", "create", "--name", name, ...more, "--state-dir", own.state], { encoding: "utf8" }).trim();
    const [greedy, modest, admin] = [key("greedy"), key("modest"), key("admin", "--scope", "admin")];
    while ((await own.get("/v1/models")).status !== 401); // the keys count from now on
    assert.equal((await own.json("POST", chat, ask(), { "x-api-key": modest })).status, 200);
    const tools = many(60, (i) => ({ type: "function", function: { name: `f${i}`, parameters: wide } }));
    const heavy = (name, secret, i) => ({ name, send: () => own.json("POST", chat, ask({ tools, max_tokens: 1 }), { "x-api-key": secret, "x-corral-client": `${i}` }) });
    const crowd = many(40, (i) => heavy("greedy", greedy, i));
    const get = (path) => own.json("GET", path, undefined, { "x-api-key": admin });
    const { answers, order } = await endings(get, model, [...crowd, heavy("modest", modest, 0)]);
    // What was made ready is longer than the context.
    for (const { status, body } of answers) assert.deepEqual([status, body.error?.code], [400, "context_length_exceeded"]);
    assert.ok(order.indexOf("modest") < 20, `${order.indexOf("modest")} of 40 were answered first`);
    // More answers than there are places: the other client still gets one.
    const prompts = many(3, () => own.json("POST", "/v1/completions", { model, prompt: many(1024, () => "x"), max_tokens: 2 }, { "x-api-key": greedy }));
    for (let i = 0; i < 10; ++i) assert.equal((await own.json("POST", chat, ask(), { "x-api-key": modest })).status, 200);
    for (const { status } of await Promise.all(prompts)) assert.ok([200, 503].includes(status), `${status}`);
  } finally {
    await own.stop();
  }
});

test("nothing is evicted, and memory comes back within ten seconds of rest", async () => {
  const round = async () => {
    for (const name of Object.keys(refused)) await checkRefused(name);
  };
  await round();
  await good();
  const first = memory();
  await round();
  await good();
  await intact();
  if (process.env.CORRAL_SANITIZE) return;
  const flat = () => memory().every((now, i) => now < first[i] + 16 * 1024);
  for (let waited = 0; waited < 10_000 && !flat(); waited += 100) await pause(100);
  assert.ok(flat(), `memory of router and engines grew from ${first} to ${memory()} KiB`);
});
