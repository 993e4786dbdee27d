// Models that are split over machines of a mesh (mesh.mjs) by hand, and what is asked of them.
import assert from "node:assert/strict";
import { eventually } from "./mesh.mjs";
import { parse, value } from "./prometheus.mjs";

// Workers of splits at a node, which are locked in; engines, and the spare one.
export const workers = (mesh, name) => mesh.at(name).family().filter(({ command }) => command.includes(" rpc-worker "));
export const engines = (mesh, name) => mesh.at(name).family().filter(({ command }) => command.includes(" engine "));

// A number of a node's engine of `model`; `suffix` of a histogram's.
export async function engineNumber(server, model, name, suffix = "") {
  const answer = await server.fetch("/metrics");
  return value(parse(await answer.text()), `corral_engine_${name}`, { model }, suffix);
}

// The text of a whole answer of /v1/completions.
export async function said(server, body) {
  const answer = await server.post("/v1/completions", body);
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return answer.body.choices[0].text;
}

// `model` over these nodes, told at `host`, which has its file.
export async function split(mesh, host, model, nodes) {
  await eventually(`${host} has told of ${model}`, async () => (await mesh.at(host).get("/v1/mesh/models")).body.models?.some(({ id }) => id === model));
  const { code, err } = await mesh.at(host).command("load", model, "--split", nodes.join(","));
  assert.equal(code, 0, err);
  for (const name of nodes.filter((name) => name !== host)) assert.ok(workers(mesh, name).length > 0, `${name} computes a part`);
}

// A long answer; `act()` comes in the middle of it. How many ms after that its stream ended, and its last event.
export async function interrupted(server, body, act) {
  let seen = 0, acted, last; // prettier-ignore
  for await (const event of server.events("/v1/completions", { ...body, max_tokens: 1500, ignore_eos: true, stream: true })) {
    if (event === ":") continue;
    last = event;
    if (++seen === 8) {
      act();
      acted = Date.now();
    }
  }
  assert.ok(acted, "it began");
  return { took: Date.now() - acted, last };
}
// It ended with one framed error, soon enough.
export function toldByOneError({ took, last }, what, within = 3000) {
  assert.notEqual(last, "[DONE]", `${what}: it can't have been whole`);
  const { error } = JSON.parse(last);
  assert.ok(error?.code && error.message, `${what}: one framed error, and not ${last}`);
  assert.ok(took < within, `${what}: the client was told after ${took} ms`);
  console.log(`${what}: the client was told ${error.code} after ${took} ms`);
}

// Asks until it is answered with what it is to say; errors on the way name their cause. How many ms that took.
export async function servedAgain(server, body, expected, what) {
  const begin = Date.now();
  await eventually(`${what}: it is served again`, async () => {
    const answer = await server.post("/v1/completions", body);
    if (answer.status !== 200) return assert.ok(answer.body.error?.code && answer.body.error.message, JSON.stringify(answer.body));
    assert.equal(answer.body.choices[0].text, expected);
    return true;
  });
  const took = Date.now() - begin;
  console.log(`${what}: served again after ${took} ms`);
  return took;
}
