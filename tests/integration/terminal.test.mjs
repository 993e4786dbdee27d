// The command line on a pseudo terminal, as a person sees it. The server is simulated: what was typed must arrive.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, test } from "node:test";
import { program } from "../support/server.mjs";
import { Terminal } from "../support/terminal.mjs";

const home = mkdtempSync(join(tmpdir(), "corral-terminal-"));
const asked = []; // bodies of chats
let answer; // pieces of the next answers; null: an answer that doesn't end
let server;
let terminal;

function reply(request, response, body) {
  const json = (value) => response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(value));
  if (request.url === "/api/v1/health") return json({ version: "0.1.0", all_models_loaded: [{ model_name: "m" }] });
  if (request.method === "GET") return json({ id: "m", type: "llm" });
  asked.push(JSON.parse(body));
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const content of answer ?? ["It begins"]) response.write(`data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`);
  if (answer) response.end("data: [DONE]\n\n");
}

before(async () => {
  server = createServer(async (request, response) => {
    let body = "";
    for await (const piece of request) body += piece;
    reply(request, response, body);
  });
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
});
afterEach(() => terminal?.kill());
after(() => {
  server.closeAllConnections();
  server.close();
  rmSync(home, { recursive: true });
});

const kPrompt = /\[\?2004h>>> /; // drawn again while a line is edited
const kEdited = /\[\?2004l/;

async function chat(words = [], options = {}) {
  answer = ["ok"];
  asked.length = 0;
  const url = `http://127.0.0.1:${server.address().port}`;
  terminal = new Terminal([program, "run", "m", "--url", url, ...words], { env: { HOME: home, XDG_STATE_HOME: "", EDITOR: "true" }, ...options });
  await terminal.shows(kPrompt);
  return terminal;
}
// Types what ends a line, and returns what is shown until the next one may be typed.
async function enter(keys, prompt = kPrompt) {
  terminal.type(keys);
  await terminal.shows(kEdited);
  return terminal.shows(prompt);
}
async function sent(keys) {
  const count = asked.length;
  await enter(`${keys}\r`);
  assert.equal(asked.length, count + 1, terminal.text);
  return asked.at(-1).messages.at(-1).content;
}

test("a message is edited: arrows, Home, End, words, Delete", async () => {
  await chat();
  assert.equal(await sent("helo\x1b[Dl"), "hello");
  assert.equal(await sent("world\x1b[Hhello \x1b[F!"), "hello world!");
  assert.equal(await sent("one two three\x1bb\x1bb\x1b[3~T"), "one Two three");
  assert.equal(await sent("one two\x17three"), "one three");
  assert.equal(await sent("größe 世界 é\x7fe"), "größe 世界 e");
});

test("earlier messages come back: Up, a search, and in the next chat", async () => {
  await chat();
  await sent("the first");
  await sent("another");
  assert.equal(await sent("\x1b[A\x1b[A"), "the first");
  assert.equal(await sent("\x12noth\x1b[F!"), "another!");
  terminal.type("\x04");
  assert.equal(await terminal.exit, 0);
  await chat();
  assert.equal(await sent("\x1b[A"), "another!");
  terminal.type("\x04");
  await terminal.exit;
  await chat(["--no-history"]);
  await sent("a secret");
  terminal.type("\x04");
  await terminal.exit;
  await chat();
  assert.equal(await sent("\x1b[A"), "another!");
});

test("what is pasted is one message, whole, and no key", async () => {
  await chat();
  assert.equal(await sent("\x1b[200~one\rtwo\r\n\tthree\x01\x04\n\x1b[201~"), "one\ntwo\n\tthree");
  const long = "0123456789".repeat(1000);
  assert.equal(await sent(`\x1b[200~${long}\x1b[201~`), long);
  // From a terminal that marks no pastes.
  assert.equal(await sent(long), long);
});

test("lines begin with Alt-Enter, and between fences", async () => {
  await chat();
  assert.equal(await sent("one\x1b\rtwo"), "one\ntwo");
  await enter('"""one\r', /\.\.\. $/);
  await enter("two\r", /\.\.\. $/);
  assert.equal(await sent('"""'), "one\ntwo");
});

test("Ctrl-C drops what is typed, stops an answer and says so, and leaves", async () => {
  await chat();
  terminal.type("a mistake");
  await terminal.shows(/mistake/);
  await enter("\x03");
  assert.equal(asked.length, 0);
  answer = null;
  await enter("long\r", /It/); // the last word may become longer
  terminal.type("\x03");
  await terminal.shows(/\(stopped\)/);
  await terminal.shows(kPrompt);
  assert.match(await enter("\x03"), /once more/);
  terminal.type("\x03");
  assert.equal(await terminal.exit, 130);
});

test("Tab completes commands and their words", async () => {
  await chat();
  assert.match(await enter("/ret\t\r"), /There is no message yet/);
  assert.match(await enter("/set temp\t0\r"), /temperature is 0/);
  terminal.type("/s\t");
  await terminal.shows(/\/set.*\/show.*\/save/);
});

test("an answer is broken between words and shows its Markdown", async () => {
  await chat([], { columns: 40 });
  answer = ["# Title\n\nwords ", "and words and **bol", "d words** and words and words\n- item\n```\ncode\n```\n"];
  const shown = await enter("hi\r");
  const plain = shown.replaceAll(/\x1b\[[0-9;?]*[a-z]/gi, "").replaceAll("\r", "");
  assert.ok(plain.includes("Title\n\nwords and words and bold words and words\nand words\n• item\n```\ncode\n```\n"), plain);
  assert.ok(shown.includes("\x1b[1mbold"), shown);
});

test("a chat that is no terminal has no codes", async () => {
  answer = ["**a** b"];
  const url = `http://127.0.0.1:${server.address().port}`;
  writeFileSync(join(home, "prompt"), "hi");
  terminal = new Terminal(["sh", "-c", `"$0" run m --url ${url} < ${join(home, "prompt")} | cat`, program], { env: { HOME: home } });
  await terminal.exit;
  assert.equal(terminal.text, "**a** b\r\n");
});
