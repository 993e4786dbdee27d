// Members of a mesh of real servers on loopback: creation, joining, leaving, revocation, restarts.
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { again, corral, eventsOf, found, joinTo, mesh, node, nodes, reachable, sees, token, until, withNodes } from "../support/mesh-nodes.mjs";

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
    const made = await corral(first, ["mesh", "create"]);
    assert.equal(made.code, 0, made.err);
    assert.match(made.out, /^corral-join_[\w-]+\n$/, "the token stands alone on standard output");
    assert.doesNotMatch(made.err, /corral-join_/);
    const joined = await corral(second, ["mesh", "join", "-"], made.out);
    assert.equal(joined.code, 0, joined.err);
    assert.match(joined.err, /^dial 127\.0\.0\.1:\d+ \(within 6(\.0)? s\)\nproof .*\nadmit .*\nmembers .*\n/);
    await Promise.all([reachable(first, 2), reachable(second, 2)]);
    const listed = await corral(first, ["mesh", "nodes"]);
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

test("two machines with one host name are told apart everywhere", async () => {
  await withNodes([await node("vm", ["tiny-llama.gguf"]), await node("vm", ["tiny-llama.gguf"])], async (a, b) => {
    await found(a);
    await joinTo(b, a);
    await Promise.all([reachable(a, 2), reachable(b, 2)]);
    const shown = (await nodes(a)).map(({ id, name }) => {
      assert.equal(name, `vm@${id.slice(0, 12)}`);
      return name;
    });
    const names = (text) => [...new Set((text.match(/\bvm\S*/g) ?? []).map((name) => name.replace(/[,:]+$/, "")))].sort();
    await until(() => mesh(a, "/models"), ({ models }) => models.some(({ nodes }) => nodes.length === 2));
    for (const words of [["mesh", "nodes"], ["mesh", "models"], ["mesh", "why", "tiny-llama"], ["list"]]) {
      // A link that is down for a moment hides its node.
      const { out } = await until(() => corral(a, words), ({ out }) => names(out).length === 2);
      assert.deepEqual(names(out), [...shown].sort(), `${words.join(" ")}: ${out}`);
    }
    const doctor = await corral(a, ["mesh", "doctor"]);
    assert.ok(doctor.out.includes(`${shown[1]}: link:`), doctor.out);
    const unclear = await a.post("/v1/mesh/assign", { node: "vm", nothing: true });
    assert.equal(unclear.body.error.code, "mesh_node_ambiguous", JSON.stringify(unclear.body));
    assert.equal(unclear.body.error.message, `'vm' matches several nodes: use one of these names: ${shown.join(", ")}`);
    // What is shown can be typed.
    assert.equal((await a.post("/v1/mesh/assign", { node: shown[0], nothing: true })).status, 200);
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
    await until(() => c.lines.join("\n"), (text) => /can't join/.test(text));
    assert.equal((await mesh(c)).status, "none");
    assert.doesNotMatch(b.lines.join("\n"), /corral-join_/);
  });
});

test("a node that ends is gone at once, and comes back as the same one", async () => {
  const list = [await node("a", ["tiny-llama.gguf"]), await node("b", ["tiny-qwen3.gguf"])];
  await withNodes(list, async (a) => {
    await found(a);
    await joinTo(list[1], a);
    await Promise.all([sees(a, "tiny-qwen3"), sees(list[1], "tiny-llama")]);
    const { id, epoch } = (await mesh(list[1])).node;
    let lives = epoch;
    for (const how of ["SIGTERM", "SIGKILL"]) {
      const events = await eventsOf(a);
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
