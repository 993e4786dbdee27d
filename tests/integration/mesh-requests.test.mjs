// Requests in a mesh of real servers on loopback: each node answers requests for the models of all nodes, and loads the models
// that it is told to load.
import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { test } from "node:test";
import { again, corral, found, hashed, joinTo, listed, mesh, node, nodes, reachable, sees, until, withNodes } from "../support/mesh-nodes.mjs";

test("every node lists the models of all, with who has them", async () => {
  await withNodes([await node("a", ["tiny-llama.gguf", "tiny-embed.gguf"]), await node("b", ["tiny-qwen3.gguf", "tiny-embed.gguf"])], async (a, b) => {
    const before = (await listed(b)).find(({ id }) => id === "tiny-qwen3");
    await found(a);
    await joinTo(b, a);
    const all = ["tiny-llama", "tiny-embed", "tiny-qwen3"];
    await Promise.all([sees(a, ...all), sees(b, ...all)]);
    // A local entry is what it was, and says more.
    const own = await until(async () => (await listed(b)).find(({ id }) => id === "tiny-qwen3"), (entry) => entry.nodes);
    assert.deepEqual({ ...own, nodes: undefined, status: before.status }, { ...before, nodes: undefined });
    assert.deepEqual(own.nodes.map(({ name, state }) => [name, state]), [["b", "unloaded"]]);
    const far = (await listed(b)).find(({ id }) => id === "tiny-llama");
    const there = (await listed(a)).find(({ id }) => id === "tiny-llama");
    for (const member of ["object", "type", "size", "size_bytes", "max_context_length", "architecture", "quantization", "capabilities", "labels"])
      assert.deepEqual(far[member], there[member], member);
    assert.deepEqual(far.nodes.map(({ name }) => name), ["a"]);
    assert.equal(far.status.mesh, "unloaded");
    assert.deepEqual((await b.get("/v1/models/tiny-llama")).body.id, "tiny-llama");
    assert.equal((await b.get("/v1/models/no-such-model")).status, 404);
    // Equal files are one model, once their contents are known.
    const both = await until(async () => (await listed(a)).find(({ id }) => id === "tiny-embed"), (entry) => entry?.nodes?.length === 2);
    assert.deepEqual(both.nodes.map(({ name }) => name).sort(), ["a", "b"]);
    assert.match((await corral(a, ["list"])).out, /NODES\n[^]*tiny-qwen3.* b\n/);
    const models = await corral(b, ["mesh", "models"]);
    assert.match(models.out, /tiny-llama +llm .* a +-\n/);
    const why = await corral(b, ["mesh", "why", "tiny-llama"]);
    assert.match(why.out, /^a request for tiny-llama would go to a\n/);
    const doctor = await corral(b, ["mesh", "doctor"]);
    assert.equal(doctor.code, 0, doctor.out);
    assert.match(doctor.out, /ok +a: reached: it can reach this node at 127\.0\.0\.1:\d+/);
    assert.match(doctor.out, /ok +a: clock/);
  });
});

