// Runs the fetching program of downloads/ (pull_main.cpp), which has small ranges and short pauses, against a hub (hub.mjs): all
// files of org/repo, or what a name means, into a cache of its own. And looks at what it left there.
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { lstatSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative, resolve } from "node:path";

export const program = join(dirname(resolve(process.env.CORRAL_PROGRAM)), "downloads_test_program");
const kSanitizer = /ThreadSanitizer|AddressSanitizer|LeakSanitizer|runtime error:/;

const folderOf = (repo) => `models--${repo.replaceAll("/", "--")}`;

export class Pulls {
  constructor(hub, folder = mkdtempSync(join(tmpdir(), "corral-pull-"))) {
    this.hub = hub;
    this.folder = folder;
    this.cache = join(folder, "hub");
    this.children = new Set();
    this.program = program;
  }
  clear() {
    for (const child of this.children) child.kill("SIGKILL");
    rmSync(this.folder, { recursive: true, force: true });
  }

  // A child; its `ended` resolves to { code, signal, errors, lines }, the last line being the cause of a failure.
  start(name, environment) {
    const env = this.hub.environment(this.folder, environment);
    const child = spawn(program, name ? [name] : [this.hub.url, this.cache], { env, stdio: ["ignore", "pipe", "pipe"] });
    this.children.add(child);
    let output = "";
    let errors = "";
    child.stdout.on("data", (bytes) => (output += bytes));
    child.stderr.on("data", (bytes) => (errors += bytes));
    child.ended = new Promise((resolve, reject) => {
      child.once("error", reject);
      child.once("close", (code, signal) => {
        this.children.delete(child);
        if (kSanitizer.test(errors)) reject(new Error(errors));
        resolve({ code, signal, errors, lines: output.split("\n").filter(Boolean) });
      });
    });
    return child;
  }
  run(name, environment) {
    return this.start(name, environment).ended;
  }

  // path → SHA-256 of what the names of the repository's snapshots mean.
  files(repo = "org/repo") {
    return Object.fromEntries(this.names(repo));
  }
  // The same of all versions, as pairs.
  names(repo) {
    const root = join(this.cache, folderOf(repo), "snapshots");
    const found = [];
    for (const commit of listed(root))
      for (const path of readdirSync(join(root, commit), { recursive: true })) {
        const at = join(root, commit, path);
        // A link that was on its way to its name when its process was killed has none.
        if (lstatSync(at).isSymbolicLink() && !/(^|\/)\.corral-/.test(path)) found.push([path, createHash("sha256").update(readFileSync(at)).digest("hex")]);
      }
    return found;
  }
  reference(name) {
    return readFileSync(join(this.cache, folderOf("org/repo"), "refs", name), "utf8");
  }
  // Everything in the cache that is neither a blob that a name means, nor a name, a reference or a lock.
  leftovers() {
    const left = [];
    for (const folder of listed(this.cache)) {
      if (!folder.startsWith("models--")) continue;
      const root = join(this.cache, folder);
      const meant = new Set();
      const paths = readdirSync(root, { recursive: true }).filter((path) => !lstatSync(join(root, path)).isDirectory());
      for (const path of paths) if (lstatSync(join(root, path)).isSymbolicLink()) meant.add(resolve(join(root, path), "..", readlinkSync(join(root, path))));
      for (const path of paths) {
        const at = join(root, path);
        if (path.startsWith("refs/") || lstatSync(at).isSymbolicLink() || meant.has(at)) continue;
        left.push(relative(this.cache, at));
      }
    }
    return left;
  }
}

function listed(folder) {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
