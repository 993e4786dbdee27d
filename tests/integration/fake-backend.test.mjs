// What the router does with processes that load, answer, fail, hang and die as a test tells them to.
import assert from "node:assert/strict";
import { test } from "node:test";
import { queued, set, slots, stage, Stage, streaming } from "../support/fake-engines.mjs";
import { stageWithGpu } from "../support/played-gpu.mjs";

const kMiB = 2 ** 20;

test("a test that fails takes along what it has asked for: no request ends unheard", async () => {
  const its = await Stage.startIn({}, ["a"]);
  const failed = its.play(async (_, server) => {
    server.chat("a", "hi");
    server.events("/v1/chat/completions", { model: "a", messages: [{ role: "user", content: "hi" }], stream: true }).next();
    await its.loading("a");
    throw new Error("it has failed");
  });
  await assert.rejects(failed, /it has failed/);
  assert.ok(its.server.pending.size > 0);
  await its.abort();
  assert.equal(its.server.pending.size, 0);
});

stage("a busy victim finishes its answer before another model takes its place", ["a", "b"], slots(1), async (its, server) => {
  const a = await its.have("a");
  const first = server.chat("a", "1");
  const working = await a.request();
  const second = server.chat("b", "2");
  // First its files are looked at.
  const health = await its.health((now) => queued("b")(now)?.waiting_for.length > 0);
  assert.deepEqual(queued("b")(health).waiting_for, ["a"]);
  assert.equal(its.started.length, 1, "nothing is loaded beside it");
  working.answer();
  assert.equal((await first).body.pid, a.pid);
  await a.gone;
  const b = await its.loading("b");
  b.ready();
  (await b.request()).answer();
  assert.equal((await second).body.pid, b.pid);
});

stage("a victim out of patience takes no newcomer, who is served after the other model", ["a", "b"], [...slots(1), "--swap-patience", "0"], async (its, server) => {
  const a = await its.have("a");
  const first = server.chat("a", "1");
  const working = await a.request();
  const second = server.chat("b", "2");
  await its.health((health) => health.all_models_loaded.find((entry) => entry.status === "draining"));
  const third = server.chat("a", "3");
  await its.health(queued("a"));
  working.answer();
  assert.equal((await first).status, 200);
  const b = await its.loading("b");
  b.ready();
  (await b.request()).answer();
  assert.equal((await second).body.model, "b");
  const again = await its.loading("a");
  again.ready();
  (await again.request()).answer();
  assert.equal((await third).body.pid, again.pid);
});

stage("a limit that is lowered takes the idle model at once and the busy one when it has finished", ["a", "b", "c"], [], async (its, server) => {
  const limit = (max_loaded_models) => set(server, { max_loaded_models });
  await limit(3);
  const a = await its.have("a");
  const b = await its.have("b");
  const c = await its.have("c");
  await limit(2);
  await a.gone;
  const asking = [server.chat("b", "hi"), server.chat("c", "hi")];
  const working = [await b.request(), await c.request()];
  await limit(1);
  working[1].answer();
  assert.equal((await asking[1]).body.pid, c.pid);
  await c.gone;
  working[0].answer();
  assert.equal((await asking[0]).body.pid, b.pid, "who is within the limit again stays");
  assert.deepEqual((await server.loaded()).map((entry) => entry.pid), [b.pid]);
});

stage("a model in memory answers while another one loads", ["a", "b"], slots(2), async (its, server) => {
  const a = await its.have("a");
  const slow = server.chat("b", "1");
  const b = await its.loading("b");
  await b.progress(0.25);
  assert.equal((await its.health((health) => health.loading?.progress === 0.25)).loading.model, "b");
  for (let i = 0; i < 20; ++i) {
    const asking = server.chat("a", `${i}`);
    (await a.request()).answer();
    assert.equal((await asking).body.pid, a.pid);
  }
  assert.equal((await server.get("/v1/health")).body.loading.model, "b", "still");
  b.ready();
  (await b.request()).answer();
  assert.equal((await slow).body.pid, b.pid);
});

