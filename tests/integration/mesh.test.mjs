// Real servers on loopback that become one mesh: founding, joining, who is in it, leaving, throwing out, restarts.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { copyFileSync, cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { models, program, Server } from "../support/server.mjs";

const loopback = ["--no-hub-cache", "--no-warm-spare", "--mesh-listen", "127.0.0.1:0", "--mesh-gossip-port", "off"];

// A node with these models alone.
async function node(name, files, { flags = [], ...more } = {}) {
  const modelsDir = mkdtempSync(join(tmpdir(), "corral-mesh-"));
  for (const file of files) {
    copyFileSync(join(models, file), join(modelsDir, file));
    utimesSync(join(modelsDir, file), 1e9, 1e9); // what was just written isn't hashed yet
  }
  const server = await Server.launch({ modelsDir, ...more }, ...loopback, "--mesh-name", name, ...flags);
  server.modelsDir = modelsDir;
  return server;
}

// Ends all of them, whatever the test came to.
async function withNodes(list, use) {
  try {
    await use(...list);
  } finally {
    for (const server of list) {
      await server.stop();
      rmSync(server.modelsDir, { recursive: true, force: true });
    }
  }
}

// Asks again until it is so. The test's own limit ends it.
async function until(ask, fits) {
  for (;;) {
    const answer = await ask();
    if (fits(answer)) return answer;
    await new Promise((next) => setImmediate(next));
  }
}
const mesh = (server, path = "") => server.get(`/v1/mesh${path}`).then(({ body }) => body);
const nodes = (server) => mesh(server, "/nodes").then(({ nodes }) => nodes);
// What they are called is known with their first words.
const reachable = (server, count) => until(() => nodes(server), (list) => list.filter(({ routable, announced }) => routable && announced).length === count);

async function token(server, body = {}) {
  const made = await server.post("/v1/mesh/tokens", body);
  assert.equal(made.status, 200, JSON.stringify(made.body));
  return made.body.token;
}
async function found(server) {
  const founded = await server.post("/v1/mesh/create", {});
  assert.equal(founded.status, 200, JSON.stringify(founded.body));
  return founded.body;
}
async function joinTo(server, first) {
  const joined = await server.post("/v1/mesh/join", { token: await token(first) });
  assert.equal(joined.status, 200, JSON.stringify(joined.body));
  return joined.body;
}
const corral = (server, words, options = {}) => {
  const done = spawnSync(program, [...words, "--url", server.url], { encoding: "utf8", timeout: 60_000, ...options });
  return { code: done.status, out: done.stdout, err: done.stderr };
};
// Does what blocks in another process, so that the servers' output is read meanwhile.
const corralBeside = (server, words, input = "") =>
  new Promise((resolve) => {
    const child = spawn(program, [...words, "--url", server.url], { stdio: ["pipe", "pipe", "pipe"] });
    let out = "", err = "";
    child.stdout.on("data", (bytes) => (out += bytes));
    child.stderr.on("data", (bytes) => (err += bytes));
    child.on("exit", (code) => resolve({ code, out, err }));
    child.stdin.end(input);
  });

test("without a mesh nothing listens and no file is there", async () => {
  await withNodes([await node("alone", ["tiny-llama.gguf"])], async (alone) => {
    const status = await mesh(alone);
    assert.equal(status.status, "none");
    assert.equal(status.mesh_id, null);
    assert.ok(!existsSync(join(alone.state, "mesh")));
    for (const path of ["/v1/mesh/leave", "/v1/mesh/tokens"]) {
      const refused = await alone.post(path, {});
      assert.equal(refused.status, 409, path);
      assert.equal(refused.body.error.code, "mesh_none");
      assert.match(refused.body.error.message, /corral mesh create/);
    }
    const threads = readdirSync(`/proc/${alone.pid}/task`).length;
    await found(alone);
    assert.ok(readdirSync(`/proc/${alone.pid}/task`).length > threads, "the mesh has a thread of its own, but only once there is one");
  });
});

