// A mesh made by commands, as people do it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually, onMesh } from "../support/mesh.mjs";
import { missing } from "../support/netns.mjs";

const places = { a: ["scripted-hello"], b: ["tiny-llama"], c: [] };

async function done(server, ...words) {
  const { code, out, err } = await server.cli(...words);
  assert.equal(code, 0, `corral mesh ${words.join(" ")}: ${err}`);
  return out.trim();
}

test("create, join, and a third that is started with a token", { skip: missing }, () =>
  onMesh(places, { joined: false }, async (mesh) => {
    const [a, b, c] = mesh.all();
    const token = await done(a, "create");
    assert.match(token, /^corral-join_[A-Za-z0-9_-]+$/, "nothing but the token on standard output");
    await done(b, "join", token);
    await c.stop();
    await c.start("--join", await done(b, "token"));
    for (const server of mesh.all()) await eventually(`${server.name} sees all`, () => server.sees("scripted-hello", "tiny-llama"));
    const { nodes } = await c.told("nodes");
    assert.deepEqual(nodes.map((node) => node.name).sort(), ["a", "b", "c"]);
    const { models } = await c.told("models");
    assert.deepEqual(models.map((model) => [model.id, model.nodes.map((node) => node.name)]), [["scripted-hello", ["a"]], ["tiny-llama", ["b"]]]); // prettier-ignore
    assert.match(await done(c, "nodes"), /^NAME/);
    assert.match(await done(c, "models"), /tiny-llama/);

    await done(a, "revoke", "b");
    await eventually("c forgets it", async () => !(await c.sees("tiny-llama")));
    await done(c, "leave");
    assert.deepEqual(await c.visible(), []);

    const again = await c.cli("join", token);
    assert.notEqual(again.code, 0, "a token is good for one node");
    assert.match(again.err, /has no open join token/);
    const nonsense = await c.cli("join", "corral-join_x");
    assert.notEqual(nonsense.code, 0);
    assert.ok(nonsense.err.length > 0);
  }));
