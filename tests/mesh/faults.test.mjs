// Nodes die and paths break: who is gone is gone for all that reached it, nobody else is, and it heals.
import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually, onMesh } from "../support/mesh.mjs";
import { missing } from "../support/netns.mjs";

const places = { a: ["scripted-hello"], b: ["tiny-llama"], c: ["tiny-qwen3"] };
const own = { a: "scripted-hello", b: "tiny-llama", c: "tiny-qwen3" };
const names = Object.keys(places);

// Every node of `group` sees the models of the group's nodes; and of no other, unless `others` may be seen.
async function settled(mesh, group) {
  const wanted = group.map((name) => own[name]).sort();
  for (const name of group) {
    await eventually(`${name} sees ${wanted} and no more`, async () => String(await mesh.at(name).visible()) === String(wanted));
  }
}
async function answered(mesh, at, model) {
  const { status, body } = await mesh.at(at).chat(model, "hi");
  assert.equal(status, 200, JSON.stringify(body));
  assert.equal(body.model, model);
}
async function whole(mesh) {
  await settled(mesh, names);
  for (const at of names) for (const of of names) await answered(mesh, at, own[of]);
}

test("a node that is killed is gone, and back when it starts again", { skip: missing }, () =>
  onMesh(places, {}, async (mesh) => {
    await whole(mesh);
    for (let round = 0; round < 3; ++round) {
      await mesh.at("c").kill();
      await settled(mesh, ["a", "b"]);
      const { status, body } = await mesh.at("a").chat(own.c, "hi");
      assert.equal(status, 503);
      assert.equal(body.error.code, "node_out_of_reach", body.error.message);
      await mesh.at("c").start();
      await whole(mesh);
    }
  }));

test("a plug that is pulled, and put in again", { skip: missing }, () =>
  onMesh(places, {}, async (mesh) => {
    await whole(mesh);
    await mesh.lab.isolate("c");
    await Promise.all([settled(mesh, ["a", "b"]), settled(mesh, ["c"])]);
    await answered(mesh, "c", own.c);
    await mesh.lab.heal();
    await whole(mesh);
  }));

for (const [from, to] of [["c", "*"], ["*", "c"]]) { // prettier-ignore
  test(`a node that ${from === "c" ? "is heard by nobody" : "hears nobody"} is gone, and back when it heals`, { skip: missing }, () =>
    onMesh(places, {}, async (mesh) => {
      await whole(mesh);
      for (const other of ["a", "b"]) await mesh.lab.cutOneWay(from === "c" ? "c" : other, from === "c" ? other : "c");
      await Promise.all([settled(mesh, ["a", "b"]), settled(mesh, ["c"])]);
      await mesh.lab.heal();
      await whole(mesh);
    }));
}

for (const way of ["both ways", "one way"]) {
  test(`two that don't reach each other (${way}) say so, the third reaches both, and nothing flaps`, { skip: missing }, () =>
    onMesh(places, {}, async (mesh) => {
      await whole(mesh);
      await (way === "one way" ? mesh.lab.cutOneWay("a", "c") : mesh.lab.cut("a", "c"));
      for (const [at, of] of [["a", "c"], ["c", "a"]]) { // prettier-ignore
        await eventually(`${at} says that it doesn't reach ${of}`, async () => {
          const { reach, routable } = (await nodesAt(mesh, at)).find(({ name }) => name === of);
          return reach === "away" && !routable;
        });
      }
      const before = await links(mesh);
      for (let round = 0; round < 20; ++round) {
        for (const [at, of] of [["a", "c"], ["c", "a"]]) { // prettier-ignore
          const { status, body } = await mesh.at(at).chat(own[of], "hi");
          assert.equal(status, 503);
          assert.equal(body.error.code, "node_out_of_reach", body.error.message);
        }
        for (const [at, of] of [["a", "b"], ["c", "b"], ["b", "a"], ["b", "c"]]) await answered(mesh, at, own[of]); // prettier-ignore
        await new Promise((resolve) => setTimeout(resolve, 200));
      }
      await unchanged(mesh, before);
      await mesh.lab.heal();
      await eventually("a has a link to c", async () => (await linkOf(mesh, "a", "c")) === "up");
      await whole(mesh);
    }));
}

const nodesAt = async (mesh, at) => (await mesh.at(at).get("/v1/mesh/nodes")).body.nodes;
const linkOf = async (mesh, at, of) => (await nodesAt(mesh, at)).find((node) => node.name === of).link;
// How all links are, and when the test looked at them.
const links = async (mesh) => ({ time: Date.now(), all: (await Promise.all(names.map((at) => nodesAt(mesh, at)))).flat() });
// A link that went and came again has a later `since` than that time. A server computes `since` from two clocks, which it reads
// one after the other: a single value may be too late, so the test asks again.
async function unchanged(mesh, before) {
  const facts = ({ all }) => all.map(({ name, link }) => `${name} ${link}`);
  await eventually("no link is younger than the look at it before", async () => {
    const after = await links(mesh);
    assert.deepEqual(facts(after), facts(before));
    return after.all.every(({ since }) => since <= before.time);
  });
}

test("a node that stands still is gone, and back when it goes on", { skip: missing }, () =>
  onMesh(places, {}, async (mesh) => {
    await whole(mesh);
    const { child } = mesh.at("c");
    child.kill("SIGSTOP");
    await settled(mesh, ["a", "b"]);
    child.kill("SIGCONT");
    await whole(mesh);
  }));

test("1 % loss, jitter and 5 and 20 ms cost no link and no answer", { skip: missing }, () =>
  onMesh(places, {}, async (mesh) => {
    await whole(mesh);
    const before = await links(mesh);
    for (const delay of [2.5, 10]) {
      await mesh.lab.everywhere({ delay, jitter: delay / 5, loss: 1, late: 1 });
      for (let round = 0; round < 5; ++round) for (const at of names) for (const of of names) await answered(mesh, at, own[of]);
    }
    await unchanged(mesh, before);
  }));

test("who can't be dialled is a member like the others", { skip: missing }, () =>
  onMesh(places, { joined: false }, async (mesh) => {
    for (const other of ["a", "b"]) await mesh.lab.path(other, "c", { dials: false });
    await mesh.join();
    await whole(mesh);
  }));
