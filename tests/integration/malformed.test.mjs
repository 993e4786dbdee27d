// Thousands of bad requests: the right status and message each time, nothing loaded or evicted, memory flat.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { after, before, test } from "node:test";
import { Server } from "../support/server.mjs";

const rounds = Number(process.env.CORRAL_MALFORMED_ROUNDS ?? 500); // times the 20 rows below

let server;
let resident;
before(async () => {
  server = await Server.start();
  assert.equal((await server.chat("tiny-llama", "hi")).status, 200);
  resident = (await server.loaded())[0].pid;
});
after(() => server.stop());

const chat = "/v1/chat/completions";
const messages = [{ role: "user", content: "hi" }];
// path, body, status, code, param
const rows = [
  [chat, "", 400], [chat, "{", 400], [chat, "nonsense", 400], [chat, "[]", 400], [chat, '{"model":"tiny-qwen3","messages":', 400],
  ["/v1/embeddings", { input: [] }, 400, undefined, "input"], // its model, which it does not name, is not loaded for it
  [chat, { model: 5, messages }, 400, undefined, "model"],
  [chat, { model: "tiny-qwen3" }, 400, undefined, "messages"],
  [chat, { model: "tiny-qwen3", messages: "hi" }, 400, undefined, "messages"],
  [chat, { model: "tiny-qwen3", messages, temperature: "hot" }, 400, undefined, "temperature"],
  [chat, { model: "tiny-qwen3", messages, max_tokens: -5 }, 400, undefined, "max_tokens"],
  [chat, { model: "tiny-qwen3", messages, stream: "yes" }, 400, undefined, "stream"],
  [chat, { model: "no-such-model", messages }, 404, "model_not_found"],
  [chat, { model: "tiny-embed", messages }, 400, "wrong_model_type", "model"],
  ["/v1/embeddings", { model: "tiny-embed" }, 400, undefined, "input"],
  ["/v1/embeddings", { model: "tiny-qwen3", input: "x" }, 400, "wrong_model_type", "model"],
  ["/v1/rerank", { model: "tiny-rerank", query: "x" }, 400, undefined, "documents"],
  ["/v1/load", { model_name: "no-such-model" }, 404, "model_not_found"],
  ["/v1/load", { model_name: "tiny-qwen3", ctx_size: "big" }, 400, undefined, "ctx_size"],
  ["/v1/unload", "{", 400],
];

const rss = () => Number(readFileSync(`/proc/${server.pid}/status`, "utf8").match(/VmRSS:\s+(\d+)/)[1]);

test(`${rounds * rows.length} bad requests`, async () => {
  const round = async () => {
    for (const [path, body, status, code, param] of rows) {
      const answer = await server.post(path, body);
      const label = `${path} ${JSON.stringify(body)}: ${JSON.stringify(answer.body)}`;
      assert.equal(answer.status, status, label);
      assert.ok(answer.body.error.message.length > 10, label);
      if (code) assert.equal(answer.body.error.code, code, label);
      if (param) assert.equal(answer.body.error.param, param, label);
    }
  };
  for (let i = 0; i < 50; ++i) await round();
  const before = rss();
  for (let i = 50; i < rounds; i += 4) await Promise.all([round(), round(), round(), round()]);
  // A sanitizer keeps what was freed, to find uses of it.
  if (!process.env.CORRAL_SANITIZE) assert.ok(rss() < before + 8 * 1024, `memory grew from ${before} to ${rss()} KiB`);
  const loaded = await server.loaded();
  assert.deepEqual(loaded.map((entry) => [entry.model_name, entry.pid]), [["tiny-llama", resident]]);
});

// Sends bytes, optionally closing early; resolves with whatever comes back.
const raw = (bytes, close = false) =>
  new Promise((resolve) => {
    const socket = connect(server.port, "127.0.0.1");
    let answer = "";
    socket.on("data", (data) => (answer += data));
    socket.on("close", () => resolve(answer));
    socket.on("error", () => {});
    socket.write(bytes, () => close && socket.destroy());
  });

