// Machines of a network on this machine: network namespaces with an address each, and between them a `wire` (delay, loss,
// cuts: support/wire) or a `bridge` (as fast as the machine; cuts and loss by nft). Namespaces have no names: any number of
// tests run side by side, and nothing is left when a test ends, however it ends.
//
//   const lab = await Lab.start(["a", "b", "c"]);
//   const child = lab.spawn("a", "program", ["argument"]);
//   const port = await lab.gate("a", 8000); // 127.0.0.1:port here is 127.0.0.1:8000 there
//   await lab.path("a", "b", { delay: 5, loss: 1 });
//   await lab.cut("a", "b");
//   await lab.heal();
//   await lab.stop();
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { createInterface } from "node:readline";

const wire = process.env.CORRAL_WIRE;
if (!wire) throw new Error("CORRAL_WIRE must be set: run these tests through script/test");

// Why such tests can't run here, for the `skip` of a test; or false. CTest looks for these words.
export const missing = (() => {
  const done = spawnSync(wire, ["check"]);
  return done.status === 0 ? false : `no rights for network namespaces here: ${String(done.stderr).trim() || done.error}`;
})();

// Resolves once `holds()` is true.
async function until(holds) {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 5));
}

// A process whose lines of output answer lines of input, in order.
class Dialogue {
  waiting = [];
  constructor(child) {
    this.child = child;
    child.stdin.on("error", () => {});
    createInterface({ input: child.stdout }).on("line", (line) => this.waiting.shift()?.resolve(line));
    child.once("exit", () => this.waiting.splice(0).forEach(({ reject }) => reject(new Error("corral-wire has ended"))));
  }
  async ask(line) {
    const answer = new Promise((resolve, reject) => this.waiting.push({ resolve, reject }));
    this.child.stdin.write(line + "\n");
    const [, word, rest] = (await answer).match(/^(\w+) ?(.*)$/);
    if (word !== "ok") throw new Error(`${line}: ${rest}`);
    return rest;
  }
}

const pairsOf = (names, others) => names.flatMap((from) => others.filter((to) => to !== from).map((to) => [from, to]));

export class Lab {
  nodes = new Map(); // name → {address, space, rules: what nft drops of whom}
  children = new Set();

  static async start(names, { medium = "wire", network = "10.77.0" } = {}) {
    const lab = new Lab();
    lab.medium = medium;
    lab.net = new Dialogue(spawn(wire, ["net", medium], { stdio: ["pipe", "pipe", "inherit"] }));
    try {
      for (const [at, name] of names.entries()) {
        const address = `${network}.${at + 1}`;
        const space = await lab.net.ask(`node ${name} ${address}/24`);
        lab.nodes.set(name, { address, space, inode: readlinkSync(space), rules: new Map() });
      }
    } catch (error) {
      await lab.stop();
      throw error;
    }
    return lab;
  }

  address(name) {
    return this.nodes.get(name).address;
  }

  // As child_process.spawn, on that machine. It is killed when this process ends.
  spawn(name, program, args = [], options = {}) {
    const child = spawn(wire, ["enter", this.nodes.get(name).space, program, ...args], options);
    child.ended = new Promise((resolve) => child.once("exit", (code, signal) => resolve({ code, signal })));
    this.children.add(child);
    child.ended.then(() => this.children.delete(child));
    return child;
  }
  // The output of a program that ends well.
  run(name, program, args, input = "") {
    const done = spawnSync(wire, ["enter", this.nodes.get(name).space, program, ...args], { input, encoding: "utf8" });
    if (done.status !== 0) throw new Error(`${program} ${args.join(" ")}: ${done.stderr || done.error}`);
    return done.stdout;
  }
  // A port here for one of 127.0.0.1 there.
  async gate(name, port) {
    const child = spawn(wire, ["gate", this.nodes.get(name).space, String(port)], { stdio: ["pipe", "pipe", "inherit"] });
    child.ended = once(child, "exit");
    this.children.add(child);
    const [line] = await once(createInterface({ input: child.stdout }), "line");
    return Number(line.match(/^gate (\d+)$/)[1]);
  }
  // Processes that run on that machine: [{pid, command}].
  inhabitants(name) {
    const { inode } = this.nodes.get(name);
    const of = (pid) => {
      try {
        if (readlinkSync(`/proc/${pid}/ns/net`) !== inode) return null;
        return { pid: Number(pid), command: readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim() };
      } catch {
        return null;
      }
    };
    return readdirSync("/proc").filter((entry) => /^\d+$/.test(entry)).map(of).filter(Boolean);
  }