test("one founds, one joins by hand, and both know of it", async () => {
  await withNodes([await node("first", ["tiny-llama.gguf"]), await node("second", ["tiny-qwen3.gguf"])], async (first, second) => {
    const made = await corralBeside(first, ["mesh", "create"]);
    assert.equal(made.code, 0, made.err);
    assert.match(made.out, /^corral-join_[\w-]+\n$/, "the token stands alone on standard output");
    assert.doesNotMatch(made.err, /corral-join_/);
    const joined = await corralBeside(second, ["mesh", "join", "-"], made.out);
    assert.equal(joined.code, 0, joined.err);
    assert.match(joined.err, /^dial 127\.0\.0\.1:\d+ \(within 6(\.0)? s\)\nproof .*\nadmit .*\nmembers .*\n/);
    await Promise.all([reachable(first, 2), reachable(second, 2)]);
    const listed = await corralBeside(first, ["mesh", "nodes"]);
    assert.match(listed.out, /^NAME +ID +LINK/);
    assert.match(listed.out, /^first \*/m);
    assert.equal((await mesh(first)).open_tokens, 0);
    // The token is nowhere: not in what the servers said, not in their files.
    const secret = made.out.trim();
    for (const server of [first, second]) {
      assert.doesNotMatch(server.lines.join("\n"), /corral-join_/);
      for (const file of readdirSync(join(server.state, "mesh"))) {
        assert.ok(!readFileSync(join(server.state, "mesh", file), "latin1").includes(secret.slice(20, 60)), file);
        assert.equal(statSync(join(server.state, "mesh", file)).mode & 0o077, 0, file);
      }
      assert.equal(statSync(join(server.state, "mesh")).mode & 0o777, 0o700);
    }
  });
});

test("tokens that are wrong, used, expired, taken back or foreign are refused with the reason, and change nothing", async () => {
  const list = [await node("a", []), await node("b", []), await node("c", [])];
  await withNodes(list, async (a, b, c) => {
    await found(a);
    await found(c);
    const refused = async (text, status, code, words) => {
      const answer = await b.post("/v1/mesh/join", { token: text });
      assert.equal(answer.status, status, JSON.stringify(answer.body));
      assert.equal(answer.body.error.code, code);
      assert.match(answer.body.error.message, words);
      assert.doesNotMatch(answer.body.error.message, /corral-join_\w/, "no error repeats a token");
      assert.equal((await mesh(b)).status, "none");
      assert.equal((await nodes(a)).length, 1);
    };
    await refused("nonsense", 400, "mesh_token_malformed", /token/);
    await refused("corral-join_" + "A".repeat(120), 400, "mesh_token_mistyped", /./);
    const good = await token(a);
    const at = 40;
    const swapped = good.slice(0, at) + (good[at] === "A" ? "B" : "A") + good.slice(at + 1);
    await refused(swapped, 400, "mesh_token_mistyped", /./);
    const withdrawn = await a.post("/v1/mesh/tokens", {});
    assert.equal((await a.json("DELETE", `/v1/mesh/tokens/${withdrawn.body.id}`)).status, 200);
    await refused(withdrawn.body.token, 403, "mesh_token_withdrawn", /'proof'/);
    const short = await token(a, { expires_in: 1 });
    await until(() => mesh(a, "/tokens"), ({ tokens }) => tokens.some(({ state }) => state === "expired"));
    await refused(short, 403, "mesh_token_expired", /'proof'/);
    assert.equal((await a.post("/v1/mesh/tokens", { expires_in: 0 })).status, 400);
    assert.equal((await a.post("/v1/mesh/tokens", { expires_in: 604801 })).status, 400);

    // The same one joins twice over: once it is in, it is in.
    assert.equal((await b.post("/v1/mesh/join", { token: good })).status, 200);
    const again = await b.post("/v1/mesh/join", { token: await token(a) });
    assert.equal(again.status, 409);
    assert.equal(again.body.error.code, "mesh_already_joined");
    await c.post("/v1/mesh/leave", {});
    const used = await c.post("/v1/mesh/join", { token: good });
    assert.equal(used.status, 403);
    assert.equal(used.body.error.code, "mesh_token_used");
    assert.equal((await nodes(a)).length, 2);
  });
});

