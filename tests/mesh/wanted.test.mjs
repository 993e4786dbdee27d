// Memory that one model has and another is asked for more, and models that come back with a request. Of minutes:
// script/nightly runs it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually, onMesh } from "../support/mesh.mjs";
import { missing } from "../support/netns.mjs";
import { answer, foretold, half, bothHolders, holders, known, one, said, two, withModels } from "../support/scarce.mjs";

test("memory goes to what is asked for more, once the other was idle for a minute", { skip: missing }, () =>
  withModels(async (file, texts) => {
    await onMesh({ a: [file(one), file(two)], b: [file(two)] }, { medium: "bridge", flags: half }, async (mesh) => {
      const [a, b] = mesh.all();
      await known(mesh, one, two);
      await foretold(a, one);
      assert.equal(await said(b, one), texts[one]);
      const used = Date.now();
      for (const refused of await Promise.all(Array.from({ length: 8 }, () => answer(b, two)))) assert.equal(refused.status, 503, JSON.stringify(refused.body));
      await bothHolders(a, one); // it was used just now
      await eventually("the other one has the memory", async () => (await holders(a, two)).length === 2, 240_000);
      const waited = Date.now() - used;
      console.log(`the other one had the memory after ${waited} ms`);
      assert.ok(waited > 60_000, "not before it was idle for a minute");
      for (const server of mesh.all()) assert.equal(await said(server, two), texts[two]);
    });
  }));

// Requests before the unload made one more of them invisible: all were refused for minutes.
test("a split that was unloaded, by an order or for idleness, comes back with the next request", { skip: missing }, () =>
  withModels((file, texts) =>
    onMesh({ a: [file(one)], b: [], c: [] }, { medium: "bridge", flags: [...half, "--mesh-idle-unload", "15s"] }, async (mesh) => {
      const [a, , c] = mesh.all();
      await known(mesh, one);
      await foretold(c, one);
      const gone = () => eventually("it is unloaded", async () => (await holders(a, one)).length === 0);
      for (let count = 0; count < 18; ++count) assert.equal(await said(mesh.all()[count % 3], one), texts[one]);
      const used = Date.now();
      await gone();
      const idle = Date.now() - used;
      console.log(`unloaded ${idle} ms after its last request`);
      assert.ok(idle < 30_000, `by its own limit of 15 s, and not after ${idle} ms`);
      assert.equal(await said(c, one), texts[one]);
      const { code, err } = await a.cli("unload", one);
      assert.equal(code, 0, err);
      await gone();
      for (const server of mesh.all()) assert.equal(await said(server, one), texts[one], server.name);
    })));
