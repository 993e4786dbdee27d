// A mesh of real servers on loopback copies models: for a command and for the plan.
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { corral, found, hashed, joinTo, mesh, node, nodes, reachable, until, withNodes } from "../support/mesh-nodes.mjs";
import { models } from "../support/server.mjs";
import { withoutVocabulary } from "../support/broken-models.mjs";

test("a model is copied from the machine next door, and is this one's from then on", async () => {
  const list = [await node("a", ["tiny-llama.gguf"]), await node("b", ["tiny-qwen3.gguf"])];
  await withNodes(list, async (a, b) => {
    await found(a);
    await joinTo(b, a);
    await hashed(b, "tiny-llama");

    const unknown = await b.post("/v1/mesh/pull", { model: "no-such-model" });
    assert.equal(unknown.status, 404);
    assert.equal(unknown.body.error.param, "model");
    const pulled = await corral(b, ["mesh", "pull", "tiny-llama"]);
    assert.equal(pulled.code, 0, pulled.err);
    assert.match(pulled.out, /tiny-llama  done/);
    // What was hidden until the model was whole goes when all of it is on the disk, a moment after it is served.
    const hidden = (name) => name.startsWith(".corral-copy-");
    const [folder, ...others] = await until(() => readdirSync(join(b.state, "models")), (names) => !names.some(hidden));
    assert.match(folder, /^tiny-llama-[0-9a-f]{8}$/);
    assert.deepEqual(others, []);
    assert.deepEqual(readFileSync(join(b.state, "models", folder, "tiny-llama.gguf")), readFileSync(join(models, "tiny-llama.gguf")));
    await until(() => mesh(a, "/models"), ({ models }) => models.some(({ id, nodes }) => id === "tiny-llama" && nodes.length === 2));

    // It is served here now, also when the other one has gone.
    await a.stop();
    assert.equal((await b.chat("tiny-llama", "hi", { max_tokens: 2 })).status, 200);
    const again = await b.post("/v1/mesh/pull", { model: "tiny-llama" });
    assert.equal(again.status, 409);
    assert.equal(again.body.error.code, "copy_not_needed");
  });
});

test("who gives no copies says so, and nothing is left behind", async () => {
  const list = [await node("a", ["tiny-llama.gguf"], { flags: ["--no-mesh-copies"] }), await node("b", ["tiny-qwen3.gguf"])];
  await withNodes(list, async (a, b) => {
    await found(a);
    await joinTo(b, a);
    await hashed(b, "tiny-llama");
    const refused = await b.post("/v1/mesh/pull", { model: "tiny-llama" });
    assert.equal(refused.status, 404);
    assert.equal(refused.body.error.code, "mesh_not_offered");
    assert.equal(existsSync(join(b.state, "models")), false);
    assert.deepEqual((await mesh(b, "/copies")).copies, []);
  });
});

test("no request copies a model that fits nowhere that has it; the plan does, where a node lets it", async () => {
  const list = [
    await node("a", ["tiny-llama.gguf"], { flags: ["--mesh-lend-memory", "0"] }),
    await node("b", ["tiny-qwen3.gguf"]),
    await node("c", ["tiny-qwen3.gguf"]),
  ];
  await withNodes(list, async (a, b, c) => {
    await found(a);
    await joinTo(b, a);
    await joinTo(c, a);
    for (const server of list) {
      await reachable(server, 3);
      await hashed(server, "tiny-llama");
      await until(() => nodes(server), (all) => all.every(({ memory }) => memory?.length > 0));
    }
    const refused = await c.chat("tiny-llama", "hi", { max_tokens: 2 });
    assert.equal(refused.status, 503, JSON.stringify(refused.body));
    assert.equal(refused.body.error.code, "no_capacity");
    assert.ok(Number(refused.headers.get("Retry-After")) > 0);
    for (const server of list) assert.deepEqual((await mesh(server, "/copies")).copies, []);

    assert.equal((await b.post("/internal/set", { mesh_auto_copy: true })).status, 200);
    await until(
      () => c.chat("tiny-llama", "hi", { max_tokens: 2 }),
      ({ status, body }) => {
        assert.ok(status === 200 || (status === 503 && body.error.code === "no_capacity"), JSON.stringify(body));
        return status === 200;
      },
    );
    const copies = await until(() => mesh(b, "/copies").then(({ copies }) => copies), ([copy]) => copy?.state === "done");
    assert.deepEqual(copies.map(({ model, by_request }) => [model, by_request]), [["tiny-llama", true]]);
    for (const server of [a, c]) assert.deepEqual((await mesh(server, "/copies")).copies, []);
  });
});

test("files that are no model get no name, whoever gives them", async () => {
  const list = [await node("a", []), await node("b", ["tiny-qwen3.gguf"])];
  await withNodes(list, async (a, b) => {
    const file = join(a.modelsDir, "odd.gguf");
    writeFileSync(file, withoutVocabulary("tiny-llama.gguf"));
    utimesSync(file, 1e9, 1e9);
    await found(a);
    await joinTo(b, a);
    await a.get("/v1/models?rescan=true");
    await hashed(b, "odd");
    const pulled = await corral(b, ["mesh", "pull", "odd"]);
    assert.equal(pulled.code, 1);
    assert.match(pulled.err, /the files are rejected: .*odd\.gguf.*vocab/);
    const [copy] = (await mesh(b, "/copies")).copies;
    assert.equal(copy.state, "failed");
    assert.match(copy.problem, /vocab/);
    await until(() => readdirSync(join(b.state, "models")), (entries) => entries.length === 0);
    assert.equal((await b.chat("tiny-qwen3", "hi", { max_tokens: 2 })).status, 200);
  });
});
