// Meshes whose memory is scarce: models of which each machine holds half (mesh.mjs), who holds them, and what they say.
import assert from "node:assert/strict";
import { join } from "node:path";
import { eventually, onMesh, withWeighty } from "./mesh.mjs";

export const one = "weighty-one", two = "weighty-two", small = "weighty-half"; // prettier-ignore
export const ask = (model) => ({ model, prompt: "The horse said that the quick brown fox", max_tokens: 12, temperature: 0 });
// Half of such a model, and a bit.
export const half = ["--memory-limit", "320MiB", "--no-warm-spare", "--mesh-gossip-port", "off"];

export const answer = (server, model) => server.post("/v1/completions", ask(model));
export async function said(server, model) {
  const { status, body } = await answer(server, model);
  assert.equal(status, 200, JSON.stringify(body));
  return body.choices[0].text;
}
export const plan = async (server, model) => (await server.get(`/v1/mesh/plan${model ? `/${model}` : ""}`)).body;
const nodes = async (server) => (await server.get("/v1/mesh/nodes")).body.nodes;

// Every node knows what all have: files with their hashes, memory, and how to reach each other.
export async function known(mesh, ...models) {
  const servers = mesh.all().filter((server) => server.running());
  for (const server of servers) {
    await eventually(`${server.name} knows all nodes`, async () => {
      const all = await nodes(server);
      // What looks at a model, or at how fast the machine is, takes memory for a moment.
      const rests = ({ routable, memory }) => routable && memory?.length > 0 && memory.every((one) => one.free_bytes > 0.7 * one.total_bytes);
      return all.length === servers.length && all.every(rests);
    });
    for (const model of models)
      await eventually(`${server.name} knows ${model}`, async () => {
        const { body } = await server.get("/v1/mesh/models");
        return body.models.some(({ id, content }) => id === model && content);
      });
  }
}
// It is known how they would hold it together.
export async function foretold(server, model) {
  let told;
  const is_split = async () => {
    told = (await plan(server, model)).foretold;
    return told?.alone === null && told.split?.shares.length === 2;
  };
  await eventually(`${server.name} foretells ${model}`, is_split).catch((error) => {
    throw new Error(`${error.message}: ${JSON.stringify(told)}`);
  });
}
// The weighty models' files by name, and what each of them says by itself: without a mesh, and with all the memory.
export function withModels(use) {
  return withWeighty(async (folder) => {
    const file = (name) => join(folder, `${name}.gguf`);
    const texts = {};
    await onMesh({ a: [one, two, small].map(file) }, { joined: false }, async (mesh) => {
      for (const model of [one, two, small]) texts[model] = await said(mesh.at("a"), model);
    });
    await use(file, texts);
  });
}
// Nodes by name that hold a part of it, the host last.
export async function holders(server, model) {
  const { groups } = await plan(server, model);
  const group = groups.find(({ running }) => running);
  return group ? [...group.shares.map(({ node }) => node).filter((node) => node !== group.host), group.host] : [];
}
// Both of two that hold it: a node hears of that a moment after those that were there.
export const bothHolders = (server, model) =>
  eventually(`${server.name} knows who holds ${model}`, async () => {
    const all = await holders(server, model);
    return all.length === 2 && all;
  });
