// A model whose layers several machines compute, told so by hand: it says what it says on one machine, and when one of the
// machines goes the client is told soon, and then it is served again.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { eventually, onMesh } from "../support/mesh.mjs";
import { missing } from "../support/netns.mjs";
import { engines, interrupted, said, servedAgain, split, toldByOneError, workers } from "../support/splitting.mjs";

const model = "tiny-llama";
const prompt = "The horse said that the quick brown fox jumps over the lazy dog, and the farmer wrote it down";
const greedy = { model, prompt, max_tokens: 48, temperature: 0 };

const places = { a: [model], b: [], c: [] };
// What was said alone; split over `nodes` from now on, slowly enough that an answer can be interrupted.
async function begun(mesh, nodes) {
  const expected = await said(mesh.at("a"), greedy);
  await split(mesh, "a", model, nodes);
  await mesh.lab.everywhere({ delay: 1 });
  return expected;
}

test("in two and in three parts it says what it says alone, to clients of all nodes, several at once", { skip: missing }, () =>
  onMesh(places, {}, async (mesh) => {
    const expected = await said(mesh.at("a"), greedy);
    assert.ok(expected.length > 48);
    for (const nodes of [["a", "b"], ["a", "b", "c"]]) { // prettier-ignore
      await split(mesh, "a", model, nodes);
      for (const at of ["a", "b", "c"]) assert.equal(await said(mesh.at(at), greedy), expected, `${nodes} at ${at}`);
      const together = await Promise.all(["a", "b", "c", "a"].map((at) => said(mesh.at(at), greedy)));
      assert.deepEqual(together, Array(4).fill(expected));
    }
  }));

// As the kernel and the router of its node say it.
test("a worker sees its host's folder of weights and nothing else of its node's state, and what it has is told of it", { skip: missing }, () =>
  onMesh(places, {}, async (mesh) => {
    await begun(mesh, ["a", "b"]);
    const b = mesh.at("b"), all = workers(mesh, "b"); // prettier-ignore
    const inner = all.find(({ parent }) => all.some(({ pid }) => pid === parent));
    assert.equal(all.length, 2, "it, and its shadow");
    assert.deepEqual(readdirSync(`/proc/${inner.pid}/root${b.state}`), ["weights"]);
    assert.equal(readdirSync(`/proc/${inner.pid}/root${b.state}/weights`).length, 1);
    assert.match(readFileSync(`/proc/${inner.pid}/status`, "utf8"), /^Seccomp:\t2$/m);
    const { shares } = (await b.get("/v1/health")).body;
    assert.deepEqual(shares.map(({ pid }) => pid), [inner.pid]);
  }));

test("a worker that is killed: one error, and it is served again", { skip: missing }, () =>
  onMesh(places, {}, async (mesh) => {
    const expected = await begun(mesh, ["a", "b"]);
    const end = await interrupted(mesh.at("a"), greedy, () => workers(mesh, "b").forEach(({ pid }) => process.kill(pid, "SIGKILL")));
    toldByOneError(end, "worker killed -9");
    await servedAgain(mesh.at("a"), greedy, expected, "worker killed -9");
  }));

test("a node with a part that is killed: one error, and it is served again when that is back", { skip: missing }, () =>
  onMesh(places, {}, async (mesh) => {
    const expected = await begun(mesh, ["a", "b"]);
    const end = await interrupted(mesh.at("c"), greedy, () => mesh.at("b").child.kill("SIGKILL"));
    toldByOneError(end, "node of a worker killed -9");
    await mesh.at("b").kill();
    await mesh.at("b").start();
    await servedAgain(mesh.at("c"), greedy, expected, "node of a worker killed -9");
  }));

