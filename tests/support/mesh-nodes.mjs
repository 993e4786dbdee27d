// Real servers on loopback that become one mesh, for integration/mesh-*.test.mjs.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { copyFileSync, cpSync, mkdtempSync, rmSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { models, program, Server } from "./server.mjs";

const loopback = ["--no-hub-cache", "--no-warm-spare", "--mesh-listen", "127.0.0.1:0", "--mesh-gossip-port", "off"];

// A node with these models alone.
export async function node(name, files, { flags = [], ...more } = {}) {
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
export async function withNodes(list, use) {
  try {
    await use(...list);
  } finally {
    const ends = await Promise.allSettled(list.map((server) => server.stop()));
    for (const server of list) rmSync(server.modelsDir, { recursive: true, force: true });
    for (const { reason } of ends) if (reason) throw reason;
  }
}

// Starts another process with the state that the first one has on disk. The new process listens on another port and dials the
// nodes that it knows: another program could have taken the old port.
export async function again(server, name, files, how, flags = []) {
  if (how === "SIGKILL") {
    server.child.kill("SIGKILL");
    await server.ended;
  } else {
    await server.stop({ keep: true });
  }
  const next = await node(name, files, { prepare: (state) => cpSync(join(server.state, "mesh"), join(state, "mesh"), { recursive: true }), flags });
  for (const folder of [server.state, server.modelsDir]) rmSync(folder, { recursive: true, force: true });
  return next;
}

// Asks again until the answer fits. CTest's limit for the file ends a wait without end.
export async function until(ask, fits) {
  for (;;) {
    const answer = await ask();
    if (fits(answer)) return answer;
    await new Promise((next) => setTimeout(next, 10)); // the servers share the machine with this process
  }
}
export const mesh = (server, path = "") => server.get(`/v1/mesh${path}`).then(({ body }) => body);
export const nodes = (server) => mesh(server, "/nodes").then(({ nodes }) => nodes);
// What they are called is known with their first words.
export const reachable = (server, count) => until(() => nodes(server), (list) => list.filter(({ routable, announced }) => routable && announced).length === count);
// `server` knows the content of the model, so that the model can be copied.
export const hashed = (server, name) => until(() => mesh(server, "/models"), ({ models }) => models.some(({ id, content }) => id === name && content));
export const listed = (server) => server.get("/v1/models").then(({ body }) => body.data);
export const sees = (server, ...names) => until(() => listed(server), (list) => names.every((name) => list.some(({ id }) => id === name)));

export async function token(server, body = {}) {
  const made = await server.post("/v1/mesh/tokens", body);
  assert.equal(made.status, 200, JSON.stringify(made.body));
  return made.body.token;
}
export async function found(server) {
  const founded = await server.post("/v1/mesh/create", {});
  assert.equal(founded.status, 200, JSON.stringify(founded.body));
  return founded.body;
}
export async function joinTo(server, first) {
  const joined = await server.post("/v1/mesh/join", { token: await token(first) });
  assert.equal(joined.status, 200, JSON.stringify(joined.body));
  return joined.body;
}

// Runs a command while this process reads the servers' output: {code, out, err}, with all of the command's output.
export const corral = (server, words, input = "") =>
  new Promise((resolve, reject) => {
    const child = spawn(program, [...words, "--url", server.url], { stdio: ["pipe", "pipe", "pipe"] });
    let out = "", err = "";
    child.stdout.on("data", (bytes) => (out += bytes));
    child.stderr.on("data", (bytes) => (err += bytes));
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, out, err }));
    child.stdin.on("error", () => {}); // a command that doesn't read it may have ended
    child.stdin.end(input);
  });

// The events of a server from now on, each as its text, however the bytes arrive. Resolves when the server sends them.
export async function eventsOf(server) {
  const given_up = new AbortController();
  const response = await fetch(server.url + "/v1/events", { signal: given_up.signal });
  return (async function* () {
    try {
      const decoder = new TextDecoder();
      let rest = "";
      for await (const bytes of response.body) {
        const events = (rest + decoder.decode(bytes, { stream: true })).split("\n\n");
        rest = events.pop();
        yield* events;
      }
    } finally {
      given_up.abort();
    }
  })();
}