const load = (server, model_name) => server.json("POST", "/v1/load", { model_name });
// Of the oldest request for a model.
const idOf = async (server, model) => (await server.get("/v1/requests")).body.requests.find((request) => request.model === model).id;
const cancel = async (server, id) => {
  const answer = await server.post(`/v1/requests/${id}/cancel`, {});
  assert.deepEqual(answer.body, { status: "success", id, cancelled: 1 });
};
const listed = async (server) =>
  (await server.get("/v1/requests")).body.requests.map(({ kind, model, status }) => `${kind} ${model} ${status}`);

stage("cancelled by its id, a load that waits gives up its place, and one that runs its process", ["a", "b"], slots(2), async (its, server) => {
  const first = load(server, "a");
  const a = await its.loading("a");
  const second = load(server, "b");
  await its.health(queued("b"));
  assert.deepEqual(await listed(server), ["load a running", "load b queued"]);
  await cancel(server, await idOf(server, "b"));
  const refused = await second;
  assert.equal(refused.status, 499);
  assert.equal(refused.body.error.code, "cancelled");
  assert.deepEqual((await server.get("/v1/health")).body.load_queue, []);
  const firstId = await idOf(server, "a");
  await cancel(server, firstId);
  assert.equal((await first).body.error.code, "cancelled");
  await a.gone;
  assert.deepEqual(await listed(server), []);
  assert.equal((await server.post(`/v1/requests/${firstId}/cancel`, {})).status, 404);
  assert.deepEqual(its.started, ["a"]);
  await its.have("b");
});

stage("a cancelled load ends its own progress stream with one error, and leaves the load to others who wait for it", ["a"], slots(1), async (its, server) => {
  const response = await server.fetch("/v1/load", {
    method: "POST",
    body: JSON.stringify({ model_name: "a", stream: true }),
  });
  const a = await its.loading("a");
  const other = load(server, "a");
  const chat = server.chat("a", "hi");
  await its.health((health) => health.loading?.waiters === 3);
  await cancel(server, response.headers.get("x-request-id"));
  const events = (await response.text()).split("\n\n");
  assert.equal(events.pop(), "");
  const [kind, data] = events.pop().split("\n");
  assert.equal(kind, "event: error");
  assert.equal(JSON.parse(data.replace(/^data: /, "")).error.code, "cancelled");
  assert.ok(events.every((event) => event.startsWith("event: progress\n")));
  a.ready();
  assert.equal((await other).status, 200);
  (await a.request()).answer();
  assert.equal((await chat).body.pid, a.pid);
  assert.deepEqual(its.started, ["a"]);
});

stage("eight clients race for one slot: each gets the model it named, one process at a time", ["a", "b", "c"], slots(1), async (its, server) => {
  its.automatic = true;
  const client = async (number) => {
    for (let i = 0; i < 6; ++i) {
      const model = "abc"[(number + i) % 3];
      const answer = await server.chat(model, "hi");
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      assert.equal(answer.body.model, model);
      assert.ok((await server.occupying()).length <= 1);
    }
  };
  await Promise.all([...Array(8).keys()].map(client));
  for (const model of "abc") assert.ok(its.started.includes(model));
});

stage("a failed load drives out everything but pinned models, once, and is then the answer", ["pinned", "other", "broken"], slots(3), async (its, server) => {
  const pinned = await its.have("pinned", { pinned: true });
  const other = await its.have("other");
  const asking = server.chat("broken", "hi");
  (await its.loading("broken")).fail("load_failed", "tensor 7 is upside down");
  await other.gone;
  const again = await its.loading("broken");
  // While it tries again the pinned one answers.
  const meanwhile = server.chat("pinned", "hi");
  (await pinned.request()).answer();
  assert.equal((await meanwhile).body.pid, pinned.pid);
  again.fail("load_failed", "tensor 7 is upside down");
  const answer = await asking;
  assert.equal(answer.status, 500);
  assert.equal(answer.body.error.code, "model_load_error");
  assert.match(answer.body.error.message, /tensor 7 is upside down/);
  assert.deepEqual((await server.loaded()).map((entry) => entry.model_name), ["pinned"]);
});

