// Who is let into a mesh, who isn't, and what all see then.
import assert from "node:assert/strict";
import { createHash, generateKeyPairSync, randomBytes } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { eventually, onMesh } from "../support/mesh.mjs";
import { missing } from "../support/netns.mjs";

const three = { a: ["scripted-hello"], b: ["tiny-llama", "tiny-embed"], c: [] };
const all = ["scripted-hello", "tiny-embed", "tiny-llama"];

const membersAt = async (server) => (await server.get("/v1/mesh/nodes")).body.nodes.map((node) => node.id).sort();
const allSee = (mesh, names) => Promise.all(mesh.all().map((server) => eventually(`${server.name} sees ${names}`, () => server.sees(...names))));

test("a token lets a node in, and all three answer for all models", { skip: missing }, () =>
  onMesh(three, {}, async (mesh) => {
    await allSee(mesh, all);
    for (const server of mesh.all()) {
      const chat = await server.chat("scripted-hello", "hi");
      assert.equal(chat.status, 200, JSON.stringify(chat.body));
      assert.match(chat.body.choices[0].message.content, /^Hello! I am a scripted model/);
      assert.equal(chat.body.model, "scripted-hello");
      assert.equal((await server.post("/v1/embeddings", { model: "tiny-embed", input: "x" })).status, 200);
      assert.equal((await membersAt(server)).length, 3);
    }
    const unknown = await mesh.at("c").chat("nobody-has-this", "hi");
    assert.equal(unknown.status, 404);
    assert.equal(unknown.body.error.code, "model_not_found");
  }));

test("a mesh comes back by itself when all its nodes start again", { skip: missing }, () =>
  onMesh(three, {}, async (mesh) => {
    await allSee(mesh, all);
    await Promise.all(mesh.all().map((server) => server.stop()));
    await Promise.all(mesh.all().map((server) => server.start()));
    await allSee(mesh, all);
  }));

// A token with other bytes at one place, and a checksum that says they are right (docs/modules/mesh.md, "Formats").
const places = { mesh: 1, secret: 33, expiry: 49, pin: 54 };
function forged(token, place, bytes) {
  const [head, text] = token.split("_", 2);
  const body = Buffer.from(token.slice(head.length + 1), "base64url").subarray(0, -4);
  assert.ok(text);
  bytes.copy(body, places[place]);
  const sum = createHash("sha256").update("corral/1 token checksum\0").update(body).digest().subarray(0, 4);
  return `${head}_${Buffer.concat([body, sum]).toString("base64url")}`;
}

// Joining with that token is refused, and nobody's members have changed.
async function refused(mesh, guest, token, code) {
  const before = await Promise.all(mesh.all().map(membersAt));
  const { status, body } = await guest.post("/v1/mesh/join", { token });
  assert.ok(status >= 400, `${status} ${JSON.stringify(body)}`);
  assert.equal(body.error.code, code, body.error.message);
  assert.ok(!body.error.message.includes(token), "what makes a token is never shown");
  assert.deepEqual(await Promise.all(mesh.all().map(membersAt)), before, "a refusal changes nothing");
  return body.error;
}

test("forged, used, expired, withdrawn and foreign tokens are refused with the reason", { skip: missing }, () =>
  onMesh({ a: [], b: [], c: [], stranger: [] }, { joined: false }, async (mesh) => {
    const [a, b, c, stranger] = mesh.all();
    assert.equal((await a.post("/v1/mesh/create", {})).status, 200);
    const [used, good] = [await mesh.token(a), await mesh.token(a)];
    assert.equal((await b.post("/v1/mesh/join", { token: used })).status, 200);
    for (const server of [a, b]) await eventually("both see both", async () => (await membersAt(server)).length === 2);
    await refused(mesh, c, used, "mesh_token_used");
    await refused(mesh, c, "nonsense", "mesh_token_malformed");
    await refused(mesh, c, "corral-join_", "mesh_token_mistyped");
    await refused(mesh, c, good.slice(0, -2) + (good.endsWith("AA") ? "BB" : "AA"), "mesh_token_mistyped");
    await refused(mesh, c, forged(good, "secret", randomBytes(16)), "mesh_token_unknown");
    await refused(mesh, c, forged(good, "mesh", randomBytes(32)), "mesh_foreign");
    await refused(mesh, c, forged(good, "pin", randomBytes(32)), "mesh_wrong_peer");

    const brief = await mesh.token(a, { expires_in: 1 });
    await eventually("the token expires", async () => (await a.get("/v1/mesh/tokens")).body.tokens.some(({ state }) => state === "expired"));
    await refused(mesh, c, brief, "mesh_token_expired");
    await refused(mesh, c, forged(brief, "expiry", Buffer.from([0xff, 0xff, 0xff, 0xff])), "mesh_token_expired");

    const withdrawn = (await a.post("/v1/mesh/tokens", {})).body;
    assert.equal((await a.json("DELETE", `/v1/mesh/tokens/${withdrawn.id}`)).status, 200);
    await refused(mesh, c, withdrawn.token, "mesh_token_withdrawn");

    assert.equal((await stranger.post("/v1/mesh/create", {})).status, 200);
    await refused(mesh, b, await mesh.token(stranger), "mesh_already_joined");

    // Behind all this the good one still works.
    assert.equal((await c.post("/v1/mesh/join", { token: good })).status, 200);
    for (const server of [a, b, c]) await eventually("all are in", async () => (await membersAt(server)).length === 3);
    // While no token is out nobody unknown gets further than the handshake.
    await refused(mesh, stranger, good, "mesh_already_joined");
    assert.equal((await stranger.post("/v1/mesh/leave", {})).status, 200);
    const { message } = await refused(mesh, stranger, good, "mesh_not_a_member");
    assert.match(message, /has no open join token/, "and it is told why");
    const said = [a, b, c].flatMap((server) => server.lines).join("\n");
    for (const token of [used, good, brief]) assert.ok(!said.includes(token), "no token stands in a log");
  }));

