// Processes die; requests don't hang and nothing is left behind.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { firstMatch, models, program, Server } from "../support/server.mjs";

// True while a process (not a zombie of it) exists.
function runs(pid) {
  try {
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

// Resolves once `holds()` is true: asks again on every turn of the event loop.
async function until(holds) {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve));
}

const endless = { model: "scripted-endless", messages: [{ role: "user", content: "go" }], stream: true, temperature: 0 };

test("kill -9 of a child ends each of 8 streams with one framed error, and the next request reloads", async () => {
  const server = await Server.start();
  try {
    const streams = [...Array(8)].map(() => server.events("/v1/chat/completions", endless));
    for (const stream of streams) assert.ok((await stream.next()).value);
    const child = (await server.loaded())[0];
    process.kill(child.pid, "SIGKILL");
    for (const stream of streams) {
      let last;
      for await (const data of stream) last = data;
      const { error } = JSON.parse(last);
      assert.equal(error.code, "backend_died");
    }
    const again = await server.chat("scripted-endless", "go");
    assert.equal(again.status, 200);
    assert.notEqual((await server.loaded())[0].pid, child.pid);
  } finally {
    await server.stop();
  }
});

// The same request each time, so that it would soon be suspected, and the model cool down.
test("any request right after kill -9 of an idle process is answered", { timeout: 240_000 }, async () => {
  const server = await Server.start();
  try {
    assert.equal((await server.chat("tiny-llama", "hi")).status, 200);
    for (let round = 0; round < 100; ++round) {
      const { pid } = (await server.loaded())[0];
      process.kill(pid, "SIGKILL");
      // A pause of up to some hundred turns of the event loop: before, amid and after the death is noticed.
      for (let turn = (round * 37) % 400; turn > 0; --turn) await new Promise((resolve) => setImmediate(resolve));
      const asked = { model: "tiny-llama", messages: [{ role: "user", content: "hi" }], max_tokens: 2, temperature: 0 };
      if (round % 2 === 0) {
        const answer = await server.post("/v1/chat/completions", asked);
        assert.equal(answer.status, 200, `round ${round}: ${JSON.stringify(answer.body)}`);
      } else {
        let last;
        for await (const data of server.events("/v1/chat/completions", { ...asked, stream: true })) last = data;
        assert.equal(last, "[DONE]", `round ${round}`);
      }
    }
  } finally {
    await server.stop();
  }
});

test("a whole answer whose process is killed after its first token is asked for again", async () => {
  const server = await Server.start();
  try {
    const leave = new AbortController();
    const asking = server.fetch("/v1/chat/completions", { method: "POST", body: JSON.stringify({ ...endless, stream: false }), signal: leave.signal });
    const generates = async () => (await server.get("/v1/slots")).body.some((slot) => slot.generated > 20);
    while (!(await generates()));
    const { pid } = (await server.loaded())[0];
    process.kill(pid, "SIGKILL");
    while (!(await generates()) || (await server.loaded())[0].pid === pid);
    leave.abort();
    await assert.rejects(asking, { name: "AbortError" });
  } finally {
    await server.stop();
  }
});

// A note in shared memory that the OpenMP library takes away in an orderly end only.
const note = (pid) => `/dev/shm/__KMP_REGISTERED_LIB_${pid}_${process.getuid()}`;

test("kill -9 of a child leaves nothing in shared memory", async () => {
  const server = await Server.start();
  try {
    assert.equal((await server.chat("tiny-llama", "hi")).status, 200);
    const { pid } = (await server.loaded())[0];
    assert.ok(existsSync(note(pid)), "an engine that has computed left its note");
    process.kill(pid, "SIGKILL");
    assert.equal((await server.chat("tiny-llama", "hi")).status, 200);
    assert.notEqual((await server.loaded())[0].pid, pid);
    assert.ok(!existsSync(note(pid)));
  } finally {
    await server.stop();
  }
});

test("kill -9 of the router leaves no child behind", async () => {
  const server = await Server.start();
  await server.chat("tiny-llama", "hi");
  await server.post("/v1/embeddings", { model: "tiny-embed", input: "x" });
  const pids = (await server.loaded()).map((entry) => entry.pid);
  assert.equal(pids.length, 2);
  server.child.kill("SIGKILL");
  await server.ended;
  await until(() => pids.every((pid) => !runs(pid)));
});

test("what a router that was killed leaves of its sockets goes with the next start, and nobody else's", async () => {
  const abandoned = "corral.killed";
  const prepare = (state) => {
    mkdirSync(join(state, abandoned));
    writeFileSync(join(state, abandoned, "engine-1.sock"), "");
  };
  const server = await Server.launch({ prepare });
  const folders = () => readdirSync(server.state).filter((name) => name.startsWith("corral."));
  assert.equal(folders().length, 1);
  assert.ok(!folders().includes(abandoned));
  // One that runs beside it, with the same folder.
  const state = mkdtempSync(join(tmpdir(), "corral-test-"));
  const words = ["serve", "--port", "0", "--models-dir", models, "--state-dir", state, "--runtime-dir", server.state];
  const other = spawn(program, words, { stdio: ["ignore", "ignore", "pipe"] });
  const ended = new Promise((resolve) => other.once("exit", resolve));
  await firstMatch(other, other.stderr, [], /listens on/, "corral serve");
  assert.equal(folders().length, 2);
  assert.equal((await server.chat("tiny-llama", "hi")).status, 200);
  other.kill("SIGTERM");
  await ended;
  rmSync(state, { recursive: true });
  assert.equal(folders().length, 1);
  await server.stop();
});

test("a stop lets a running answer finish", async () => {
  const server = await Server.start();
  const stream = server.events("/v1/chat/completions", { ...endless, max_tokens: 200 });
  assert.ok((await stream.next()).value);
  const stopped = server.stop();
  let last;
  for await (const data of stream) last = data;
  assert.equal(last, "[DONE]");
  await stopped;
});

test("a client that leaves, streaming or not, ends the generation", async () => {
  const server = await Server.start();
  try {
    for (const stream of [true, false]) {
      const controller = new AbortController();
      const asking = fetch(`${server.url}/v1/chat/completions`, {
        method: "POST",
        body: JSON.stringify({ ...endless, stream }),
        signal: controller.signal,
      }).catch(() => null);
      let busy = 0;
      while (busy === 0) busy = (await server.loaded())[0]?.active_requests ?? 0;
      controller.abort();
      await asking;
      while (busy !== 0) busy = (await server.loaded())[0].active_requests;
    }
    // The freed engine answers the next one.
    assert.equal((await server.chat("scripted-endless", "go")).status, 200);
  } finally {
    await server.stop();
  }
});