test("bad HTTP, bad headers, truncated and oversized bodies", async () => {
  const head = (...lines) => `POST ${chat} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${lines.map((l) => l + "\r\n").join("")}\r\n`;
  assert.match(await raw("nonsense\r\n\r\n"), /^HTTP\/1.1 400/);
  assert.match(await raw(head("Content-Length: ten")), /^HTTP\/1.1 400/);
  assert.match(await raw(head("Content-Length: 5", "Content-Length: 7")), /^HTTP\/1.1 400/);
  assert.match(await raw(head(`X-Big: ${"x".repeat(100_000)}`)), /^HTTP\/1.1 431/);
  assert.match(await raw(head("Content-Length: 99999999999")), /^HTTP\/1.1 413/);
  assert.match(await raw(`POST ${chat} HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}`), /^HTTP\/1.1 403/);
  for (let i = 0; i < 50; ++i) await raw(head("Content-Length: 1000") + '{"model":"tiny-qwen3"', true);
  assert.deepEqual((await server.loaded()).map((entry) => entry.pid), [resident]);
  const unknown = await server.get("/v1/nothing");
  assert.equal(unknown.status, 404);
  const wrong = await server.get(chat);
  assert.equal(wrong.status, 405);
  assert.match(wrong.headers.get("allow"), /POST/);
});

test("a body of megabytes is taken, one over the limit loads nothing", async () => {
  const big = "word ".repeat(800_000);
  const answer = await server.chat("tiny-llama", big);
  assert.equal(answer.status, 400);
  assert.equal(answer.body.error.code, "context_length_exceeded");
  const small = await Server.start("--max-body-bytes", "1MiB");
  try {
    const refused = await small.chat("tiny-llama", big).catch(() => null);
    if (refused) assert.equal(refused.status, 413); // the connection may close while the client still sends
    assert.deepEqual(await small.loaded(), []);
  } finally {
    await small.stop();
  }
});

test("heads that two servers could read in two ways are refused, and nothing of a body passes as a request", async () => {
  const next = "GET /v1/smuggled HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  const post = (...fields) => `POST ${chat} HTTP/1.1\r\n${fields.map((field) => field + "\r\n").join("")}\r\n${next}`;
  const host = "Host: localhost";
  const heads = [
    [post(host, "Transfer-Encoding: xchunked"), 501], [post(host, "Transfer-Encoding: gzip"), 501],
    [post(host, "Transfer-Encoding: gzip, chunked"), 501], [post(host, "Transfer-Encoding: gzip", "Transfer-Encoding: chunked"), 501],
    [post(host, "Transfer-Encoding:"), 400], [post(host, "Transfer-Encoding:", "Transfer-Encoding: gzip"), 400],
    [post(host, "Transfer-Encoding: chunked, chunked"), 400], [post(host, "Transfer-Encoding: chunked, gzip"), 400],
    [post(host, "Transfer-Encoding: chunked", "Content-Length: 4"), 400], [post(host, "Content-Length: 4", "Transfer-Encoding: gzip"), 400],
    [post(host, "Content-Length: 4", "Content-Length: 5"), 400], [post(host, "Content-Length: 0x4"), 400],
    [post(), 400], [post("Host:"), 400], [post(host, host), 400], [post("Host: a b"), 400], [post("Host: a@localhost"), 400],
    [`GET nothing HTTP/1.1\r\n${host}\r\n\r\n`, 400], [`CONNECT localhost:80 HTTP/1.1\r\n${host}\r\n\r\n`, 400],
    [`GET http://evil.example/v1/models HTTP/1.1\r\n${host}\r\nConnection: close\r\n\r\n`, 403],
    [`GET http://localhost/v1/models/ HTTP/1.1\r\n${host}\r\nConnection: close\r\n\r\n`, 200],
    [`HEAD ${chat} HTTP/1.1\r\n${host}\r\nConnection: close\r\n\r\n`, 405],
    [`GET /v1/health HTTP/1.1\r\n${host}\r\n${"a:\r\n".repeat(5000)}\r\n`, 431],
  ];
  for (const [head, status] of heads) {
    const answer = await raw(head);
    assert.match(answer, new RegExp(`^HTTP/1.1 ${status}`), head);
    assert.ok(!answer.includes("smuggled"), answer);
  }
  assert.deepEqual((await server.loaded()).map((entry) => entry.pid), [resident]);
});

test("large bodies share a budget: one too many is told to come again, small ones don't notice", async () => {
  const small = await Server.start("--max-bodies-bytes", "1MiB");
  try {
    const open = [];
    for (let i = 0; i < 3; ++i) {
      const socket = connect(small.port, "127.0.0.1");
      const answered = new Promise((resolve) => socket.once("data", (data) => resolve(String(data))));
      socket.on("error", () => {});
      socket.write(`POST ${chat} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 600000\r\n\r\n${"x".repeat(590_000)}`);
      open.push({ socket, answered });
    }
    assert.match(await Promise.race(open.map(({ answered }) => answered)), /^HTTP\/1.1 503[^]*max_bodies_bytes/);
    assert.equal((await small.chat("tiny-llama", "hi")).status, 200);
    for (const { socket } of open) socket.destroy();
  } finally {
    await small.stop();
  }
});