test("a request goes to the node that has the model, whichever is asked", async () => {
  await withNodes([await node("a", ["tiny-llama.gguf", "tiny-embed.gguf"]), await node("b", ["tiny-qwen3.gguf"])], async (a, b) => {
    await found(a);
    await joinTo(b, a);
    await Promise.all([sees(a, "tiny-qwen3"), sees(b, "tiny-llama", "tiny-embed")]);
    const text = ({ body }) => body.choices[0].message.content;
    const direct = await a.chat("tiny-llama", "tell me");
    const through = await b.chat("tiny-llama", "tell me");
    assert.equal(through.status, 200, JSON.stringify(through.body));
    assert.equal(text(through), text(direct));
    assert.equal(through.body.model, "tiny-llama");
    let streamed = "";
    const asking = { model: "tiny-llama", messages: [{ role: "user", content: "tell me" }], temperature: 0, max_tokens: 16, stream: true };
    let last;
    for await (const data of b.events("/v1/chat/completions", asking)) {
      if (data.startsWith("{")) streamed += JSON.parse(data).choices[0]?.delta?.content ?? "";
      last = data;
    }
    assert.equal(last, "[DONE]");
    assert.equal(streamed, text(direct));
    const embed = { model: "tiny-embed", input: "hello" };
    assert.deepEqual((await b.post("/v1/embeddings", embed)).body.data, (await a.post("/v1/embeddings", embed)).body.data);
    assert.deepEqual((await b.post("/v1/tokenize", { model: "tiny-llama", content: "a b" })).body, (await a.post("/v1/tokenize", { model: "tiny-llama", content: "a b" })).body);
    assert.equal((await a.chat("tiny-qwen3", "hi", { max_tokens: 2 })).status, 200);

    const { body: log } = await until(() => b.get("/v1/activity"), ({ body }) => body.activity.length === 4);
    const places = (model) => log.activity.filter((row) => row.model === model).map(({ node_name }) => node_name);
    assert.deepEqual(places("tiny-llama"), ["a", "a", "a"]);
    assert.match((await corral(b, ["activity"])).out, /MODEL .* NODE\ntiny-llama .* a\n/);

    const wrong = await b.post("/v1/chat/completions", { model: "tiny-embed", messages: [] });
    assert.equal(wrong.status, 400, "a wrong type is refused at the entry");
    const unknown = await b.chat("no-such-model", "hi");
    assert.equal(unknown.status, 404);
    assert.equal(unknown.body.error.code, "model_not_found");
    assert.equal((await b.loaded()).every(({ model_name }) => model_name === "tiny-qwen3"), true);

    // Who serves what shows at both within a second or so.
    await until(() => listed(b), (list) => list.some(({ id, status }) => id === "tiny-llama" && status.mesh === "ready"));
    await until(() => corral(b, ["ps"]), ({ out }) => /tiny-llama .* a\n/.test(out));
    const metrics = await (await b.fetch("/metrics")).text();
    assert.match(metrics, /^corral_mesh_members 2$/m);
    assert.match(metrics, /^corral_mesh_link_up\{node="[0-9a-f]{12}",name="a"\} 1$/m);
  });
});

test("a model of another machine is run by name, and who asks for what only that machine can do is told where it is", async () => {
  await withNodes([await node("a", ["tiny-llama.gguf"]), await node("b", ["tiny-qwen3.gguf"])], async (a, b) => {
    await found(a);
    await joinTo(b, a);
    await sees(b, "tiny-llama");
    const ran = await corral(b, ["run", "tiny-llama", "Hello", "--max-tokens", "4"]);
    assert.equal(ran.code, 0, ran.err);
    assert.notEqual(ran.out.trim(), "");
    assert.equal(ran.err, "");
    const sized = await corral(b, ["run", "tiny-llama", "Hello", "--max-tokens", "4", "--ctx-size", "512"]);
    assert.equal(sized.code, 0, sized.err);
    assert.match(sized.err, /warning: .*no effect here: set them at a/);
    assert.deepEqual(await b.loaded(), []);
    const loaded = await b.post("/v1/load", { model_name: "tiny-llama" });
    assert.equal(loaded.status, 200, JSON.stringify(loaded.body));
    assert.match(loaded.body.warnings[0], /is at a, which loads it at the first request/);
    for (const [answer, status] of [
      [await b.post("/v1/estimate", { model_name: "tiny-llama" }), 404],
      [await b.get("/v1/models/tiny-llama/options"), 404],
      [await b.post("/internal/pin", { model_name: "tiny-llama", pinned: true }), 400],
    ]) {
      assert.equal(answer.status, status, JSON.stringify(answer.body));
      assert.match(answer.body.error.message, /'tiny-llama' is not on this machine but at a:/);
    }
  });
});