test("a host's engine that is killed: one error, and it is served again", { skip: missing }, () =>
  onMesh(places, {}, async (mesh) => {
    const expected = await begun(mesh, ["a", "b"]);
    // A spare child may wait beside it: whichever it is, the engine is among them.
    const end = await interrupted(mesh.at("c"), greedy, () => engines(mesh, "a").forEach(({ pid }) => process.kill(pid, "SIGKILL")));
    toldByOneError(end, "engine killed -9");
    await servedAgain(mesh.at("c"), greedy, expected, "engine killed -9");
  }));

test("a host that is killed: one error, its workers go, and it is served again when that is back", { skip: missing }, () =>
  onMesh(places, {}, async (mesh) => {
    const expected = await begun(mesh, ["a", "b"]);
    const end = await interrupted(mesh.at("c"), greedy, () => mesh.at("a").child.kill("SIGKILL"));
    toldByOneError(end, "host killed -9");
    await mesh.at("a").kill();
    await eventually("its worker is gone", () => workers(mesh, "b").length === 0);
    await mesh.at("a").start();
    await servedAgain(mesh.at("c"), greedy, expected, "host killed -9");
  }));

test("a split that is ordered: the same order again changes nothing, and it comes back with a node that was away", { skip: missing }, () =>
  onMesh(places, { flags: ["--no-warm-spare"] }, async (mesh) => {
    const a = mesh.at("a"), b = mesh.at("b"); // prettier-ignore
    const expected = await said(a, greedy);
    const groups = async () => (await a.get("/v1/mesh")).body.groups;
    const running = () => [...engines(mesh, "a"), ...workers(mesh, "b")].map(({ pid }) => pid);
    await split(mesh, "a", model, ["a", "b"]);
    const first = running();
    for (const nodes of [["a", "b"], ["b", "a"]]) await split(mesh, "a", model, nodes); // prettier-ignore
    assert.deepEqual(running(), first);
    assert.deepEqual((await groups()).map(({ by_hand }) => by_hand), [true]);

    await b.kill();
    await eventually("it is given up for now", async () => (await groups()).length === 0);
    const told = async (...words) => (await a.cli(...words, model)).out;
    await eventually("it is said who is missing", async () => /b can't be reached/.test(await told("why")));
    assert.match(await told("plan"), /b can't be reached/);
    assert.equal(await said(a, greedy), expected, "it is served alone meanwhile");
    await eventually("it is said of what is served, too", async () => /not split: .*b can't be reached/.test(await told("plan")));

    await b.start();
    await eventually("they hold it together again", async () => (await groups()).some(({ status }) => status === "ready"));
    assert.deepEqual((await groups()).map(({ by_hand }) => by_hand), [true]);
    assert.ok(workers(mesh, "b").length > 0);
    assert.equal(await said(mesh.at("c"), greedy), expected);

    // Until it is unloaded, also while it can't be.
    await b.kill();
    await eventually("it is given up for now", async () => (await groups()).length === 0);
    const { code, err } = await a.cli("unload", model);
    assert.equal(code, 0, err);
    await b.start();
    await eventually("b is back", async () => (await a.get("/v1/mesh/nodes")).body.nodes.some(({ name, link, memory }) => name === "b" && link === "up" && memory?.length));
    await eventually("nobody wants it split", async () => !/not split|share/.test(await told("plan")));
    assert.deepEqual(await groups(), []);
  }));

for (const [what, cut] of [
  ["cut both ways", (lab) => lab.cut("a", "b")],
  ["cut, nothing comes from the worker", (lab) => lab.cutOneWay("b", "a")],
  ["cut, nothing comes to the worker", (lab) => lab.cutOneWay("a", "b")],
]) {
  test(`a link that is ${what}: one error, and it is served again when it heals`, { skip: missing }, () =>
    onMesh(places, {}, async (mesh) => {
      const expected = await begun(mesh, ["a", "b"]);
      const end = await interrupted(mesh.at("a"), greedy, () => cut(mesh.lab));
      toldByOneError(end, what);
      await mesh.lab.heal();
      await servedAgain(mesh.at("a"), greedy, expected, what);
    }));
}
