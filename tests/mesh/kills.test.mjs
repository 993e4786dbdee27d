// Hosts of requests die at random moments: each request ends, with the right answer or with one clear error.
// CORRAL_MESH_KILLS says how many; CORRAL_MESH_SEED repeats a run; with CORRAL_MESH_TELL each error is shown.
import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually, onMesh } from "../support/mesh.mjs";
import { missing } from "../support/netns.mjs";
import { randomFrom } from "../support/random.mjs";
import { ask } from "../support/asking.mjs";

const kills = Number(process.env.CORRAL_MESH_KILLS ?? 50);
const seed = Number(process.env.CORRAL_MESH_SEED ?? 1);
const kHung = 30_000; // ms; the goal is 3 s, and what it takes is printed

// tiny-llama has one host; scripted-hello has two, so that another can answer.
const places = { a: [], b: ["scripted-hello", "tiny-llama"], c: ["scripted-hello"] };

const knowsAll = (server) =>
  eventually("who has what is known", async () => {
    const { models } = (await server.get("/v1/mesh/models")).body;
    return models.map((model) => `${model.id} ${model.nodes.map((node) => node.name).sort()}`).join("; ") === "scripted-hello b,c; tiny-llama b";
  });

test(`${kills} kills of hosts at random moments, seed ${seed}`, { skip: missing, timeout: 60_000 + kills * 10_000 }, () =>
  onMesh(places, { flags: ["--max-loaded-models", "llm=2"] }, async (mesh) => {
    const random = randomFrom(seed);
    const a = mesh.at("a");
    await knowsAll(a);
    const expected = {};
    for (const model of ["scripted-hello", "tiny-llama"]) expected[model] = await ask(a, model, false);
    const took = [];
    const ends = { right: 0 };
    for (let round = 0; round < kills; ++round) {
      const victim = mesh.at(random.pick(["b", "c"]));
      const began = Date.now();
      const asked = [...Array(4)].map(async () => {
        const model = random.pick(Object.keys(expected));
        const end = await ask(a, model, random.chance(0.5));
        if (end.error === undefined) assert.deepEqual(end, expected[model], `of ${model}, in round ${round}`);
        assert.notEqual(end.status, 404, `there is ${model}, in round ${round}: ${end.message}`);
        const what = end.error === undefined ? "right" : `${end.status} ${end.error}`;
        ends[what] = (ends[what] ?? 0) + 1;
        if (process.env.CORRAL_MESH_TELL && (end.error || Date.now() - began > 500)) console.log(round, Date.now() - began, model, what, end.message ?? "");
        return Date.now();
      });
      await new Promise((resolve) => setTimeout(resolve, random.below(60)));
      const killed = Date.now();
      if (process.env.CORRAL_MESH_TELL) console.log(round, killed - began, `${victim.name} is killed`);
      victim.child.kill("SIGKILL");
      let timer;
      const hung = new Promise((_, reject) => (timer = setTimeout(reject, kHung, new Error(`hangs in round ${round}`))));
      const ended = await Promise.race([Promise.all(asked), hung]).finally(() => clearTimeout(timer));
      took.push(Math.max(0, Math.max(...ended) - killed));
      await victim.ended;
      await victim.alone();
      await victim.start();
      await knowsAll(a);
    }
    took.sort((x, y) => x - y);
    const at = (share) => took[Math.min(took.length - 1, Math.floor(took.length * share))];
    console.log(`kill → the last of 4 requests has ended: p50 ${at(0.5)}, p99 ${at(0.99)}, most ${at(1)} ms; ${JSON.stringify(ends)}`);
    assert.ok(ends.right > 0);
  }));
