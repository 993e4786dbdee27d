// Nodes that come back, with all that they knew, with less, or with nothing: each is there once, and no ghost with it.
import assert from "node:assert/strict";
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { eventually, onMesh } from "../support/mesh.mjs";
import { missing } from "../support/netns.mjs";

const places = { a: ["scripted-hello"], b: ["tiny-llama"], c: ["tiny-qwen3"] };
const nodesAt = async (server) => (await server.get("/v1/mesh/nodes")).body.nodes;
// Nodes of one name have the beginnings of their identifiers in their names.
const named = async (server, name) => (await nodesAt(server)).filter((node) => node.name.split("@")[0] === name);
const idOf = (server) => eventually(`${server.name} is in its mesh`, async () => (await server.get("/v1/mesh")).body.node.id);
const seen = (server, ...names) => eventually(`${server.name} sees ${names}`, () => server.sees(...names));

// Files of that name below the folder.
const found = (folder, name) =>
  readdirSync(folder, { recursive: true }).filter((path) => path.split("/").at(-1) === name).map((path) => join(folder, path)); // prettier-ignore

for (const lost of ["nothing", "the count of its lives"]) {
  test(`a node that lost ${lost} is the same node again`, { skip: missing }, () =>
    onMesh(places, {}, async (mesh) => {
      const [a, b, c] = mesh.all();
      await seen(a, "tiny-qwen3");
      const id = await idOf(c);
      for (let round = 0; round < 3; ++round) {
        await c.kill();
        if (lost !== "nothing") {
          const files = found(c.state, "epoch");
          assert.equal(files.length, 1);
          rmSync(files[0]);
        }
        rmSync(join(c.models, "tiny-qwen3.gguf"), { force: true });
        c.have(round % 2 ? "tiny-qwen3" : "tiny-moe");
        await c.start();
        assert.equal(await idOf(c), id);
        // What it says now counts, and what it said in its last life doesn't.
        for (const server of [a, b]) {
          await eventually(`${server.name} sees what c has now`, async () => {
            const visible = await server.visible();
            return visible.includes("tiny-moe") && visible.includes("tiny-qwen3") === (round === 1);
          });
          assert.equal((await named(server, "c")).length, 1);
        }
      }
    }));
}

test("a node that lost its whole disk is a new one, and the old one is gone", { skip: missing }, () =>
  onMesh(places, {}, async (mesh) => {
    const [a, b, c] = mesh.all();
    await seen(a, "tiny-qwen3");
    const old = await idOf(c);
    const up = async (server) => (await named(server, "c")).filter(({ link }) => link === "up").map(({ id }) => id);
    await c.kill();
    c.loseDisk();
    rmSync(join(c.models, "tiny-qwen3.gguf"));
    c.have("tiny-moe");
    await c.start();
    assert.equal((await c.chat("scripted-hello", "hi")).status, 404, "it is in no mesh");
    await mesh.admit(a, c);
    assert.notEqual(await idOf(c), old);
    for (const server of [a, b]) {
      await seen(server, "tiny-moe");
      // The link to the old node ends by itself, maybe after the new node has joined. Its models are listed until then.
      await eventually(`${server.name} has no link to the old one`, async () => !(await up(server)).includes(old));
      await eventually(`nothing that the old one said lives on at ${server.name}`, async () => !(await server.sees("tiny-qwen3")));
      assert.deepEqual(await up(server), [await idOf(c)]);
    }
  }));

test("a node that was away while another was thrown out hears of it, and so do those that only it reaches", { skip: missing }, () =>
  onMesh(places, {}, async (mesh) => {
    const [a, b, c] = mesh.all();
    await seen(a, "tiny-qwen3");
    await c.kill();
    assert.equal((await a.post("/v1/mesh/revoke", { node: "b" })).status, 200);
    await mesh.lab.cut("a", "c");
    await mesh.lab.cut("a", "b");
    await c.start(); // reaches b only, which doesn't tell
    await mesh.lab.heal("a", "c");
    await seen(c, "scripted-hello");
    await eventually("c forgets b", async () => !(await c.sees("tiny-llama")));
  }));