test("who is thrown out is out, for ever, and can only leave", async () => {
  await withNodes([await node("a", []), await node("b", []), await node("c", [])], async (a, b, c) => {
    await found(a);
    await joinTo(b, a);
    await joinTo(c, a);
    await Promise.all([a, b, c].map((server) => reachable(server, 3)));
    const { id } = (await mesh(c)).node;
    assert.equal((await b.post("/v1/mesh/revoke", { node: "nobody" })).status, 404);
    assert.equal((await b.post("/v1/mesh/revoke", { node: id.slice(0, 12) })).status, 200);
    await Promise.all([a, b].map((server) => until(() => nodes(server), (list) => list.length === 2)));
    await until(() => mesh(c), ({ status }) => status === "revoked");
    const refused = await c.post("/v1/mesh/join", { token: await token(a) });
    assert.equal(refused.status, 409);
    assert.match(refused.body.error.message, /corral mesh leave/);
    assert.equal((await c.post("/v1/mesh/leave", {})).status, 200);
    assert.equal((await mesh(c)).status, "none");
    // With a new key it is a new node.
    await joinTo(c, b);
    assert.notEqual((await mesh(c)).node.id, id);
    await Promise.all([a, b, c].map((server) => reachable(server, 3)));
  });
});

test("a node that leaves is gone at once", async () => {
  await withNodes([await node("a", []), await node("b", [])], async (a, b) => {
    await found(a);
    await joinTo(b, a);
    await Promise.all([a, b].map((server) => reachable(server, 2)));
    assert.equal((await b.post("/v1/mesh/leave", {})).status, 200);
    await until(() => nodes(a), (list) => list.length === 1);
    assert.deepEqual(readdirSync(join(b.state, "mesh")), []);
  });
});

test("serve --join joins beside serving, and shows the token in no list of processes", async () => {
  const first = await node("a", ["tiny-llama.gguf"]);
  await found(first);
  const secret = await token(first);
  const file = join(first.state, "invitation");
  writeFileSync(file, secret + "\n", { mode: 0o600 });
  const list = [first, await node("b", ["tiny-qwen3.gguf"], { flags: ["--join", secret] }), await node("c", [], { flags: ["--join", join(first.state, "none")] })];
  await withNodes(list, async (a, b, c) => {
    assert.doesNotMatch(readFileSync(`/proc/${b.pid}/cmdline`, "utf8"), /corral-join_[^*]/);
    await reachable(a, 2);
    assert.equal((await mesh(b)).status, "member");
    assert.equal((await b.chat("tiny-qwen3", "hi", { max_tokens: 2 })).status, 200);
    await until(() => c.lines.join("\n"), (text) => /doesn't join/.test(text));
    assert.equal((await mesh(c)).status, "none");
    assert.doesNotMatch(b.lines.join("\n"), /corral-join_/);
  });
});

// The payload of each event, from now on.
async function* eventsAt(server, path) {
  const given_up = new AbortController();
  try {
    const response = await fetch(server.url + path, { signal: given_up.signal });
    const decoder = new TextDecoder();
    for await (const bytes of response.body) yield decoder.decode(bytes, { stream: true });
  } finally {
    given_up.abort();
  }
}
const listed = (server) => server.get("/v1/models").then(({ body }) => body.data);
const sees = (server, ...names) => until(() => listed(server), (list) => names.every((name) => list.some(({ id }) => id === name)));

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
    assert.match((await corralBeside(a, ["list"])).out, /NODES\n[^]*tiny-qwen3.* b\n/);
    const models = await corralBeside(b, ["mesh", "models"]);
    assert.match(models.out, /tiny-llama +llm .* a +-\n/);
    const why = await corralBeside(b, ["mesh", "why", "tiny-llama"]);
    assert.match(why.out, /^a request for tiny-llama would go to a\n/);
    const doctor = await corralBeside(b, ["mesh", "doctor"]);
    assert.equal(doctor.code, 0, doctor.out);
    assert.match(doctor.out, /ok +a: reached: it reaches this node at 127\.0\.0\.1:\d+/);
    assert.match(doctor.out, /ok +a: clock/);
  });
});

