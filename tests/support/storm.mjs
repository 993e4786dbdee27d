// What tests have in common in which everything happens to a mesh at random while clients ask: requests that are judged,
// nodes that are out of order for a while, deeds one after the other, and what a server holds when nothing happens.
import assert from "node:assert/strict";
import { eventually } from "./mesh.mjs";

// A model that was killed, or a node that was, may refuse for so long: loads that fail twice cool down for ten seconds.
const kAftermath = 15_000; // ms

export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export class Storm {
  counts = {};
  causes = {}; // an example of each error's words
  failures = [];
  upset = {}; // node → when its server or an engine of it was last out of order (ms); Infinity: it is now
  longest = 0; // ms, of a request that ended
  // `expected`: what each model says. `hung`: ms that no request may take.
  constructor(mesh, expected, random, hung) {
    Object.assign(this, { mesh, expected, random, hung });
  }
  begin(seconds) {
    this.end = Date.now() + seconds * 1000;
  }
  over() {
    return Date.now() > this.end || this.failures.length > 0;
  }
  count(what) {
    this.counts[what] = (this.counts[what] ?? 0) + 1;
  }
  fail(what) {
    this.tell("failed", what);
    this.failures.push(what);
  }
  tell(...words) {
    if (process.env.CORRAL_MESH_TELL) console.log(new Date().toISOString(), ...words);
  }

  // One request of a client of that node: right, or one clear error, else the test has failed. `asking()` resolves to what
  // asking.mjs has. `must`: this node answers it itself, unless it was out of order. `unknown()`: it may say that there is
  // no such model.
  async request(server, model, asking, { must = false, unknown = () => false } = {}) {
    const begin = Date.now();
    const calm = () => !(this.upset[server.name] > begin - kAftermath);
    const what = (end) => `${server.name} asks ${model} (${Date.now() - begin} ms): ${end}`;
    let timer;
    const hung = new Promise((resolve) => (timer = setTimeout(resolve, this.hung, "hangs")));
    try {
      const end = await Promise.race([asking(), hung]);
      if (end === "hangs") return this.fail(what(end));
      if (end.error === undefined && !end.left && end.said !== this.expected[model]) return this.fail(what(JSON.stringify(end)));
      if (end.status === 404 && !unknown()) return this.fail(what(JSON.stringify(end)));
      if (end.error !== undefined && must && calm() && end.error !== "model_cooling_down") return this.fail(what(JSON.stringify(end)));
      const name = end.error === undefined ? (end.left ? "left" : "right") : `${end.status} ${end.error}`;
      if (end.error !== undefined) this.causes[name] ??= end.message;
      this.longest = Math.max(this.longest, Date.now() - begin);
      this.count(name);
    } catch (error) {
      if (calm() || error.code === "ERR_ASSERTION") this.fail(what(error.stack));
      else this.count("its node was away");
      await pause(20);
    } finally {
      clearTimeout(timer);
    }
  }

  async away(name, act) {
    this.upset[name] = Infinity;
    try {
      await act();
    } finally {
      this.upset[name] = Date.now();
    }
  }
  // A random one of these after the other, and `after()` behind each.
  async deeds(deeds, random, after) {
    while (!this.over()) {
      const name = random.pick(Object.keys(deeds));
      this.count(`did: ${name}`);
      this.tell(name);
      // Whom it was meant for may have gone by itself.
      await deeds[name]().catch((error) => error.code === "ESRCH" || this.fail(`${name}: ${error.stack}`));
      await after();
    }
  }
  // What may happen to processes: those of a victim, and engines of all nodes.
  processDeeds(victims, random) {
    const one = () => this.mesh.at(random.pick(victims));
    return {
      kill: () => this.restarted(one(), (server) => server.kill().then(() => pause(random.below(2000)))),
      stop: () => this.restarted(one(), (server) => server.stop()),
      pause: () => this.pausedFor(one(), 200 + random.below(4000)),
      "kill an engine": async () => {
        const server = random.pick(this.mesh.all());
        const engines = (await server.loaded().catch(() => [])).filter((entry) => entry.pid);
        if (engines.length > 0) await this.away(server.name, async () => process.kill(random.pick(engines).pid, "SIGKILL"));
      },
    };
  }
  restarted(server, end) {
    return this.away(server.name, () => end(server).then(() => server.start()));
  }
  pausedFor(server, ms) {
    return this.away(server.name, async () => {
      server.child.kill("SIGSTOP");
      await pause(ms);
      server.child.kill("SIGCONT");
    });
  }
  // What may happen to the network. It heals behind each.
  weatherDeeds(victims, random, longest = 4000) {
    const { lab } = this.mesh;
    const names = this.mesh.all().map((server) => server.name);
    const pair = () => {
      const one = random.pick(victims);
      return [one, random.pick(names.filter((name) => name !== one))];
    };
    const rest = () => pause(200 + random.below(longest)).then(() => lab.heal());
    return {
      plug: () => lab.isolate(random.pick(victims)).then(rest),
      pair: () => lab.cut(...pair()).then(rest),
      "one way": () => lab.cutOneWay(...pair()).then(rest),
      "other way": () => lab.cutOneWay(...pair().reverse()).then(rest),
      slow: () => lab.everywhere({ delay: random.below(10), loss: 1, jitter: 1 }).then(rest),
    };
  }
}

// What a server holds once that has settled. Nothing may be loaded.
export async function settled(server) {
  let last;
  return eventually(`${server.name} settles`, async () => {
    const now = server.holdings();
    const same = last && ["descriptors", "processes", "listeners"].every((what) => now[what] === last[what]);
    last = now;
    await pause(500);
    return same && now;
  });
}
