// Workers that come for work: what each of them gets, also when several come at once, and what a first node seeds.
import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually, onMesh } from "../support/mesh.mjs";
import { missing } from "../support/netns.mjs";

const flags = ["--no-warm-spare", "--mesh-gossip-port", "off"];
const worker = ["--mesh-role", "worker"];
const nodes = async (server) => (await server.get("/v1/mesh/nodes")).body.nodes;
// What each node has in memory for the mesh: {node: [models]}.
async function lent(server) {
  const all = (await nodes(server)).map(({ name, serving }) => [name, (serving ?? []).filter((one) => one.lent && one.state === "ready").map((one) => one.model)]);
  return Object.fromEntries(all.filter(([, models]) => models.length > 0));
}

test("a first node seeds two models and loads one; workers that join at once get what is missing, each something else", { skip: missing }, () => {
  const own = { a: ["--model", "tiny-llama", "--model", "tiny-qwen3"], b: worker, c: worker, d: worker };
  const places = { a: ["tiny-llama", "tiny-qwen3", "tiny-moe"], b: [], c: [], d: [] };
  return onMesh(places, { flags, own, later: ["b", "c", "d"] }, async (mesh) => {
    const a = mesh.at("a"), joiners = ["b", "c", "d"].map((name) => mesh.at(name)); // prettier-ignore
    // The larger one of both; the other waits for capacity.
    await eventually("it loads one", async () => (await lent(a)).a?.join() === "tiny-qwen3");
    const { out } = await a.cli("plan");
    assert.match(out, /a +tiny-qwen3 +alone/);
    assert.match(out, /not served: tiny-llama: /);

    const tokens = await Promise.all(joiners.map(() => mesh.token(a)));
    await Promise.all(joiners.map((joiner, at) => joiner.start("--join", tokens[at])));
    const found = await eventually("all have something", async () => {
      const all = await lent(a);
      return Object.keys(all).length === 4 && all;
    });
    assert.deepEqual(found.a, ["tiny-qwen3"], "who works isn't moved");
    const given = ["b", "c", "d"].map((name) => found[name].join());
    // What nobody serves goes first; then the biggest one's group, of which this is a replica.
    assert.deepEqual(given.toSorted(), ["tiny-llama", "tiny-moe", "tiny-qwen3"]);
    // Who asks for what is in its own memory has it as his own from then on: so others are asked.
    for (const model of ["tiny-llama", "tiny-qwen3", "tiny-moe"]) {
      const entry = joiners.find(({ name }) => found[name].join() !== model);
      await eventually(`${entry.name} sees ${model}`, () => entry.sees(model));
      const { status, body } = await entry.chat(model, "hi", { max_tokens: 4 });
      assert.equal(status, 200, JSON.stringify(body));
    }
    // Served where they are, and nowhere else.
    assert.deepEqual(await lent(a), found);
  });
});

test("a model that is asked for a lot is served by one more", { skip: missing }, () =>
  onMesh({ a: ["tiny-llama"], b: ["tiny-llama"], c: [] }, { flags }, async (mesh) => {
    const c = mesh.at("c");
    await eventually("it is seen", () => c.sees("tiny-llama"));
    assert.equal((await c.chat("tiny-llama", "hi", { max_tokens: 1 })).status, 200);
    assert.equal(Object.keys(await lent(c)).length <= 1, true);
    for (let count = 0; count < 40; ++count) assert.equal((await c.chat("tiny-llama", "hi", { max_tokens: 1 })).status, 200);
    await eventually("both serve it", async () => Object.keys(await lent(c)).length === 2);
    await eventually("and keep it", async () => {
      const { out } = await c.cli("why", "tiny-llama");
      return /a has tiny-llama and keeps it/.test(out) && /b has tiny-llama and keeps it/.test(out);
    });
  }));