stage("a broken preset next to a healthy model: that one answers at once while the other loads, and stays when it fails", ["healthy", "broken"], slots(2), async (its, server) => {
  const healthy = await its.have("healthy");
  const asks = async () => {
    const meanwhile = server.chat("healthy", "hi");
    (await healthy.request()).answer();
    assert.equal((await meanwhile).body.pid, healthy.pid);
  };
  for (let i = 0; i < 3; ++i) {
    const asking = server.chat("broken", "hi");
    const broken = await its.loading("broken"); // says nothing
    await asks();
    broken.fail("invalid_option", "there is no such rope scaling");
    const answer = await asking;
    assert.equal(answer.status, 400);
    assert.match(answer.body.error.message, /rope scaling/);
    await asks();
  }
});

stage("a model that keeps failing cools down, and a healthy one isn't touched meanwhile", ["healthy", "broken"], slots(2), async (its, server) => {
  for (let request = 0; request < 2; ++request) {
    const asking = server.chat("broken", "hi");
    for (let attempt = 0; attempt < 2; ++attempt) (await its.loading("broken")).fail("load_failed", "no use");
    assert.equal((await asking).status, 500);
  }
  // It cools down for ten seconds. A slow machine may need longer for all rounds: then the next load begins.
  const over = its.loading("broken");
  const refused = async () => {
    const asking = server.chat("broken", "hi");
    const answer = await Promise.race([asking, over.then(() => null)]);
    if (!answer) {
      (await over).fail("load_failed", "no use");
      (await its.loading("broken")).fail("load_failed", "no use");
      assert.equal((await asking).status, 500);
      return false;
    }
    assert.equal(answer.status, 503);
    assert.ok(Number(answer.headers.get("retry-after")) > 0);
    assert.match(answer.body.error.message, /no use/);
    return true;
  };
  assert.ok(await refused());
  const healthy = await its.have("healthy");
  for (let i = 0; i < 10 && (await refused()); ++i) {
    const meanwhile = server.chat("healthy", "hi");
    (await healthy.request()).answer();
    assert.equal((await meanwhile).body.pid, healthy.pid);
  }
});

stage("too little memory: what is lacking is in the answer, and a model that never fits evicts nobody", ["a", "big", "huge"], slots(3), async (its, server) => {
  const a = await its.have("a");
  const lack = [{ device: "cuda0", need: 9 * kMiB, have: 8 * kMiB }];
  const huge = server.chat("huge", "hi");
  (await its.loading("huge")).fail("never_fits", "it needs more than there is", lack);
  const refused = await huge;
  assert.equal(refused.status, 422);
  assert.equal(refused.body.error.code, "insufficient_memory");
  assert.deepEqual(refused.body.error.details.memory, lack);
  assert.equal((await server.loaded())[0].pid, a.pid);
  const big = server.chat("big", "hi");
  (await its.loading("big")).fail("out_of_memory", "allocation failed", lack);
  await a.gone;
  const again = await its.loading("big");
  again.ready();
  (await again.request()).answer();
  assert.equal((await big).body.pid, again.pid, "there is room once the others have gone");
});

const evictsForOthers = ["--auto-evict", "--downsize-idle-timeout", "never", "--evict-idle-timeout", "never"];
stageWithGpu("another program that fills the GPU makes an idle model give way, and it comes back beside what is left of it", ["a"], evictsForOthers, async (its, server, gpu) => {
  its.estimates = { a: { devices: [{ device: "cpu", kv: 1 }, { device: "cuda0", weights: 600 * kMiB }], process: 1 } };
  assert.equal((await server.post("/v1/estimate", { model_name: "a" })).status, 200);
  const first = await its.have("a");
  gpu.use(1450); // a game has begun
  await first.gone;
  gpu.use(850); // it needs no more than this
  const asking = server.chat("a", "hi");
  const again = await its.loading("a");
  again.ready();
  (await again.request()).answer();
  assert.equal((await asking).body.pid, again.pid);
  assert.deepEqual(its.started, ["a", "a"]);
});

