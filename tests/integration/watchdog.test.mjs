// The watchdog kills processes that hang: played engines and a watchdog of two seconds. If a busy machine gives a sound process
// no time for two seconds, the watchdog kills that process, too: hence the label "realtime".
import assert from "node:assert/strict";
import { queued, set, slots, stage, streaming } from "../support/fake-engines.mjs";

// Of the processes that are started from now on.
const watch = (server, watchdog_timeout) => set(server, { watchdog_timeout });

for (const [how, hang] of [
  ["is stopped", (engine) => process.kill(engine.pid, "SIGSTOP")],
  ["spins", (engine) => engine.hang()],
  ["takes connections and answers none", (engine) => engine.deafen()],
]) {
  stage(`a process that ${how} in the middle of an answer is killed, and its request repeated`, ["a"], slots(1), async (its, server) => {
    await watch(server, "2s");
    const a = await its.have("a");
    await watch(server, "30s");
    const asking = server.chat("a", "hi");
    await a.request();
    hang(a);
    await a.gone;
    const again = await its.loading("a");
    again.ready();
    (await again.request()).answer();
    assert.equal((await asking).body.pid, again.pid);
    assert.ok(server.lines.some((line) => /\[router\] a did not respond for 2 s and was killed/.test(line)), server.lines.join("\n"));
  });
}

for (const [how, hang] of [
  ["is stopped", (engine) => process.kill(engine.pid, "SIGSTOP")],
  ["waits for ever", (engine) => engine.hang()],
]) {
  stage(`a load that ${how} is killed and tried again; the second time its cause is the answer`, ["a"], slots(1), async (its, server) => {
    await watch(server, "2s");
    its.whenLoading("a", (engine) => engine.progress(0.5).then(() => hang(engine)));
    const answer = await server.chat("a", "hi");
    assert.equal(answer.status, 500);
    assert.match(answer.body.error.message, /made no progress for 2 s and was killed/);
    assert.equal(server.lines.filter((line) => /\[router\] a made no progress for 2 s and was killed/.test(line)).length, 2);
  });
}

// A model in memory in the middle of a stream; its events behind the first.
async function streamOf(its, model) {
  const engine = await its.have(model);
  const events = its.server.events("/v1/chat/completions", { model, ...streaming });
  const next = events.next();
  const request = await engine.request();
  await request.begin();
  request.send("one");
  await next;
  return [engine, events];
}

stage("a load that works without a word is left alone for longer than others may be silent", ["a", "b", "c"], slots(3), async (its, server) => {
  await watch(server, "2s");
  const others = [await streamOf(its, "b"), await streamOf(its, "c")];
  const asking = server.chat("a", "hi");
  const a = await its.loading("a");
  await a.work();
  // Each of these lasts until the watchdog has found it.
  for (const [other, events] of others) {
    process.kill(other.pid, "SIGSTOP");
    assert.match(JSON.parse((await events.next()).value).error.message, /did not respond for 2 s and was killed/);
  }
  a.ready();
  (await a.request()).answer();
  assert.equal((await asking).body.pid, a.pid);
});

stage("a victim that hangs doesn't keep the next model waiting", ["a", "b"], slots(1), async (its, server) => {
  await watch(server, "2s");
  const [a, first] = await streamOf(its, "a");
  await watch(server, "30s");
  const second = server.chat("b", "hi");
  await its.health(queued("b"));
  process.kill(a.pid, "SIGSTOP");
  const b = await its.loading("b");
  b.ready();
  (await b.request()).answer();
  assert.equal((await second).body.pid, b.pid);
  const { value } = await first.next();
  assert.match(JSON.parse(value).error.message, /did not respond for 2 s and was killed/);
});
