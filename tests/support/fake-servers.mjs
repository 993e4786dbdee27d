// A folder of a configuration with played programs in it, and a server that knows them.
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { Server } from "./server.mjs";

const kFake = join(dirname(fileURLToPath(import.meta.url)), "fake-server.mjs");

export class Externals {
  constructor() {
    this.folder = mkdtempSync(join(tmpdir(), "corral-externals-"));
    this.bin = join(this.folder, "bin");
    mkdirSync(this.bin);
    mkdirSync(join(this.folder, "backends.d"));
    mkdirSync(join(this.folder, "models"));
    writeFileSync(join(this.folder, "config.toml"), "");
  }
  path(name) {
    return join(this.folder, name);
  }
  // A model's file; what is in it is nobody's business here.
  file(name) {
    writeFileSync(this.path(name), "x");
    return this.path(name);
  }
  // A program of this name, which behaves like that; may be changed while it runs. `start`: how its script starts it.
  program(name, behaviour = {}, start = (command) => `exec ${command}`) {
    const acts = this.path(`${name}.json`);
    writeFileSync(acts, JSON.stringify({ crashed: this.path(`${name}.crashed`), got: this.path(`${name}.got`), ...behaviour }));
    const script = join(this.bin, name);
    writeFileSync(script, `#!/bin/sh\n${start(`"${process.execPath}" "${kFake}" "${acts}" "$@"`)}\n`);
    chmodSync(script, 0o755);
    return script;
  }
  // The body of its latest request.
  got(name) {
    return readFileSync(this.path(`${name}.got`), "latin1");
  }
  // null: no file.
  models(toml) {
    if (toml === null) rmSync(this.path("models.toml"));
    else writeFileSync(this.path("models.toml"), toml);
  }
  descriptor(name, toml) {
    writeFileSync(join(this.folder, "backends.d", `${name}.toml`), toml);
  }
  async serve({ environment = {}, modelsDir = this.path("models"), prepare } = {}, ...flags) {
    const path = `${this.bin}:${process.env.PATH}`;
    const options = { modelsDir, environment: { ...environment, PATH: path } };
    if (prepare) options.prepare = prepare;
    this.server = await Server.launch(options, "--config", this.path("config.toml"), "--no-hub-cache", ...flags);
    return this.server;
  }
  async stop() {
    await this.server?.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

// A test with programs that are played; `acts(externals)` sets them up, serves, and asks.
export async function withExternals(acts) {
  const externals = new Externals();
  try {
    await acts(externals);
  } catch (error) {
    externals.server?.child.kill("SIGKILL");
    rmSync(externals.folder, { recursive: true, force: true });
    throw error;
  }
  await externals.stop();
}
export function external(name, acts) {
  test(name, () => withExternals(acts));
}
export const ask = (server, model, content, more = {}) => server.post("/v1/chat/completions", { model, messages: [{ role: "user", content }], ...more });
// True while a process (not a zombie of it) exists.
export function runs(pid) {
  try {
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}