  // Faults of one way, beside those it has; see support/wire. A bridge knows `cut` and `loss` only.
  async path(from, to, faults) {
    if (this.medium === "wire") {
      const options = Object.entries(faults).map(([key, value]) => `${key}=${Number(value)}`);
      await this.net.ask(`path ${from} ${to} ${options.join(" ")}`);
      return;
    }
    const { cut, loss, ...others } = faults;
    assert.deepEqual(others, {}, "a bridge has no such faults");
    const { rules } = this.nodes.get(to);
    rules.set(from, { ...rules.get(from), ...(cut !== undefined && { cut }), ...(loss !== undefined && { loss }) });
    this.applyRules(to);
  }
  // The same both ways.
  async both(one, other, faults) {
    await this.path(one, other, faults);
    await this.path(other, one, faults);
  }
  // Between all.
  async everywhere(faults) {
    for (const [from, to] of pairsOf([...this.nodes.keys()], [...this.nodes.keys()])) await this.path(from, to, faults);
  }
  cut(one, other) {
    return this.both(one, other, { cut: true });
  }
  // Nothing of `from` arrives at `to`.
  cutOneWay(from, to) {
    return this.path(from, to, { cut: true });
  }
  // Pulls its plug.
  async isolate(name) {
    for (const [one, other] of pairsOf([name], [...this.nodes.keys()])) await this.cut(one, other);
  }
  // No faults between two, or anywhere.
  async heal(one, other) {
    if (this.medium === "wire") {
      await this.net.ask(`clear ${one ?? "*"} ${other ?? "*"}`);
      if (one) await this.net.ask(`clear ${other} ${one}`);
      return;
    }
    for (const [name, { rules }] of this.nodes) {
      if (one && name !== one && name !== other) continue;
      one ? rules.delete(name === one ? other : one) : rules.clear();
      this.applyRules(name);
    }
  }
  // How many packets of `from` to `to` a cut or loss has swallowed.
  async swallowed(from, to) {
    if (this.medium === "wire") {
      const stats = Object.fromEntries((await this.net.ask(`stats ${from} ${to}`)).split(" ").map((word) => word.split("=")));
      return Number(stats.cut) + Number(stats.lost);
    }
    const rule = this.run(to, "nft", ["list", "table", "inet", "lab"]).split("\n").find((line) => line.includes(` ${this.address(from)} `));
    return Number(rule?.match(/counter packets (\d+)/)[1] ?? 0);
  }
  applyRules(name) {
    const drops = [...this.nodes.get(name).rules].flatMap(([from, { cut, loss }]) => {
      const chance = cut ? "" : `numgen random mod 10000 < ${Math.round(loss * 100)} `;
      return cut || loss ? [`ip saddr ${this.address(from)} ${chance}counter drop`] : [];
    });
    const chain = ["chain input {", "type filter hook input priority 0;", ...drops, "}"].join("\n");
    this.run(name, "nft", ["-f", "-"], `table inet lab\ndelete table inet lab\ntable inet lab {\n${chain}\n}\n`);
  }

  // Ends all that the test has started there. Fails when what those started doesn't end with them.
  async stop() {
    for (const child of this.children) child.kill("SIGKILL");
    await Promise.all([...this.children].map((child) => child.ended));
    // Children of what was killed end by themselves.
    const left = () => [...this.nodes.keys()].flatMap((name) => this.inhabitants(name));
    const timeout = AbortSignal.timeout(20_000);
    await until(() => timeout.aborted || left().length === 0);
    const leaked = left();
    for (const { pid } of leaked) process.kill(pid, "SIGKILL");
    this.net.child.stdin.end();
    await until(() => this.net.child.exitCode !== null || this.net.child.signalCode !== null);
    assert.deepEqual(leaked, [], "processes were left behind");
  }
}