test("a node that is thrown out is gone, stays out, and its word is gone with it", { skip: missing }, () =>
  onMesh(three, {}, async (mesh) => {
    const [a, b, c] = mesh.all();
    await allSee(mesh, all);
    assert.equal((await a.post("/v1/mesh/revoke", { node: "b" })).status, 200);
    for (const server of [a, c]) {
      await eventually(`${server.name} forgets b`, async () => !(await server.sees("tiny-llama")));
      // 503 as long as somebody hasn't said yet what he has.
      await eventually(`nobody has its model at ${server.name}`, async () => (await server.chat("tiny-llama", "hi")).status === 404);
    }
    await b.stop();
    await b.start();
    assert.equal((await b.chat("tiny-llama", "hi")).status, 200, "alone it serves on");
    assert.ok(!(await a.sees("tiny-llama")) && !(await b.sees("scripted-hello")));
  }));

test("who leaves is gone at once and serves on alone", { skip: missing }, () =>
  onMesh(three, {}, async (mesh) => {
    const [a, b, c] = mesh.all();
    await allSee(mesh, all);
    assert.equal((await b.post("/v1/mesh/leave", {})).status, 200);
    for (const server of [a, c]) await eventually(`${server.name} forgets b`, async () => !(await server.sees("tiny-llama")));
    assert.equal((await b.chat("tiny-llama", "hi")).status, 200);
    // The answer is 503 until `b` has closed its mesh.
    await eventually("b knows no model of others", async () => (await b.chat("scripted-hello", "hi")).status === 404);
  }));

// A key as `openssl genpkey -algorithm ed25519` makes it, and the identifier that others know it by.
function identity(file) {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  writeFileSync(file, privateKey.export({ type: "pkcs8", format: "pem" }), { mode: 0o600 });
  return createHash("sha256").update(publicKey.export({ type: "spki", format: "der" })).digest("hex");
}
const settled = (mesh) =>
  Promise.all(mesh.all().map((server) => eventually(`${server.name} reaches all`, async () => (await server.get("/v1/mesh")).body.routable === 3)));

test("nodes that name each other come together without a token, in whatever order they start", { skip: missing }, () =>
  onMesh({ ...three, stranger: [] }, { joined: false }, async (mesh) => {
    const stranger = mesh.at("stranger");
    mesh.servers.delete("stranger");
    await Promise.all([...mesh.all(), stranger].map((server) => server.stop()));
    const file = (server) => join(server.state, "node.pem");
    const ids = new Map(mesh.all().map((server) => [server.name, identity(file(server))]));
    const peers = mesh.all().map(({ name }) => `${ids.get(name)}@${mesh.lab.address(name)}:8100`).join(" ");
    for (const server of [...mesh.all(), stranger]) server.flags = ["--mesh-identity", file(server), "--mesh-peers", peers];
    // The one that founds (the lowest identifier) comes last.
    const order = mesh.all().sort((x, y) => (ids.get(x.name) < ids.get(y.name) ? 1 : -1));
    for (const server of order) await server.start();
    await settled(mesh);
    await allSee(mesh, all);
    for (const server of mesh.all()) assert.equal((await server.chat("tiny-llama", "hi")).status, 200);
    assert.equal((await order[0].get("/v1/mesh")).body.node.id, ids.get(order[0].name));

    // Whom nobody names, and who has a key that isn't the named one, is told so and changes nothing.
    const before = await Promise.all(mesh.all().map(membersAt));
    identity(file(stranger));
    await stranger.start();
    const problem = await eventually("it is told why", async () => (await stranger.get("/v1/mesh")).body.problem);
    assert.match(problem, /doesn't list this node/);
    assert.equal((await stranger.get("/v1/mesh")).body.status, "joining");
    const doctor = await stranger.cli("doctor");
    assert.match(doctor.out, /warning +named: mesh_peers names [0-9a-f]{12}, which doesn't admit this node yet: .*doesn't list this node/);
    assert.deepEqual(await Promise.all(mesh.all().map(membersAt)), before);
    await stranger.stop();

    // A disk that doesn't last: the key is all that is kept.
    for (const server of [order[0], order.at(-1)]) {
      await server.stop();
      server.flags = ["--mesh-identity", join(mesh.folder, `${server.name}.pem`), "--mesh-peers", peers];
      writeFileSync(server.flags[1], readFileSync(file(server)), { mode: 0o600 });
      server.loseDisk();
      await server.start();
      await settled(mesh);
    }
    assert.deepEqual(await Promise.all(mesh.all().map(membersAt)), before, "no ghosts, and nobody new");
    mesh.servers.set("stranger", stranger);
  }));
