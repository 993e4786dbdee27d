// What signals, disks that hang and folders with long names do to the server.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { models, program, Server } from "../support/server.mjs";

// Whoever reads it waits until somebody writes: a disk that gives no answer.
const hang = (folder) => execFileSync("mkfifo", [join(folder, "user_models.json")]);

test("SIGPIPE ends neither the server nor an engine", async () => {
  const server = await Server.start();
  try {
    assert.equal((await server.chat("tiny-llama", "hi")).status, 200);
    const { pid } = (await server.loaded())[0];
    process.kill(pid, "SIGPIPE");
    process.kill(server.pid, "SIGPIPE");
    assert.equal((await server.chat("tiny-llama", "hi")).status, 200);
    assert.equal((await server.loaded())[0].pid, pid);
  } finally {
    await server.stop();
  }
});

// Signals were listened to when the first look at the disks was over, and the end waited for its thread.
test("a disk that hangs at the first look keeps neither health nor SIGTERM waiting", async () => {
  const server = await Server.launch({ prepare: hang });
  assert.equal((await server.get("/v1/health")).status, 200);
  await server.stop();
});

test("a disk that hangs later keeps no known model from loading, and no process looks hung for it", async () => {
  const server = await Server.start();
  assert.equal((await server.chat("tiny-llama", "hi")).status, 200);
  const { pid } = (await server.loaded())[0];
  hang(server.state);
  const looks = server.get("/v1/models?rescan=true");
  assert.equal((await server.chat("tiny-qwen3", "hi")).status, 200);
  assert.equal((await server.chat("tiny-llama", "hi")).status, 200);
  assert.notEqual((await server.loaded())[0].pid, pid);
  assert.equal((await looks).status, 200, "it gets what is known");
  assert.ok(!server.lines.some((line) => /was killed/.test(line)), server.lines.join("\n"));
  await server.stop();
});

test("a runtime_dir whose sockets would have no name is refused at the start, with how long it may be", async () => {
  const folder = mkdtempSync(join(tmpdir(), "corral-test-"));
  const long = join(folder, "r".repeat(100));
  const lines = [];
  const child = spawn(program, ["serve", "--port", "0", "--models-dir", models, "--state-dir", folder, "--runtime-dir", long], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  child.stderr.on("data", (text) => lines.push(`${text}`));
  const code = await new Promise((resolve) => child.once("close", resolve));
  rmSync(folder, { recursive: true, force: true });
  assert.equal(code, 1);
  assert.match(lines.join(""), /runtime_dir '.*' is too long: '.*' has \d+ bytes, at most \d+ are allowed: the path of a socket in it must not exceed 107/);
});