stage("a process that dies while it loads: its last words are in the answer", ["a"], slots(1), async (its, server) => {
  const asking = server.chat("a", "hi");
  for (let attempt = 0; attempt < 2; ++attempt) {
    const engine = await its.loading("a");
    await engine.progress(0.1);
    await engine.print("ggml_backend_cuda_buffer_type_alloc_buffer: allocating 9000.00 MiB on device 0: cudaMalloc failed: out of memory");
    engine.exit(1);
  }
  const answer = await asking;
  assert.equal(answer.status, 500);
  assert.match(answer.body.error.message, /exited with code 1.*cudaMalloc failed: out of memory/s);
});

stage("loads take their turns in the order of their requests", ["a", "b", "c", "d"], slots(1), async (its, server) => {
  const a = await its.have("a");
  const first = server.chat("a", "1");
  const working = await a.request();
  const others = [];
  for (const model of ["d", "b", "c"]) {
    others.push(server.chat(model, "hi"));
    // A load whose files are still being checked lets others pass.
    await its.health((health) => queued(model)(health)?.checking === false);
  }
  const { body } = await server.get("/v1/health");
  assert.deepEqual(body.load_queue.map((entry) => entry.model), ["d", "b", "c"]);
  assert.deepEqual(body.load_queue.map((entry) => entry.position), [1, 2, 3]);
  working.answer();
  await first;
  for (const [index, model] of ["d", "b", "c"].entries()) {
    const engine = await its.loading(model);
    engine.ready();
    (await engine.request()).answer();
    assert.equal((await others[index]).body.pid, engine.pid);
  }
  assert.deepEqual(its.started, ["a", "d", "b", "c"]);
});

stage("a load that nobody waits for any more is given up, queued or running", ["a", "b", "c"], slots(1), async (its, server) => {
  const ask = (model) => {
    const controller = new AbortController();
    const body = JSON.stringify({ model, messages: [{ role: "user", content: "hi" }] });
    const asking = fetch(`${server.url}/v1/chat/completions`, { method: "POST", body, signal: controller.signal }).catch(() => null);
    return async () => {
      controller.abort();
      await asking;
    };
  };
  const leave_a = ask("a");
  const a = await its.loading("a");
  const leave_b = ask("b");
  await its.health(queued("b"));
  const c = server.chat("c", "hi");
  await its.health(queued("c"));
  await leave_b();
  assert.equal(queued("c")(await its.health((health) => !queued("b")(health))).position, 1);
  await leave_a();
  await a.gone;
  const engine = await its.loading("c");
  engine.ready();
  (await engine.request()).answer();
  assert.equal((await c).body.pid, engine.pid);
  assert.deepEqual(its.started, ["a", "c"]);
});

stage("a process that ignores SIGTERM is killed, and the next load goes on", ["a", "b"], slots(1), async (its, server) => {
  const a = await its.have("a");
  await a.ignore("SIGTERM");
  const asking = server.chat("b", "hi");
  assert.equal(await a.signals.take(), "SIGTERM");
  await a.gone;
  const b = await its.loading("b");
  b.ready();
  (await b.request()).answer();
  assert.equal((await asking).body.pid, b.pid);
});

