// A mesh of real `corral serve` on machines of a lab (netns.mjs): every machine has a state folder, models and a port of
// its own, may be killed, stopped and started again.
//
//   const mesh = await Mesh.start({ a: ["tiny-llama"], b: ["tiny-qwen3"], c: [] });
//   await mesh.join(); // a makes it, the others join with tokens
//   await mesh.at("a").chat("tiny-qwen3", "hi");
//   await mesh.stop();
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { copyFileSync, linkSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, isAbsolute, join } from "node:path";
import { Lab } from "./netns.mjs";
import { firstMatch, models, program, reports, Server } from "./server.mjs";

const kPort = 8000;
const kPatience = 60_000; // ms for what is a matter of a second or two; beyond it hangs

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// Asks again until `holds()` is true, or truthy; that value. When it never comes, an error that says `what` and the last value.
export async function eventually(what, holds, patience = kPatience) {
  const end = Date.now() + patience;
  for (;;) {
    let found;
    try {
      found = await holds();
      if (found) return found;
    } catch (error) {
      if (!(error instanceof TypeError) || error.message !== "fetch failed") throw error;
    }
    if (Date.now() > end) throw new Error(`${what}: not after ${patience / 1000} s`);
    await pause(10);
  }
}

// Models that are nearly all layers, in a folder that goes with `use(folder)`: weighty-one and weighty-two of 320 MB,
// weighty-half of 160 MB.
export const withWeighty = (use) => withMade("--weighty", use);
// quantised-q8_0 and quantised-q4_0, of some MB.
export const withQuantised = (use) => withMade("--quantised", use);
// tiny-gpt-4o and others, whose pre-tokenizers take much stack or time for some texts.
export const withPretokenizers = (use) => withMade("--pretokenizers", use);
// tiny-vision, tiny-siglip and tiny-mrope, which take pictures, with their projectors.
export const withVision = (use) => withMade("--vision", use);
async function withMade(kind, use) {
  const folder = mkdtempSync(join(tmpdir(), "cw-"));
  try {
    const making = spawn(join(dirname(program), "corral-make-models"), [kind, "--out", folder], { stdio: "ignore" });
    const code = await new Promise((resolve) => making.once("exit", resolve));
    assert.equal(code, 0, "corral-make-models");
    // What was just written isn't hashed yet.
    for (const file of readdirSync(folder)) utimesSync(join(folder, file), 1e9, 1e9);
    return await use(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

// All that run: [{pid, parent, command}].
function processes() {
  const of = (pid) => {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
      const command = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim();
      return { pid: Number(pid), parent: Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]), command };
    } catch {
      return null; // it has just ended
    }
  };
  return readdirSync("/proc").filter((entry) => /^\d+$/.test(entry)).map(of).filter(Boolean); // prettier-ignore
}

export class MeshServer extends Server {
  constructor(lab, name, folder, flags) {
    super();
    Object.assign(this, { lab, name, flags, lines: [], state: join(folder, "state"), models: join(folder, "models") });
    mkdirSync(this.state, { recursive: true });
    mkdirSync(this.models);
  }
  // Test models by name, or files of the same disk.
  have(...names) {
    for (const name of names) {
      if (isAbsolute(name)) linkSync(name, join(this.models, basename(name)));
      else copyFileSync(join(models, `${name}.gguf`), join(this.models, `${name}.gguf`));
    }
  }
  // Starts it, or starts it again with what its state folder holds.
  async start(...more) {
    this.port ??= await this.lab.gate(this.name, kPort);
    this.url = `http://127.0.0.1:${this.port}`;
    const own = ["--port", kPort, "--models-dir", this.models, "--no-hub-cache", "--state-dir", this.state, "--runtime-dir", this.state];
    const flags = [...own, "--mesh-name", this.name, "--drain-timeout", "2s", ...this.flags, ...more].map(String);
    const environment = { ...process.env, XDG_CONFIG_HOME: this.state };
    this.child = this.lab.spawn(this.name, program, ["serve", ...flags], { stdio: ["ignore", "ignore", "pipe"], env: environment });
    this.ended = this.child.ended;
    await firstMatch(this.child, this.child.stderr, this.lines, /listens on (http:\/\/\S+)/, `corral serve at ${this.name}`);
    return this;
  }
  running() {
    return this.child && this.child.exitCode === null && this.child.signalCode === null;
  }
  // Pulls the plug: the server and its children are gone when this returns.
  async kill() {
    this.child.kill("SIGKILL");
    await this.ended;
    await this.alone();
  }
  // An orderly end.
  async stop() {
    this.child.kill("SIGTERM");
    const { code, signal } = await this.ended;
    await this.settled();
    assert.deepEqual(reports(this.state, this.lines), [], "a sanitizer has something to say");
    assert.equal(code, 0, `corral serve at ${this.name} ended with ${code ?? signal}:\n${this.lines.join("\n")}`);
    await this.alone();
  }
  // Nothing of the server runs on that machine any more, nor any worker that is locked in.
  alone() {
    const left = () => this.lab.inhabitants(this.name).length + processes().filter(({ command }) => command.includes(this.state)).length;
    return eventually(`the children of ${this.name} end`, () => left() === 0);
  }
  // Everything that it knew of itself is lost, its models aside.
  loseDisk() {
    rmSync(this.state, { recursive: true });
    mkdirSync(this.state);
  }

