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