stage("a load that hangs ends at its deadline, and the next one goes on", ["a", "b"], slots(1), async (its, server) => {
  await set(server, { load_timeout: "1s" });
  // The deadline may end a process before it has got its order.
  its.whenLoading("a", (engine) => engine.hang());
  const answer = await server.chat("a", "hi");
  assert.ok(answer.status >= 500, JSON.stringify(answer.body));
  assert.match(answer.body.error.message, /didn't load within 1000 ms/);
  await set(server, { load_timeout: "auto" });
  const b = await its.have("b");
  const other = server.chat("b", "hi");
  (await b.request()).answer();
  assert.equal((await other).status, 200);
});

stage("pieces of a stream reach the client as they come; a crash behind them is one framed error", ["a"], slots(1), async (its, server) => {
  const a = await its.have("a");
  const events = server.events("/v1/chat/completions", { model: "a", ...streaming });
  const next = events.next();
  const request = await a.request();
  assert.equal(request.body.stream, true);
  await request.begin();
  request.send("one");
  assert.equal((await next).value, "one");
  request.send("two");
  assert.equal((await events.next()).value, "two");
  await a.kill();
  const rest = [];
  for await (const data of events) rest.push(data);
  assert.equal(rest.length, 1, "no [DONE], no second error");
  assert.equal(JSON.parse(rest[0]).error.code, "backend_died");
  assert.deepEqual(await server.loaded(), []);
});

for (const stream of [false, true]) {
  stage(`a crash before the first byte: the request is repeated once, then it fails (${stream ? "streaming" : "whole"})`, ["a"], slots(1), async (its, server) => {
    const a = await its.have("a");
    const asking = server.chat("a", "say it again", { stream: false });
    assert.equal((await a.request()).body.messages[0].content, "say it again");
    a.kill("SIGSEGV");
    const again = await its.loading("a");
    again.ready();
    const repeated = await again.request();
    assert.equal(repeated.body.messages[0].content, "say it again");
    repeated.answer();
    assert.equal((await asking).body.pid, again.pid);

    const failing = server.fetch("/v1/chat/completions", { method: "POST", body: JSON.stringify({ model: "a", ...streaming, stream }) });
    await again.request();
    again.kill();
    const last = await its.loading("a");
    last.ready();
    await last.request();
    last.kill();
    const answer = await failing;
    // A stream that has waited for a load for a second has begun: its failure is an event.
    const failure = answer.status === 200 && stream ? (await answer.text()).replace(/^[^{]*/, "") : await answer.text();
    assert.ok(answer.status === 502 || stream, `${answer.status}`);
    assert.equal(JSON.parse(failure).error.code, "backend_died");
    assert.equal(its.started.length, 3);
  });
}

stage("health tells what a process occupies", ["a"], slots(1), async (its, server) => {
  const a = await its.have("a");
  const before = (await server.loaded())[0].memory_bytes;
  await a.occupy(64 * kMiB);
  const after = (await server.loaded())[0].memory_bytes;
  assert.ok(after - before > 32 * kMiB, `${before} before, ${after} after`);
});

stage("unload and stop wait for nobody who is idle, and leave no process", ["a", "b"], slots(2), async (its, server) => {
  const a = await its.have("a");
  const b = await its.have("b");
  assert.equal((await server.post("/v1/unload", { model_name: "a" })).status, 200);
  await a.gone;
  assert.deepEqual((await server.loaded()).map((entry) => entry.pid), [b.pid]);
  assert.equal((await server.post("/v1/unload", {})).status, 200);
  await b.gone;
  assert.deepEqual(await server.loaded(), []);
});

stage("unload of all tells every process to end before any of them has", ["a", "b", "c", "d", "e"], slots(5), async (its, server) => {
  const engines = [];
  for (const name of "abcde") engines.push(await its.have(name));
  let gone = 0;
  for (const engine of engines) {
    await engine.ignore("SIGTERM");
    engine.gone.then(() => ++gone);
  }
  const asking = server.post("/v1/unload", {});
  for (const engine of engines) assert.equal(await engine.signals.take(), "SIGTERM");
  assert.equal(gone, 0, "one was waited for before another was told");
  for (const engine of engines) engine.exit(0);
  assert.deepEqual((await asking).body.unloaded.sort(), ["a", "b", "c", "d", "e"]);
  assert.deepEqual(await server.loaded(), []);
});