// Another process with what the first one kept on disk.
async function again(server, name, files, how, flags = []) {
  const { listening } = await mesh(server); // others look for it where it was
  const kept = mkdtempSync(join(tmpdir(), "corral-mesh-"));
  if (how === "SIGKILL") {
    server.child.kill("SIGKILL");
    await server.ended;
  }
  cpSync(join(server.state, "mesh"), kept, { recursive: true });
  if (how === "SIGKILL") rmSync(server.state, { recursive: true, force: true });
  else await server.stop();
  rmSync(server.modelsDir, { recursive: true, force: true });
  const next = await node(name, files, {
    prepare: (state) => cpSync(kept, join(state, "mesh"), { recursive: true }),
    flags: ["--mesh-listen", listening, ...flags],
  });
  rmSync(kept, { recursive: true, force: true });
  return next;
}

test("a node that ends is gone at once, and comes back as the same one", async () => {
  const list = [await node("a", ["tiny-llama.gguf"]), await node("b", ["tiny-qwen3.gguf"])];
  await withNodes(list, async (a) => {
    await found(a);
    await joinTo(list[1], a);
    await Promise.all([sees(a, "tiny-qwen3"), sees(list[1], "tiny-llama")]);
    const { id, epoch } = (await mesh(list[1])).node;
    let lives = epoch;
    for (const how of ["SIGTERM", "SIGKILL"]) {
      const events = eventsAt(a, "/v1/events");
      await events.next();
      list[1] = await again(list[1], "b", ["tiny-qwen3.gguf"], how);
      for await (const data of events) if (/"change":"away","node":"b"/.test(data)) break;
      await until(() => mesh(list[1]), ({ status }) => status === "member");
      const { node: same } = await mesh(list[1]);
      assert.equal(same.id, id);
      assert.equal(same.epoch, ++lives);
      await Promise.all([sees(a, "tiny-qwen3"), sees(list[1], "tiny-llama")]);
      assert.equal((await nodes(a)).length, 2);
    }
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
    assert.match((await corralBeside(b, ["activity"])).out, /MODEL .* NODE\ntiny-llama .* a\n/);

    const wrong = await b.post("/v1/chat/completions", { model: "tiny-embed", messages: [] });
    assert.equal(wrong.status, 400, "a wrong type is refused at the entry");
    const unknown = await b.chat("no-such-model", "hi");
    assert.equal(unknown.status, 404);
    assert.equal(unknown.body.error.code, "model_not_found");
    assert.equal((await b.loaded()).every(({ model_name }) => model_name === "tiny-qwen3"), true);

    // Who serves what shows at both within a second or so.
    await until(() => listed(b), (list) => list.some(({ id, status }) => id === "tiny-llama" && status.mesh === "ready"));
    await until(() => corralBeside(b, ["ps"]), ({ out }) => /tiny-llama .* a\n/.test(out));
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
    const ran = await corralBeside(b, ["run", "tiny-llama", "Hello", "--max-tokens", "4"]);
    assert.equal(ran.code, 0, ran.err);
    assert.notEqual(ran.out.trim(), "");
    assert.equal(ran.err, "");
    const sized = await corralBeside(b, ["run", "tiny-llama", "Hello", "--max-tokens", "4", "--ctx-size", "512"]);
    assert.equal(sized.code, 0, sized.err);
    assert.match(sized.err, /warning: .*no effect: they are up to a/);
    assert.deepEqual(await b.loaded(), []);
    const loaded = await b.post("/v1/load", { model_name: "tiny-llama" });
    assert.equal(loaded.status, 200, JSON.stringify(loaded.body));
    assert.match(loaded.body.warnings[0], /is at a, where the first request loads it/);
    for (const [answer, status] of [
      [await b.post("/v1/estimate", { model_name: "tiny-llama" }), 404],
      [await b.get("/v1/models/tiny-llama/options"), 404],
      [await b.post("/internal/pin", { model_name: "tiny-llama", pinned: true }), 400],
    ]) {
      assert.equal(answer.status, status, JSON.stringify(answer.body));
      assert.match(answer.body.error.message, /'tiny-llama' isn't on the disk of this machine but at a:/);
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
    assert.match(gone.body.error.message, /^'tiny-llama' is on a, which can't be reached since \d+ s$/);
    assert.equal((await b.get("/v1/models/tiny-llama")).status, 503);
    assert.equal((await b.post("/v1/load", { model_name: "tiny-llama" })).status, 503);
    const run = await corralBeside(b, ["run", "tiny-llama", "Hello"]);
    assert.equal(run.code, 1);
    assert.match(run.err, /'tiny-llama' is on a, which can't be reached/);
    for (const answer of [await b.get("/v1/mesh/why/tiny-llama"), await b.post("/v1/mesh/pull", { model: "tiny-llama" })]) {
      assert.equal(answer.status, 503, JSON.stringify(answer.body));
      assert.match(answer.body.error.message, /^'tiny-llama' is on a, which can't be reached since \d+ s$/);
    }
    assert.equal((await b.chat("tiny-qwen3", "hi", { max_tokens: 2 })).status, 200);
    assert.ok(!(await listed(b)).some(({ id }) => id === "tiny-llama"));
    const doctor = await corralBeside(b, ["mesh", "doctor"]);
    assert.equal(doctor.code, 1);
    assert.match(doctor.out, /failed +a: link: there is none \(dialled at/);
  });
});

test("a model is copied from the machine next door, and is this one's from then on", async () => {
  const list = [await node("a", ["tiny-llama.gguf"]), await node("b", ["tiny-qwen3.gguf"])];
  await withNodes(list, async (a, b) => {
    await found(a);
    await joinTo(b, a);
    const hashed = ({ models }) => models.some(({ id, content }) => id === "tiny-llama" && content);
    await until(() => mesh(b, "/models"), hashed);

    const unknown = await b.post("/v1/mesh/pull", { model: "no-such-model" });
    assert.equal(unknown.status, 404);
    assert.equal(unknown.body.error.param, "model");
    const pulled = await corralBeside(b, ["mesh", "pull", "tiny-llama"]);
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
    await until(() => mesh(b, "/models"), ({ models }) => models.some(({ id, content }) => id === "tiny-llama" && content));
    const refused = await b.post("/v1/mesh/pull", { model: "tiny-llama" });
    assert.equal(refused.status, 404);
    assert.equal(refused.body.error.code, "mesh_not_offered");
    assert.equal(existsSync(join(b.state, "models")), false);
    assert.deepEqual((await mesh(b, "/copies")).copies, []);
  });
});

test("another node copies to itself what an administrator orders there, if it allows that", async () => {
  const list = [
    await node("a", ["tiny-llama.gguf"]),
    await node("b", ["tiny-qwen3.gguf"]),
    await node("c", ["tiny-qwen3.gguf"], { flags: ["--mesh-admin"] }),
  ];
  await withNodes(list, async (a, b, c) => {
    await found(a);
    await joinTo(b, a);
    await joinTo(c, a);
    await reachable(a, 3);
    await reachable(c, 3);
    const hashed = ({ models }) => models.some(({ id, content }) => id === "tiny-llama" && content);
    for (const server of list) await until(() => mesh(server, "/models"), hashed);

    const refused = await a.post("/v1/mesh/pull", { model: "tiny-llama", node: "b" });
    assert.equal(refused.status, 403);
    assert.equal(refused.body.error.code, "mesh_admin_off");
    assert.match(refused.body.error.message, /^b: .*mesh_admin = true/);
    assert.deepEqual((await mesh(b, "/copies")).copies, []);
    assert.equal((await a.post("/v1/mesh/pull", { model: "tiny-llama", node: "nobody" })).status, 404);
    // 503 as long as somebody hasn't said yet what he has.
    await until(() => a.post("/v1/mesh/pull", { model: "no-such-model", node: "c" }), ({ status }) => status === 404);
    assert.equal((await a.post("/v1/mesh/pull", { model: "tiny-llama", node: "a" })).body.error.code, "copy_not_needed");

    const pulled = await corralBeside(a, ["mesh", "pull", "tiny-llama", "--to", "c"]);
    assert.equal(pulled.code, 0, pulled.err);
    assert.match(pulled.out, /tiny-llama  done/);
    assert.deepEqual((await mesh(a, "/copies")).copies, []);
    const [copy] = (await mesh(c, "/copies")).copies;
    assert.equal(copy.state, "done");
    assert.equal(copy.node, "c");
    assert.equal(copy.by_request, false);
    await a.stop();
    assert.equal((await c.chat("tiny-llama", "hi", { max_tokens: 2 })).status, 200);
  });
});

test("a model that fits nowhere that has it is copied to a node that lets requests do that, once", async () => {
  const list = [
    await node("a", ["tiny-llama.gguf", "tiny-mamba.gguf"], { flags: ["--mesh-lend-memory", "0"] }),
    await node("b", ["tiny-qwen3.gguf"], { flags: ["--mesh-auto-copy"] }),
    await node("c", ["tiny-qwen3.gguf"]),
  ];
  await withNodes(list, async (a, b, c) => {
    await found(a);
    await joinTo(b, a);
    await joinTo(c, a);
    for (const server of list) {
      await reachable(server, 3);
      for (const name of ["tiny-llama", "tiny-mamba"])
        await until(() => mesh(server, "/models"), ({ models }) => models.some(({ id, content }) => id === name && content));
      await until(() => nodes(server), (all) => all.every(({ memory }) => memory?.length > 0));
    }
    // At c, and at b itself.
    for (const [entry, model] of [[c, "tiny-llama"], [b, "tiny-mamba"]]) {
      const told = [];
      await until(
        () => entry.chat(model, "hi", { max_tokens: 2 }),
        ({ status, body, headers }) => {
          if (status === 200) return true;
          assert.equal(status, 503, JSON.stringify(body));
          if (told.length === 0 && body.error.code === "no_capacity") return false; // it has no link to b yet
          told.push(body.error);
          assert.equal(body.error.code, "model_being_copied", JSON.stringify(body));
          assert.match(body.error.message, new RegExp(`'${model}' is being copied to b`));
          assert.ok(Number(headers.get("Retry-After")) > 0);
          return false;
        },
      );
      assert.ok(told.length > 0);
    }
    const { copies } = await mesh(b, "/copies");
    assert.deepEqual(copies.map(({ model, state, by_request }) => [model, state, by_request]).sort(), [
      ["tiny-llama", "done", true],
      ["tiny-mamba", "done", true],
    ]);
    for (const server of [a, c]) assert.deepEqual((await mesh(server, "/copies")).copies, []);
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
    const plan = corral(a, ["mesh", "plan"]);
    assert.match(plan.out, /b +tiny-llama +alone/);
    assert.match(corral(a, ["mesh", "why", "tiny-llama"]).out, /b has tiny-llama and keeps it/);
    const of = await mesh(a, "/plan/tiny-llama");
    assert.equal(of.assignments.length, 1);
    assert.equal(of.foretold.split, null);
    assert.ok(of.foretold.alone);

    // What another node is to do needs its consent.
    const refused = await a.post("/v1/mesh/assign", { node: "b", nothing: true });
    assert.equal(refused.status, 403);
    assert.equal(refused.body.error.code, "mesh_admin_off");
    assert.match(refused.body.error.message, /^b: .*mesh_admin = true/);

    const unloaded = await corralBeside(b, ["mesh", "unload", "tiny-llama"]);
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
    await until(() => mesh(a, "/models"), ({ models }) => models.some(({ id, content }) => id === "tiny-llama" && content));
    const name = "tiny-qwen3";
    const told = await corralBeside(a, ["mesh", "assign", "b", name]);
    assert.equal(told.code, 0, told.err);
    await until(() => lent(a, name), (who) => who.length === 1);
    assert.equal((await a.post("/v1/mesh/assign", { node: "b", model: "no-such-model" })).status, 404);
    assert.equal((await a.post("/v1/mesh/assign", { node: "nobody", model: name })).status, 404);
    list[1] = await again(b, "b", ["tiny-llama.gguf", "tiny-qwen3.gguf"], "SIGTERM", ["--mesh-role", "worker", "--mesh-admin"]);
    await until(() => lent(list[1], name), (who) => who.length === 1);
    const released = await corralBeside(a, ["mesh", "assign", "b", "nothing"]);
    assert.equal(released.code, 0, released.err);
    await until(() => lent(list[1], name), (who) => who.length === 0);
  });
});

// A file that our own reader takes for a model and libllama can't load.
function withoutVocabulary(file) {
  const bytes = readFileSync(join(models, file));
  const at = bytes.indexOf("tokenizer.ggml.model");
  assert.ok(at > 0);
  bytes.write("tokenizer.ggml.modem", at, "latin1");
  return bytes;
}

test("files that are no model get no name, whoever gives them", async () => {
  const list = [await node("a", []), await node("b", ["tiny-qwen3.gguf"])];
  await withNodes(list, async (a, b) => {
    const file = join(a.modelsDir, "odd.gguf");
    writeFileSync(file, withoutVocabulary("tiny-llama.gguf"));
    utimesSync(file, 1e9, 1e9);
    await found(a);
    await joinTo(b, a);
    await a.get("/v1/models?rescan=true");
    await until(() => mesh(b, "/models"), ({ models }) => models.some(({ id, content }) => id === "odd" && content));
    const pulled = await corralBeside(b, ["mesh", "pull", "odd"]);
    assert.equal(pulled.code, 1);
    assert.match(pulled.err, /the files aren't taken: .*odd\.gguf.*vocab/);
    const [copy] = (await mesh(b, "/copies")).copies;
    assert.equal(copy.state, "failed");
    assert.match(copy.problem, /vocab/);
    await until(() => readdirSync(join(b.state, "models")), (entries) => entries.length === 0);
    assert.equal((await b.chat("tiny-qwen3", "hi", { max_tokens: 2 })).status, 200);
  });
});

test("the process that looks at files takes all models, and refuses what is broken without a fall", () => {
  const env = { ...process.env, MALLOC_CONF: "background_thread:false" };
  const look = (...files) => spawnSync(program, ["inspect-model", ...files], { encoding: "utf8", timeout: 60_000, env });
  const sound = readdirSync(models).filter((name) => name.endsWith(".gguf") && !/split|lora/.test(name));
  for (const name of sound) {
    const { status, signal, stdout } = look(join(models, name));
    assert.equal(status, 0, `${name}: ${signal} ${stdout}`);
    assert.match(stdout, /^locked$/m);
  }
  const parts = [1, 2].map((part) => join(models, `tiny-split-0000${part}-of-00002.gguf`));
  assert.equal(look(...parts).status, 0);
  assert.match(look(parts[0]).stdout, /refused .*2 parts, and there are 1 files/);

  const folder = mkdtempSync(join(tmpdir(), "corral-inspect-"));
  const hostile = (name, change) => {
    const file = join(folder, name);
    const bytes = readFileSync(join(models, "tiny-llama.gguf"));
    writeFileSync(file, change(bytes) ?? bytes);
    const { status, signal, stdout } = look(file);
    assert.ok(status === 65 && signal === null, `${name}: ${status} ${signal} ${stdout}`);
    assert.match(stdout, new RegExp(`^refused .*${name}`, "m"));
  };
  try {
    hostile("empty.gguf", () => Buffer.alloc(0));
    hostile("text.gguf", () => Buffer.from("#!/bin/sh\n"));
    hostile("cut.gguf", (bytes) => bytes.subarray(0, 5000));
    hostile("pairs.gguf", (bytes) => void bytes.writeBigUInt64LE(1n << 60n, 16));
    hostile("tensors.gguf", (bytes) => void bytes.writeBigUInt64LE(1n << 60n, 8));
    hostile("vocabulary.gguf", () => withoutVocabulary("tiny-llama.gguf"));
    // Parameters that libllama gives up on, and such that other tensors would belong to.
    const setNumber = (bytes, key, value) => void bytes.writeUInt32LE(value, bytes.indexOf(key) + key.length + 4);
    hostile("layers.gguf", (bytes) => setNumber(bytes, "llama.block_count", 100_000));
    hostile("missing.gguf", (bytes) => setNumber(bytes, "llama.block_count", 30));
    hostile("shapes.gguf", (bytes) => setNumber(bytes, "llama.feed_forward_length", 48));
    hostile("version.gguf", (bytes) => void bytes.writeUInt32LE(99, 4));
    // Bytes that are turned over anywhere in the header: taken or refused, but nobody falls.
    const whole = readFileSync(join(models, "tiny-llama.gguf"));
    for (let i = 0; i < 40; ++i) {
      const bytes = Buffer.from(whole);
      const at = 24 + ((i * 7919) % 4000);
      bytes[at] ^= 1 << (i % 8);
      writeFileSync(join(folder, "turned.gguf"), bytes);
      const { status, signal, stdout } = look(join(folder, "turned.gguf"));
      assert.ok(signal === null && (status === 0 || status === 65), `byte ${at}: ${status} ${signal} ${stdout}`);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
