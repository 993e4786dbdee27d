// What commands show on a terminal of some width: names that are whole, words that fit the command line, exit codes.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, test } from "node:test";
import { program, Server } from "../support/server.mjs";
import { Terminal } from "../support/terminal.mjs";

const kKey = "a-key-for-tests";
const home = mkdtempSync(join(tmpdir(), "corral-words-"));
let server;
let terminal;

before(async () => {
  server = await Server.launch({ environment: { CORRAL_API_KEY: kKey } });
});
afterEach(() => terminal?.kill());
after(async () => {
  await server.stop();
  rmSync(home, { recursive: true });
});

function start(words, { columns = 80, key = kKey } = {}) {
  const env = { HOME: home, XDG_STATE_HOME: "", XDG_CONFIG_HOME: "", CORRAL_API_KEY: key, CORRAL_PORT: server.port };
  terminal = new Terminal([program, ...words], { columns, env });
  return terminal;
}
// What a command shows until it ends, without colours, and how it ends.
async function shown(words, options) {
  const code = await start(words, options).exit;
  const text = terminal.text.replaceAll(/\x1b\[[0-9;?]*[a-z]/gi, "").replaceAll("\r\n", "\n");
  return { code, text };
}
const widest = (text) => Math.max(...text.split("\n").map((line) => line.length));

for (const columns of [40, 60, 80, 120, 200]) {
  test(`at ${columns} columns names are whole and lines fit`, async () => {
    const { text, code } = await shown(["list"], { columns });
    assert.equal(code, 0);
    assert.match(text, /^scripted-tool-call /m);
    assert.equal(/^Not shown: /m.test(text), columns < 80, text);
    assert.ok(widest(text.replace(/^Not shown.*/m, "")) <= columns, text);
    const help = await shown(["help", "load"], { columns });
    assert.ok(widest(help.text) <= Math.min(Math.max(columns, 60), 120), help.text);
  });
}

test("columns are chosen", async () => {
  assert.match((await shown(["list", "--wide"], { columns: 40 })).text, /NAME +TYPE +RECIPE +SIZE +CONTEXT +QUANT +STATE/);
  assert.match((await shown(["list", "--columns", "name,quant"])).text, /^NAME +QUANT\n/);
});

test("a load says how long it took, and that nothing was to be done", async () => {
  assert.match((await shown(["load", "tiny-llama"])).text, /tiny-llama is loaded \(.*, 8192 tokens of context\)\n$/);
  assert.equal((await shown(["load", "tiny-llama"])).text, "tiny-llama is already loaded (8192 tokens of context)\n");
});

test("Ctrl-C in a load says what becomes of it", async () => {
  start(["load", "tiny-qwen3"]);
  await terminal.shows(/Loading/);
  terminal.type("\x03");
  const code = await terminal.exit;
  // It may have been loaded before.
  if (code !== 0) {
    assert.equal(code, 130);
    assert.match(terminal.text, /corral: the load of 'tiny-qwen3' is cancelled/);
  }
});

// Words, what they show, and the exit code.
const kSaid = [
  [["-v"], "corral ", 0],
  [["-V"], "corral ", 0],
  [["help", "foo"], "corral: unexpected: foo\nsee: corral --help\n", 2],
  [["lst"], "corral: unexpected: lst; did you mean list?\nsee: corral --help\n", 2],
  [["lo"], "did you mean logs or load?", 2],
  [["pin", "tiny-moe"], "corral: 'tiny-moe' is not loaded; load it with: corral load tiny-moe --pinned\n", 1],
  [["stop", "nope"], "corral: no model 'nope'\n", 1],
  [["stop", "tiny-moe"], "corral: 'tiny-moe' is not loaded\n", 1],
  [["load", "tiny-moe", "--ctx-size", "abc"], "corral: --ctx-size: 'abc' is not a whole number, or auto\nsee: corral load --help\n", 2],
  [["run", "tiny-llama", "hi", "--max-tokens", "0"], "corral: --max-tokens must be at least 1, not 0\n", 2],
  [["run", "tiny-embed", "hi"], "tiny-embed", 2],
  [["config", "get", "swap_patience"], "2s\n", 0],
  [["config", "set", "swap_patience=3s", "port=9"], "swap_patience is 3s now\ncorral: port is not set: ", 1],
  [["requests"], "No request runs or waits\n", 0],
  [["cancel", "77"], "corral: no running request has the ID '77'\n", 1],
  [["speak", "hi"], "corral: sound is not for a terminal: name a file with -o FILE, or use a pipe\n", 2],
  [["logs", "nope"], "corral: no model 'nope'\n", 1],
];
for (const [words, text, code] of kSaid) {
  test(`corral ${words.join(" ")}`, async () => {
    const is = await shown(words);
    assert.ok(is.text.includes(text), is.text);
    assert.equal(is.code, code);
  });
}

test("flags of the server stand anywhere", async () => {
  const before = await shown(["--port", `${server.port}`, "status"]);
  const behind = await shown(["status", "--port", `${server.port}`]);
  assert.match(before.text, /responds at/);
  assert.equal(before.text, behind.text);
});

test("a wrong key is told in words of the command line", async () => {
  for (const key of ["", "wrong"]) {
    const { text, code } = await shown(["list"], { key });
    assert.equal(code, 1);
    assert.match(text, /CORRAL_API_KEY/);
    assert.doesNotMatch(text, /Authorization/);
  }
});

test("errors in JSON have the code of the API", async () => {
  const { text } = await shown(["load", "nope", "--json"]);
  assert.equal(JSON.parse(text).error.code, "model_not_found");
});

test("a broken configuration stops only the server", async () => {
  const config = join(home, "config.toml");
  writeFileSync(config, 'port = "x\n');
  const { text, code } = await shown(["list", "--config", config, "--url", server.url]);
  assert.equal(code, 0);
  assert.match(text, /^warning: .*config.toml:1:10: /);
  assert.match(text, /tiny-llama/);
  assert.equal((await shown(["serve", "--config", config])).code, 2);
});

test("a chat ends with an error if its server has gone", async () => {
  const other = await Server.start();
  start(["run", "tiny-llama", "--url", other.url]);
  await terminal.shows(/>>> /);
  await other.stop();
  terminal.type("hello\r");
  await terminal.shows(/error: no corral server responds/);
  terminal.type("\x04");
  assert.notEqual(await terminal.exit, 0);
});

test("top shows what is in memory, until q", async () => {
  await shown(["load", "tiny-llama"]);
  start(["top"], { columns: 100 });
  await terminal.shows(/tiny-llama/);
  terminal.type("\x03");
  await terminal.exit;
});

test("words complete", async () => {
  const { text } = await shown(["__complete", "load", "tiny-q"]);
  assert.match(text, /^tiny-qwen3/m);
});