test("a worker has what it is told to have, then nothing, then what the mesh gives it", { skip: missing }, () => {
  const own = { b: [...worker, "--mesh-admin"] };
  return onMesh({ a: [], b: ["tiny-llama", "tiny-qwen3"] }, { flags, own }, async (mesh) => {
    const a = mesh.at("a");
    const has = (model) => eventually(`b has ${model}`, async () => ((await lent(a)).b ?? []).join() === model);
    await has("tiny-qwen3");
    for (const [word, model] of [["tiny-llama", "tiny-llama"], ["nothing", ""], ["auto", "tiny-qwen3"]]) {
      const { code, err } = await a.cli("assign", "b", word);
      assert.equal(code, 0, err);
      await has(model);
    }
    // Told to, it is given back, and comes back with the next request.
    const { code, err } = await a.cli("unload", "tiny-qwen3");
    assert.equal(code, 0, err);
    await eventually("it is given back", async () => !((await lent(a)).b ?? []).includes("tiny-qwen3"));
    assert.equal((await a.chat("tiny-qwen3", "hi", { max_tokens: 2 })).status, 200);
  });
});

test("one model on one node is as without a mesh", { skip: missing }, () =>
  onMesh({ a: ["tiny-llama"] }, { flags, joined: false }, async (mesh) => {
    const a = mesh.at("a");
    const before = await a.chat("tiny-llama", "hi");
    const engines = () => a.family().filter(({ command }) => command.includes(" engine ")).map(({ pid }) => pid);
    const running = engines();
    await mesh.join();
    const after = await a.chat("tiny-llama", "hi");
    assert.equal(after.status, 200);
    assert.deepEqual(after.body.choices, before.body.choices);
    assert.deepEqual(await lent(a), {}, "it is the owner's own");
    assert.deepEqual(engines(), running);
    assert.deepEqual((await a.get("/v1/mesh/plan")).body.unloads, []);
  }));

test("a worker that joined for a model is the same after a restart without these flags", { skip: missing }, () =>
  onMesh({ a: ["tiny-llama", "tiny-qwen3"], b: [] }, { flags, later: ["b"] }, async (mesh) => {
    const a = mesh.at("a"), b = mesh.at("b"); // prettier-ignore
    const role = async () => (await nodes(a)).find(({ name }) => name === "b")?.role;
    const serves = () => eventually("b serves it", async () => ((await lent(a)).b ?? []).join() === "tiny-llama");
    await b.start("--join", await mesh.token(a), "--model", "tiny-llama", ...worker);
    await serves();
    await b.stop();
    await b.start();
    await serves();
    assert.equal(await role(), "worker");
  }));

test("orders say what happens: to a node without the file, and to an assigned model that is unloaded", { skip: missing }, () => {
  const own = { b: ["--mesh-admin"] };
  return onMesh({ a: ["tiny-llama"], b: ["tiny-qwen3"] }, { flags: [...flags, "--mesh-idle-unload", "6s"], own }, async (mesh) => {
    const [a, b] = mesh.all();
    await eventually("all is known", async () => (await a.sees("tiny-qwen3")) && (await b.sees("tiny-llama")));
    const told = await eventually("the order is taken", async () => {
      const { code, out, err } = await a.cli("assign", "b", "tiny-llama");
      assert.equal(code, 0, err);
      return out.includes("does not serve it yet") && out;
    });
    assert.match(told, /b does not have the file of tiny-llama, and accepts no copies of the plan: run `corral mesh pull tiny-llama` there/);
    const assigned = await a.cli("assign", "b", "tiny-qwen3");
    assert.equal(assigned.code, 0, assigned.err);
    const serves = async () => ((await lent(a)).b ?? []).join() === "tiny-qwen3";
    await eventually("b serves it", serves);
    const refused = await a.cli("unload", "tiny-qwen3");
    assert.notEqual(refused.code, 0, refused.out);
    assert.match(refused.err, /b: it is assigned to tiny-qwen3 and keeps it: free it first with `corral mesh assign b auto`/);
    // It isn't unloaded for idleness either: it stays the same process.
    const engines = () => b.family().filter(({ command }) => command.includes(" engine ")).map(({ pid }) => pid);
    const before = engines();
    const end = Date.now() + 20_000;
    await eventually("three idle limits are over", async () => (assert.ok(await serves(), "it is still there"), Date.now() > end));
    assert.deepEqual(engines(), before);
    const none = await a.cli("unload", "tiny-llama");
    assert.match(none.out, /no node has tiny-llama for the mesh/);
  });
});
