// A fresh Debian in a folder: made by mmdebstrap once a week, unpacked for each test, entered with chroot. Needs root.
import { execFileSync, spawn } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, statSync } from "node:fs";
import { createServer } from "node:net";
import { homedir, tmpdir } from "node:os";
import { basename, join } from "node:path";
import { firstMatch } from "./server.mjs";

const kWeek = 7 * 24 * 3600 * 1000;
const cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "corral", "roots");
const run = (program, words, options = {}) => execFileSync(program, words, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"], ...options });

function archive(suite) {
  const file = join(cache, `${suite}.tar`);
  if (existsSync(file) && Date.now() - statSync(file).mtimeMs < kWeek) return file;
  mkdirSync(cache, { recursive: true });
  run("mmdebstrap", ["--variant=minbase", suite, `${file}.new.tar`]);
  renameSync(`${file}.new.tar`, file);
  return file;
}

export async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

export class DebianRoot {
  constructor(suite) {
    this.folder = mkdtempSync(join(tmpdir(), `corral-${suite}-`));
    run("tar", ["-C", this.folder, "-xf", archive(suite), "--exclude=./dev/*"]);
    for (const [name, numbers] of [["null", [1, 3]], ["zero", [1, 5]], ["random", [1, 8]], ["urandom", [1, 9]]])
      run("mknod", ["-m", "666", join(this.folder, "dev", name), "c", ...numbers.map(String)]);
    run("mount", ["-t", "proc", "proc", join(this.folder, "proc")]);
    copyFileSync("/etc/resolv.conf", join(this.folder, "etc/resolv.conf"));
    this.running = new Set();
  }
  async remove() {
    for (const child of this.running) {
      child.kill("SIGKILL");
      await child.gone;
    }
    run("umount", ["-l", join(this.folder, "proc")]);
    rmSync(this.folder, { recursive: true, force: true });
  }

  path(...parts) {
    return join(this.folder, ...parts);
  }
  exists(file) {
    return existsSync(this.path(file));
  }
  copy(file, folder = "/tmp") {
    mkdirSync(this.path(folder), { recursive: true });
    copyFileSync(file, this.path(folder, basename(file)));
    return join(folder, basename(file));
  }
  words(words, { user = "root", environment = {} }) {
    const variables = Object.entries({ PATH: "/usr/sbin:/usr/bin:/sbin:/bin", HOME: "/nonexistent", ...environment }).map(([key, value]) => `${key}=${value}`);
    return [`--userspec=${user}`, this.folder, "env", "-i", ...variables, ...words];
  }
  // The output of a command of the shell in the root.
  sh(command, options = {}) {
    return run("chroot", this.words(["sh", "-c", command], options));
  }
  install(...packages) {
    const environment = { DEBIAN_FRONTEND: "noninteractive" };
    if (!this.updated) this.sh("apt-get update", { environment });
    this.updated = true;
    return this.sh(`apt-get install -y --no-install-recommends -o Dpkg::Options::=--force-confold ${packages.join(" ")}`, { environment });
  }

  // A server that was started in the root, once it listens. `lines`: its output.
  async serve(words, options) {
    const child = spawn("chroot", this.words(words, options), { stdio: ["ignore", "pipe", "pipe"] });
    this.running.add(child);
    child.gone = new Promise((resolve) => child.once("exit", resolve)).then((code) => {
      this.running.delete(child);
      return code;
    });
    const lines = [];
    child.stdout.on("data", (data) => lines.push(...String(data).split("\n")));
    const url = (await firstMatch(child, child.stderr, lines, /listens on (http:\/\/\S+)/, "corral serve"))[1].replace("0.0.0.0", "127.0.0.1");
    const stop = () => (child.kill("SIGTERM"), child.gone);
    return { url, lines, stop };
  }
}
