// The command line against a real server.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { after, before, test } from "node:test";
import { Server, program } from "../support/server.mjs";

let server;
before(async () => {
  server = await Server.start();
});
after(() => server.stop());

function corral(args, input = "") {
  return new Promise((resolve) => {
    const child = execFile(program, [...args, "--port", server.port], (error, stdout, stderr) => {
      resolve({ code: error ? error.code : 0, stdout, stderr });
    });
    child.stdin.on("error", () => {}); // who reads nothing may have ended by now
    child.stdin.end(input);
  });
}

test("list names every model with its type", async () => {
  const { code, stdout } = await corral(["list"]);
  assert.equal(code, 0);
  assert.match(stdout, /tiny-llama\s+llm/);
  assert.match(stdout, /tiny-embed\s+embedding/);
});

test("load, ps, unload", async () => {
  assert.equal((await corral(["load", "tiny-llama", "--ctx-size", "1024"])).code, 0);
  const ps = await corral(["ps"]);
  assert.match(ps.stdout, /tiny-llama/);
  const json = JSON.parse((await corral(["ps", "--json"])).stdout);
  assert.ok(JSON.stringify(json).includes("tiny-llama"));
  assert.equal((await corral(["unload", "tiny-llama"])).code, 0);
  const twice = await corral(["unload", "tiny-llama"]);
  assert.equal(twice.code, 1);
  assert.match(twice.stderr, /not (loaded|in memory)/);
});

test("run answers one prompt from standard input", async () => {
  const { code, stdout } = await corral(["run", "scripted-hello"], "Say hello.");
  const expected = (await server.chat("scripted-hello", "Say hello.", { max_tokens: 200 })).body.choices[0].message.content;
  assert.equal(code, 0);
  assert.equal(stdout.trim(), expected.trim());
});

test("unknown models and commands have their exit codes", async () => {
  const unknown = await corral(["run", "no-such-model", "hi"]);
  assert.equal(unknown.code, 1);
  assert.match(unknown.stderr, /no-such-model/);
  assert.equal((await corral(["dance"])).code, 2);
});

test("without a server the message says how to start one", async () => {
  const { code, stderr } = await new Promise((resolve) =>
    execFile(program, ["status", "--port", "1"], (error, stdout, text) => resolve({ code: error.code, stderr: text })),
  );
  assert.equal(code, 3);
  assert.match(stderr, /corral serve/);
});
