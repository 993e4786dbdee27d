// Models that leave memory by themselves, or because others need it: real processes, real memory.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { afterEach, test } from "node:test";
import { Server } from "../support/server.mjs";

let server;
afterEach(() => server.stop());

const entry = async (name) => (await server.loaded()).find((one) => one.model_name === name);
const resident = (pid) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1]) * 1024;

// Asks until the answer is the wanted one; a test that never gets it ends by the runner's deadline.
async function until(ask, wanted) {
  for (;;) {
    const answer = await ask();
    if (wanted(answer)) return answer;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

test("an idle model is downsized, goes on where it was with the next request, and is evicted in the end", async () => {
  server = await Server.start("--no-warm-spare");
  const load = { model_name: "tiny-llama", ctx_size: 2048, auto_evict: true, downsize_idle_timeout: 1, evict_idle_timeout: 3600 };
  assert.equal((await server.post("/v1/load", load)).status, 200);
  const expected = (await server.chat("tiny-llama", "Say hello.", { temperature: 0, max_tokens: 8 })).body.choices[0].message.content;
  const before = await entry("tiny-llama");
  const full = resident(before.pid);
  await until(() => entry("tiny-llama"), (one) => one.status === "downsized");
  // A sanitizer keeps what was freed for a while.
  if (!process.env.CORRAL_SANITIZE) assert.ok(resident(before.pid) < full, "memory has really been given back");
  const again = await server.chat("tiny-llama", "Say hello.", { temperature: 0, max_tokens: 8 });
  assert.equal(again.status, 200);
  assert.equal(again.body.choices[0].message.content, expected);
  const after = await entry("tiny-llama");
  assert.equal(after.pid, before.pid, "the same process");
  assert.equal((await server.post("/v1/models/tiny-llama/options", { evict_idle_timeout: 2 })).status, 200);
  assert.equal((await server.post("/v1/load", { ...load, evict_idle_timeout: 2 })).status, 200);
  await until(() => entry("tiny-llama"), (one) => one === undefined);
});

test("a simulated shortage evicts who may be evicted, and nobody else", async () => {
  server = await Server.start("--max-loaded-models", "2");
  assert.equal((await server.post("/v1/load", { model_name: "tiny-llama", auto_evict: true })).status, 200);
  assert.equal((await server.post("/v1/load", { model_name: "tiny-qwen3" })).status, 200);
  const done = await server.post("/internal/simulate-vram-pressure", { pct: 0.99 });
  assert.equal(done.status, 200, JSON.stringify(done.body));
  assert.deepEqual([...done.body.downsized, ...done.body.evicted], ["tiny-llama"]);
  assert.equal((await entry("tiny-qwen3")).status, "ready");
  for (const pct of [-2, 1.5, "much", null]) assert.equal((await server.post("/internal/simulate-vram-pressure", { pct })).status, 400, `${pct}`);
});

// The router was once made without its measurements. The same house with the same memory in use: below the threshold nobody goes, however often it is
// measured and however long nobody asks anything; above it the idle model does.
test("measured pressure evicts an idle model that may be evicted, above the threshold and not below it", async () => {
  const never = ["--downsize-idle-timeout", "never", "--evict-idle-timeout", "never"];
  server = await Server.start("--auto-evict", "--max-loaded-models", "2", ...never);
  assert.equal((await server.post("/internal/set", { auto_evict_threshold_pct: 1 })).status, 200);
  assert.equal((await server.post("/v1/load", { model_name: "tiny-llama" })).status, 200);
  const { pid } = await entry("tiny-llama");
  // Longer than the first seconds of a model, and several measurements.
  await until(() => entry("tiny-llama"), (one) => one === undefined || Date.now() - one.last_use > 8_000);
  assert.equal((await entry("tiny-llama"))?.pid, pid, "it stays below the threshold");
  assert.equal((await server.post("/internal/set", { auto_evict_threshold_pct: 0.001 })).status, 200);
  await until(() => entry("tiny-llama"), (one) => one === undefined);
});

test("what can never fit is refused with need and have, and nobody goes for it", async () => {
  server = await Server.start("--max-loaded-models", "2", "--memory-limit", "500MiB");
  assert.equal((await server.post("/v1/load", { model_name: "tiny-llama", ctx_size: 1024 })).status, 200);
  const pid = (await entry("tiny-llama")).pid;
  const refused = await server.post("/v1/load", { model_name: "tiny-qwen3", ctx_size: 2_000_000 });
  assert.equal(refused.status, 422, JSON.stringify(refused.body));
  assert.equal(refused.body.error.code, "insufficient_memory");
  assert.equal((await entry("tiny-llama")).pid, pid);
});
