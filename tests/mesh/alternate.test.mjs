// Clients at three nodes ask six models in turn while nodes die, paths break and all of it heals: every answer is right or
// one clear error, none comes from another model, what a node has itself it always serves, and nothing is left behind.
// CORRAL_MESH_SECONDS says for how long; CORRAL_MESH_SEED repeats the choices of a run.
import assert from "node:assert/strict";
import { test } from "node:test";
import { answer } from "../support/asking.mjs";
import { eventually, onMesh } from "../support/mesh.mjs";
import { missing } from "../support/netns.mjs";
import { randomFrom } from "../support/random.mjs";
import { pause, settled, Storm } from "../support/storm.mjs";

const seconds = Number(process.env.CORRAL_MESH_SECONDS ?? 120);
const seed = Number(process.env.CORRAL_MESH_SEED ?? 1);
const kClients = 2; // at each node
const kCalm = 5; // s before it begins
const kHung = 60_000; // ms

const places = {
  a: ["scripted-hello", "tiny-llama", "tiny-embed"],
  b: ["scripted-unicode", "tiny-qwen3", "scripted-hello"],
  c: ["scripted-tool-call", "tiny-llama"],
};
const models = [...new Set(Object.values(places).flat())].sort();

class Alternate extends Storm {
  clients(length) {
    this.begin(length);
    return this.mesh.all().flatMap(({ name }, at) => [...Array(kClients)].map((_, number) => this.client(name, at * 2 + number * 3)));
  }
  async client(name, number) {
    const server = this.mesh.at(name);
    for (let turn = number; !this.over(); ++turn) {
      const model = models[turn % models.length];
      await this.request(server, model, () => answer(server, model, turn % 2 === 0), { must: places[name].includes(model) });
    }
  }
  // a is never killed: it shows what stays behind in a server.
  destroyer() {
    const all = { ...this.processDeeds(["b", "c"], this.random), ...this.weatherDeeds(["b", "c"], this.random) };
    return this.deeds(all, this.random, () => pause(this.random.below(2500)));
  }
}

// What node `a` holds with nothing loaded.
async function holdings(server) {
  assert.equal((await server.post("/v1/unload", {})).status, 200);
  return settled(server);
}

test(`six models, clients at three nodes, ${seconds} s, seed ${seed}`, { skip: missing, timeout: seconds * 1000 + 240_000 }, () =>
  onMesh(places, { flags: ["--max-loaded-models", "llm=3,embedding=1"] }, async (mesh) => {
    for (const server of mesh.all()) await eventually(`${server.name} sees all`, () => server.sees(...models));
    const expected = {};
    for (const model of models) {
      for (const server of mesh.all()) {
        const { said, error } = await answer(server, model, false);
        assert.equal(error, undefined, `${model} at ${server.name}`);
        expected[model] ??= said;
        assert.equal(said, expected[model], `${model} at ${server.name}`);
      }
    }
    const storm = new Alternate(mesh, expected, randomFrom(seed), kHung);
    await Promise.all(storm.clients(kCalm)); // connections are made that are kept
    assert.deepEqual([Object.keys(storm.counts), storm.failures], [["right"], []], JSON.stringify(storm.counts));
    const before = await holdings(mesh.at("a"));
    await Promise.all([...storm.clients(seconds), storm.destroyer()]);
    console.log(JSON.stringify(storm.counts));
    assert.deepEqual(storm.failures, []);
    assert.ok(storm.counts.right > seconds, "most are answered");

    // Afterwards all is as it was.
    for (const server of mesh.all()) {
      for (const model of models) {
        await eventually(`${server.name} gets ${model}`, async () => (await answer(server, model, true)).said === expected[model]);
      }
      await eventually(`nothing is under way at ${server.name}`, async () => (await server.loaded()).every((entry) => entry.active_requests === 0));
    }
    const after = await holdings(mesh.at("a"));
    console.log(JSON.stringify({ before, after }));
    assert.ok(after.processes <= before.processes, "processes were left behind");
    // Connections between nodes that many requests at a time needed are kept for the next ones; a leak of one for each
    // fault or request would be far more in the long run of the nightly script (in 270 s their number stays between 83 and 102).
    assert.ok(after.descriptors <= before.descriptors + 40, "descriptors were left behind");
    // Some pages are kept for reuse, and sanitizers keep more.
    if (!process.env.CORRAL_SANITIZE) assert.ok(after.resident <= before.resident + 48, "memory was left behind");
  }));