test("when the node that has a model is gone, there is one clear error, and local models know nothing of it", async () => {
  const list = [await node("a", ["tiny-llama.gguf"]), await node("b", ["tiny-qwen3.gguf"])];
  await withNodes([list[1]], async (b) => {
    await found(list[0]);
    await joinTo(b, list[0]);
    await sees(b, "tiny-llama");
    list[0].child.kill("SIGKILL");
    await list[0].ended;
    rmSync(list[0].state, { recursive: true, force: true });
    rmSync(list[0].modelsDir, { recursive: true, force: true });
    await until(() => nodes(b), (all) => all.some(({ self, routable }) => !self && !routable));
    const gone = await b.chat("tiny-llama", "hi");
    assert.equal(gone.status, 503, JSON.stringify(gone.body));
    assert.equal(gone.body.error.code, "node_out_of_reach");
    assert.match(gone.body.error.message, /^'tiny-llama' is on a, which has been unreachable for \d+ s$/);
    assert.equal((await b.get("/v1/models/tiny-llama")).status, 503);
    assert.equal((await b.post("/v1/load", { model_name: "tiny-llama" })).status, 503);
    const run = await corral(b, ["run", "tiny-llama", "Hello"]);
    assert.equal(run.code, 1);
    assert.match(run.err, /'tiny-llama' is on a, which has been unreachable/);
    for (const answer of [await b.get("/v1/mesh/why/tiny-llama"), await b.post("/v1/mesh/pull", { model: "tiny-llama" })]) {
      assert.equal(answer.status, 503, JSON.stringify(answer.body));
      assert.match(answer.body.error.message, /^'tiny-llama' is on a, which has been unreachable for \d+ s$/);
    }
    assert.equal((await b.chat("tiny-qwen3", "hi", { max_tokens: 2 })).status, 200);
    assert.ok(!(await listed(b)).some(({ id }) => id === "tiny-llama"));
    const doctor = await corral(b, ["mesh", "doctor"]);
    assert.equal(doctor.code, 1);
    assert.match(doctor.out, /failed +a: link: no link \(dialled at/);
  });
});

const lent = async (server, name) =>
  (await nodes(server)).filter(({ serving }) => serving?.some((one) => one.model === name && one.state === "ready" && one.lent)).map(({ name: node }) => node);

test("a worker without models gets one, gives it back when it is told to, and has it again when somebody asks", async () => {
  const list = [await node("a", ["tiny-llama.gguf"]), await node("b", [], { flags: ["--mesh-role", "worker"] })];
  await withNodes(list, async (a, b) => {
    await found(a);
    await joinTo(b, a);
    await until(() => lent(b, "tiny-llama"), (who) => who.length === 1 && who[0] === "b");
    // `a` hears of the model a moment after `b` has loaded it, and plans with it another moment later.
    await until(() => corral(a, ["mesh", "plan"]), ({ out }) => /b +tiny-llama +alone/.test(out));
    await until(() => corral(a, ["mesh", "why", "tiny-llama"]), ({ out }) => /b has tiny-llama and keeps it/.test(out));
    const of = await mesh(a, "/plan/tiny-llama");
    assert.equal(of.assignments.length, 1);
    assert.equal(of.foretold.split, null);
    assert.ok(of.foretold.alone);

    // What another node is to do needs its consent.
    const refused = await a.post("/v1/mesh/assign", { node: "b", nothing: true });
    assert.equal(refused.status, 403);
    assert.equal(refused.body.error.code, "mesh_admin_off");
    assert.match(refused.body.error.message, /^b: .*mesh_admin = true/);

    const unloaded = await corral(b, ["mesh", "unload", "tiny-llama"]);
    assert.equal(unloaded.code, 0, unloaded.err);
    await until(() => lent(b, "tiny-llama"), (who) => who.length === 0);
    await until(() => mesh(b, "/plan"), ({ unserved }) => unserved.some(({ model, lack }) => model === "tiny-llama" && lack === "told"));
    assert.equal((await b.chat("tiny-llama", "hi", { max_tokens: 2 })).status, 200);
  });
});

test("a node has what it was told to have, also after a restart", async () => {
  const list = [
    await node("a", ["tiny-qwen3.gguf"]),
    await node("b", ["tiny-llama.gguf", "tiny-qwen3.gguf"], { flags: ["--mesh-role", "worker", "--mesh-admin"] }),
  ];
  await withNodes(list, async (a, b) => {
    await found(a);
    await joinTo(b, a);
    await reachable(a, 2);
    await hashed(a, "tiny-llama");
    const name = "tiny-qwen3";
    const told = await corral(a, ["mesh", "assign", "b", name]);
    assert.equal(told.code, 0, told.err);
    await until(() => lent(a, name), (who) => who.length === 1);
    assert.equal((await a.post("/v1/mesh/assign", { node: "b", model: "no-such-model" })).status, 404);
    assert.equal((await a.post("/v1/mesh/assign", { node: "nobody", model: name })).status, 404);
    list[1] = await again(b, "b", ["tiny-llama.gguf", "tiny-qwen3.gguf"], "SIGTERM", ["--mesh-role", "worker", "--mesh-admin"]);
    await until(() => lent(list[1], name), (who) => who.length === 1);
    const released = await corral(a, ["mesh", "assign", "b", "nothing"]);
    assert.equal(released.code, 0, released.err);
    await until(() => lent(list[1], name), (who) => who.length === 0);
  });
});
