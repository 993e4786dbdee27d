// Clients at three nodes ask six models in turn while nodes die, paths break and all of it heals: every answer is right or
// one clear error, none comes from another model, what a node has itself it always serves, and nothing is left behind.
// CORRAL_MESH_SECONDS says for how long; CORRAL_MESH_SEED repeats the choices of a run.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ask } from "../support/asking.mjs";
import { eventually, onMesh } from "../support/mesh.mjs";
import { missing } from "../support/netns.mjs";
import { randomFrom } from "../support/random.mjs";

const seconds = Number(process.env.CORRAL_MESH_SECONDS ?? 120);
const seed = Number(process.env.CORRAL_MESH_SEED ?? Date.now() % 1_000_000);
const kClients = 2; // at each node
const kCalm = 5; // s before it begins
const kHung = 60_000; // ms
// A model that was killed, or a node that was, may refuse for so long: loads that fail twice cool down for ten seconds.
const kAftermath = 15_000; // ms

const places = {
  a: ["scripted-hello", "tiny-llama", "tiny-embed"],
  b: ["scripted-unicode", "tiny-qwen3", "scripted-hello"],
  c: ["scripted-tool-call", "tiny-llama"],
};
const models = [...new Set(Object.values(places).flat())].sort();
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// What the model says to `server`, or one error.
async function answer(server, model, stream) {
  if (model !== "tiny-embed") return ask(server, model, stream);
  const { status, body } = await server.post("/v1/embeddings", { model, input: "a horse" });
  if (status === 200) return { said: body.data[0].embedding.map((value) => value.toFixed(3)).join(" ") };
  assert.ok(body.error?.code && body.error.message, `a clear error: ${status} ${JSON.stringify(body)}`);
  return { error: body.error.code, status };
}

class Storm {
  counts = {};
  failures = [];
  upset = {}; // node → when its server or an engine of it was last out of order (ms); Infinity: it is now
  constructor(mesh, expected, random) {
    Object.assign(this, { mesh, expected, random });
  }
  clients(length) {
    this.end = Date.now() + length * 1000;
    return this.mesh.all().flatMap(({ name }, at) => [...Array(kClients)].map((_, number) => this.client(name, at * 2 + number * 3)));
  }
  over() {
    return Date.now() > this.end || this.failures.length > 0;
  }
  count(what) {
    this.counts[what] = (this.counts[what] ?? 0) + 1;
  }

  async client(name, number) {
    const server = this.mesh.at(name);
    for (let turn = number; !this.over(); ++turn) {
      const model = models[turn % models.length];
      const begin = Date.now();
      const upset = () => (this.upset[name] ?? -Infinity) > begin - kAftermath;
      let timer;
      const hung = new Promise((resolve) => (timer = setTimeout(resolve, kHung, "hangs")));
      try {
        const end = await Promise.race([answer(server, model, turn % 2 === 0), hung]);
        if (end === "hangs") this.failures.push(`${name} asks ${model}: hangs`);
        else if (end.error === undefined && end.said !== this.expected[model]) this.failures.push(`${name} asks ${model}: ${JSON.stringify(end)}`);
        else if (end.status === 404) this.failures.push(`${name} asks ${model}: ${JSON.stringify(end)}`);
        else if (end.error !== undefined && places[name].includes(model) && !upset()) this.failures.push(`${name} has ${model}: ${JSON.stringify(end)}`);
        else this.count(end.error === undefined ? `right` : `${end.status} ${end.error}`);
      } catch (error) {
        if (!upset() || error.code === "ERR_ASSERTION") this.failures.push(`${name} asks ${model}: ${error.stack}`);
        else this.count("its node was away");
        await pause(20);
      } finally {
        clearTimeout(timer);
      }
    }
  }

  async away(name, act) {
    this.upset[name] = Infinity;
    await act();
    this.upset[name] = Date.now();
  }
  // a is never killed: it shows what stays behind in a server.
  async deed() {
    const { random, mesh } = this;
    const victim = mesh.at(random.pick(["b", "c"]));
    const other = random.pick(["a", "b", "c"].filter((name) => name !== victim.name));
    const rest = () => pause(200 + random.below(4000));
    const deeds = {
      kill: () => this.away(victim.name, () => victim.kill().then(() => pause(random.below(2000))).then(() => victim.start())), // prettier-ignore
      stop: () => this.away(victim.name, () => victim.stop().then(() => victim.start())),
      pause: () => this.away(victim.name, async () => {
        victim.child.kill("SIGSTOP");
        await rest();
        victim.child.kill("SIGCONT");
      }), // prettier-ignore
      "kill an engine": async () => {
        const place = mesh.at(random.pick(["a", "b", "c"]));
        const engine = random.pick((await place.loaded().catch(() => [])).filter((entry) => entry.pid));
        if (engine) await this.away(place.name, async () => process.kill(engine.pid, "SIGKILL"));
      },
      plug: () => mesh.lab.isolate(victim.name).then(rest),
      pair: () => mesh.lab.cut(victim.name, other).then(rest),
      "one way": () => mesh.lab.cutOneWay(victim.name, other).then(rest),
      "other way": () => mesh.lab.cutOneWay(other, victim.name).then(rest),
      slow: () => mesh.lab.everywhere({ delay: random.below(10), loss: 1, jitter: 1 }).then(rest),
    };
    const name = random.pick(Object.keys(deeds));
    this.count(`did: ${name}`);
    await deeds[name]();
    await mesh.lab.heal();
    await pause(random.below(2500));
  }
  async destroyer() {
    while (!this.over()) await this.deed().catch((error) => error.code === "ESRCH" || this.failures.push(error.stack));
  }
}

// What node `a` holds with nothing loaded, once that has settled.
async function holdings(server) {
  assert.equal((await server.post("/v1/unload", {})).status, 200);
  let last;
  return eventually("it settles", async () => {
    const now = server.holdings();
    const same = last && now.descriptors === last.descriptors && now.processes === last.processes;
    last = now;
    await pause(500);
    return same && now;
  });
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
    const storm = new Storm(mesh, expected, randomFrom(seed));
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
