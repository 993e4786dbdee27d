// A driver counts the memory of a process for a while after its end. A load waits five seconds for that memory and then tries without it:
// a busy machine may not look at the memory in that time, hence the label "realtime".
import assert from "node:assert/strict";
import { queued, slots } from "../support/fake-engines.mjs";
import { stageWithGpu } from "../support/played-gpu.mjs";

const kMiB = 2 ** 20;

stageWithGpu("memory that comes back late is waited for, and the load goes on when it is there", ["a", "b"], slots(2), async (its, server, gpu) => {
  const takes = (mib) => ({ devices: [{ device: "cpu", kv: 1 }, { device: "cuda0", kv: mib * kMiB }], process: 1 });
  its.estimates = { a: takes(600), b: takes(1000) };
  for (const model of ["a", "b"]) assert.equal((await server.post("/v1/estimate", { model_name: model })).status, 200);
  const a = await its.have("a");
  gpu.use(700);
  const asking = server.chat("b", "hi");
  await a.gone; // but the driver still counts what it held
  const gone = await its.health((health) => queued("b")(health)?.waiting_for.length === 0);
  // Long enough to have looked at the memory more than once.
  await its.health((health) => queued("b")(health)?.waiting_ms > queued("b")(gone).waiting_ms + 600);
  assert.deepEqual(its.started, ["a"]);
  gpu.use(100);
  const b = await its.loading("b");
  b.ready();
  (await b.request()).answer();
  assert.equal((await asking).body.pid, b.pid);
});