  // `corral mesh ...` on that machine: {code, out, err}.
  cli(...words) {
    return this.command("mesh", ...words);
  }
  // The same of any command.
  async command(...words) {
    const child = this.lab.spawn(this.name, program, [...words, "--port", String(kPort)], { stdio: ["ignore", "pipe", "pipe"] });
    const [out, err] = await Promise.all([child.stdout.toArray(), child.stderr.toArray()]);
    const { code } = await child.ended;
    return { code, out: Buffer.concat(out).toString(), err: Buffer.concat(err).toString() };
  }
  async told(...words) {
    const { code, out, err } = await this.cli(...words, "--json");
    assert.equal(code, 0, `corral mesh ${words.join(" ")} at ${this.name}: ${err}`);
    return JSON.parse(out);
  }

  // Names of models that this node can have answered: its own, and those of nodes it reaches.
  async visible() {
    const { body } = await this.get("/v1/models");
    return body.data.map((model) => model.id).sort();
  }
  async sees(...names) {
    const visible = await this.visible();
    return names.every((name) => visible.includes(name));
  }

  // Its children and theirs, those that are locked in (no inhabitants of the machine, then) included: [{pid, command}].
  family() {
    const all = new Map(processes().map((process) => [process.pid, process]));
    const below = (pid) => pid === this.pid || (all.has(pid) && below(all.get(pid).parent));
    return [...all.values()].filter(({ pid }) => pid !== this.pid && below(pid));
  }

  // What it holds of the machine: descriptors, resident memory in MiB, processes, and who listens on its machine.
  holdings() {
    const status = readFileSync(`/proc/${this.pid}/status`, "utf8");
    const resident = Number(status.match(/VmRSS:\s+(\d+)/)[1]) / 1024;
    const pids = new Set([...this.lab.inhabitants(this.name), ...this.family()].map(({ pid }) => pid));
    return { descriptors: readdirSync(`/proc/${this.pid}/fd`).length, resident, processes: pids.size, listeners: this.listeners().length };
  }
  // Ports and Unix sockets that are listened to on that machine.
  listeners() {
    const rows = (file) => readFileSync(`/proc/${this.pid}/net/${file}`, "utf8").split("\n").slice(1).map((row) => row.trim().split(/\s+/)); // prettier-ignore
    const tcp = ["tcp", "tcp6"].flatMap((file) => rows(file).filter((row) => row[3] === "0A").map((row) => row[1])); // prettier-ignore
    const kListens = "00010000"; // __SO_ACCEPTCON
    return [...tcp, ...rows("unix").filter((row) => row[3] === kListens).map((row) => row[7] ?? row[6])];
  }
}

export class Mesh {
  servers = new Map();

  // `places`: {name: [models]}. `options`: those of a lab, `flags` for all servers, `own` for some: {name: [flags]}, and
  // `later`: those that the test starts itself.
  static async start(places, { flags = [], own = {}, later = [], ...options } = {}) {
    const mesh = new Mesh();
    mesh.folder = mkdtempSync(join(tmpdir(), "cm-"));
    mesh.lab = await Lab.start(Object.keys(places), options);
    try {
      for (const [name, has] of Object.entries(places)) {
        const server = new MeshServer(mesh.lab, name, join(mesh.folder, name), [...flags, ...(own[name] ?? [])]);
        server.have(...has);
        mesh.servers.set(name, server);
      }
      await Promise.all(mesh.all().filter((server) => !later.includes(server.name)).map((server) => server.start()));
    } catch (error) {
      await mesh.abort();
      throw error;
    }
    return mesh;
  }
  at(name) {
    return this.servers.get(name);
  }
  all() {
    return [...this.servers.values()];
  }

  // The first makes the mesh, the others join one by one.
  async join() {
    const [first, ...others] = this.all().filter((server) => server.running());
    assert.equal((await first.post("/v1/mesh/create", {})).status, 200);
    for (const other of others) await this.admit(first, other);
    return this;
  }
  async token(server, options = {}) {
    const { status, body } = await server.post("/v1/mesh/tokens", options);
    assert.equal(status, 200, JSON.stringify(body));
    return body.token;
  }
  async admit(host, guest) {
    const { status, body } = await guest.post("/v1/mesh/join", { token: await this.token(host) });
    assert.equal(status, 200, JSON.stringify(body));
  }

  // An orderly end of all that runs; fails when anything is left behind.
  async stop() {
    try {
      const ends = await Promise.allSettled(this.all().filter((server) => server.running()).map((server) => server.stop()));
      for (const { reason } of ends) if (reason) throw reason;
    } finally {
      await this.abort();
    }
  }
  async abort() {
    await this.lab.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

// A test on a mesh of its own: when it fails or hangs, the error says what all nodes know and said.
export async function onMesh(places, options, acts) {
  const mesh = await Mesh.start(places, options);
  try {
    if (options.joined !== false) await mesh.join();
    await acts(mesh);
  } catch (error) {
    const told = await story(mesh);
    await mesh.abort().catch(() => {});
    throw new Error(`${error.stack}\n${told}`);
  }
  await mesh.stop();
}

// CORRAL_MESH_LOGS: a folder for all that the servers said.
async function story(mesh) {
  const { CORRAL_MESH_LOGS: folder } = process.env;
  if (folder) for (const { name, lines } of mesh.all()) writeFileSync(join(folder, `${name}.log`), lines.join("\n"));
  const ask = (server, path) =>
    fetch(server.url + path, { signal: AbortSignal.timeout(3000) })
      .then((answer) => answer.text())
      .catch(String);
  const told = mesh.all().filter((server) => server.running()).map(async (server) => {
    const nodes = await ask(server, "/v1/mesh/nodes");
    return [`== ${server.name}: ${nodes}`, ...server.lines.slice(-60)].join("\n");
  });
  return (await Promise.all(told)).join("\n");
}
