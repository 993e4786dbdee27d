// The packages of script/package in fresh Debian systems: install, serve, upgrade, remove; the tarball; the steps of the image.
// CORRAL_PACKAGES: their folder; default build/package of this clone.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { appendFileSync, chownSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { DebianRoot, freePort } from "../support/debian-root.mjs";
import { models } from "../support/server.mjs";
import { computesTheSame, cpuDriver, environmentOf } from "../support/vulkan.mjs";

const repo = join(import.meta.dirname, "../..");
const packages = process.env.CORRAL_PACKAGES ?? join(repo, "build/package");
const named = (pattern) => (existsSync(packages) ? readdirSync(packages) : []).filter((name) => pattern.test(name)).map((name) => join(packages, name))[0];
const deb = named(/^corral_.*\.deb$/);
const tarball = named(/^corral-.*\.tar\.gz$/);
const there = (program) => {
  try {
    execFileSync("sh", ["-c", `command -v ${program}`], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
};
const skip = process.getuid() !== 0 ? "needs root" : !there("mmdebstrap") ? "mmdebstrap is not installed" : !deb || !tarball ? `no packages in ${packages}: run script/package` : false;

const kModel = "scripted-hello";
const kOther = "tiny-llama";
const kMaxSeconds = 10;
const kMaxBytes = 120 * 1024 * 1024;

// What the unit says, in a system without systemd.
function unit(root) {
  const text = readFileSync(root.path("/lib/systemd/system/corral.service"), "utf8");
  const environment = Object.fromEntries(text.match(/^Environment=(.*)$/m)[1].split(" ").map((word) => word.split("=")));
  return { words: text.match(/^ExecStart=(.*)$/m)[1].split(" "), environment };
}
async function start(root, environment = {}) {
  const service = unit(root);
  root.sh("install -d -o corral -g corral -m 0700 /run/corral");
  return root.serve([...service.words, "--port", String(await freePort())], { user: "corral:corral", environment: { ...service.environment, ...environment } });
}
async function ask(server, method, path, body, headers = {}) {
  const answer = await fetch(server.url + path, { method, body: body === undefined || body instanceof FormData ? body : JSON.stringify(body), headers });
  return { status: answer.status, body: await answer.json() };
}
const post = (server, path, body, headers) => ask(server, "POST", path, body, headers);
const chat = (server, headers) => post(server, "/v1/chat/completions", { model: kModel, messages: [{ role: "user", content: "hi" }], max_tokens: 8 }, headers);
function addModels(root, folder) {
  for (const name of [`${kModel}.gguf`, `${kOther}.gguf`, "scripted-whisper.bin"]) root.copy(join(models, name), folder);
}
// One second of silence.
function silence() {
  const samples = 16000;
  const head = Buffer.alloc(44);
  head.write("RIFF", 0);
  head.writeUInt32LE(36 + 2 * samples, 4);
  head.write("WAVEfmt ", 8);
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(16000, 24);
  head.writeUInt32LE(32000, 28);
  head.writeUInt16LE(2, 32);
  head.writeUInt16LE(16, 34);
  head.write("data", 36);
  head.writeUInt32LE(2 * samples, 40);
  return Buffer.concat([head, Buffer.alloc(2 * samples)]);
}
function transcribe(server) {
  const form = new FormData();
  form.set("model", "scripted-whisper");
  form.set("file", new Blob([silence()], { type: "audio/wav" }), "a.wav");
  return post(server, "/v1/audio/transcriptions", form);
}
function older(root) {
  const folder = root.path("/tmp/older");
  execFileSync("dpkg-deb", ["-R", deb, folder]);
  const control = join(folder, "DEBIAN/control");
  writeFileSync(control, readFileSync(control, "utf8").replace(/^Version: .*$/m, "Version: 0.0.1"));
  execFileSync("dpkg-deb", ["-Zgzip", "-b", folder, root.path("/tmp/older.deb")], { stdio: "ignore" });
  rmSync(folder, { recursive: true });
  return "/tmp/older.deb";
}

test("the deb is not too large", { skip }, () => {
  assert.ok(statSync(deb).size <= kMaxBytes, `${statSync(deb).size} bytes`);
});

for (const suite of ["bookworm", "trixie"]) {
  describe(suite, { skip }, () => {
    let root;
    after(() => root?.remove());

    test("an installed service answers", async () => {
      root = new DebianRoot(suite);
      root.install(root.copy(deb));
      assert.match(root.sh("id corral"), /corral/);
      assert.equal(root.sh("stat -c '%a %U %G' /var/cache/corral/models").trim(), "2775 corral corral");
      assert.equal(root.sh("stat -c '%a %U' /var/lib/corral").trim(), "750 corral");
      assert.match(root.sh("dpkg-query -W -f '${Conffiles}' corral"), /\/etc\/corral\/config\.toml/);
      assert.match(root.sh("ls /etc/systemd/system/multi-user.target.wants"), /^corral\.service$/m);
      assert.equal(root.sh("corral __complete unp | cut -f 1").trim(), "unpin");

      // A person of the group adds a model.
      root.sh("useradd --groups corral anna");
      addModels(root, "/tmp/models");
      root.sh("cp /tmp/models/* /var/cache/corral/models", { user: "anna" });
      assert.equal(root.sh(`stat -c '%U %G' /var/cache/corral/models/${kModel}.gguf`).trim(), "anna corral");

      const begin = Date.now();
      const server = await start(root);
      const answer = await chat(server);
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      assert.ok(Date.now() - begin <= kMaxSeconds * 1000, `${Date.now() - begin} ms until the first answer`);
      const heard = await transcribe(server);
      assert.equal(heard.body.text, "The horses are in the corral.");
      assert.match(root.sh(`corral list --url ${server.url}`, { user: "anna" }), new RegExp(kModel));
      assert.equal(await server.stop(), 0);
    });

    test("another user starts a server of the same program", async () => {
      root.sh("install -d -o anna -m 0700 /tmp/anna");
      const places = ["--models-dir", "/var/cache/corral/models", "--state-dir", "/tmp/anna/state", "--runtime-dir", "/tmp/anna/run"];
      const server = await root.serve(["corral", "serve", "--port", String(await freePort()), ...places], { user: "anna" });
      assert.equal((await chat(server)).status, 200);
      assert.equal(await server.stop(), 0);
    });

    test("Vulkan computes what the CPU computes", async () => {
      root.install("mesa-vulkan-drivers");
      const environment = environmentOf(cpuDriver(root.path("/")));
      const server = await start(root, environment);
      await computesTheSame((method, path, body) => ask(server, method, path, body), [kModel, kOther]);
      assert.equal(await server.stop(), 0);
      assert.match(root.sh("corral doctor || true", { user: "corral", environment }), /Vulkan0 \(llvmpipe/);
    });

    test("remove keeps all data, and purge keeps only models", () => {
      root.sh("corral key create --name one --state-dir /var/lib/corral", { user: "corral" });
      root.sh("apt-get remove -y corral");
      assert.ok(!root.exists("/usr/bin/corral"));
      assert.ok(root.exists("/var/lib/corral/keys.json") && root.exists("/etc/corral/config.toml"));
      root.sh("apt-get purge -y corral");
      assert.ok(!root.exists("/var/lib/corral") && !root.exists("/etc/corral/config.toml"));
      assert.ok(root.exists(`/var/cache/corral/models/${kModel}.gguf`));
    });

    test("an upgrade keeps keys, settings and an edited configuration", async () => {
      root.install(older(root));
      appendFileSync(root.path("/etc/corral/config.toml"), "# edited\n");
      const environment = { CORRAL_STATE_DIR: "/var/lib/corral" };
      const key = root.sh("corral key create --name two --scope admin,inference", { user: "corral", environment }).trim();
      const before = await start(root);
      const headers = { authorization: `Bearer ${key}` };
      assert.equal((await post(before, "/internal/set", { max_loaded_models: "2" }, headers)).status, 200);
      assert.equal((await post(before, `/v1/models/${kModel}/options`, { parallel: 2 }, headers)).status, 200);
      await before.stop();
      root.install(root.copy(deb));
      assert.match(readFileSync(root.path("/etc/corral/config.toml"), "utf8"), /# edited\n$/);
      const server = await start(root);
      assert.equal((await chat(server)).status, 401);
      assert.equal((await chat(server, headers)).status, 200);
      const health = (await ask(server, "GET", "/v1/health", undefined, headers)).body;
      assert.equal(health.max_models.llm, 2);
      assert.equal(health.all_models_loaded[0].recipe_options.parallel, 2);
      assert.equal(root.sh("stat -c '%a %U' /var/lib/corral").trim(), "750 corral");
      await server.stop();
    });

    test("the scripts of the package may run twice", () => {
      const scripts = "/var/lib/dpkg/info/corral";
      const before = root.sh("id corral; ls -lR /var/lib/corral /var/cache/corral");
      const environment = { DPKG_MAINTSCRIPT_PACKAGE: "corral" };
      for (const words of ["postinst configure", "postinst configure 0.0.1", "prerm upgrade 9", "postrm upgrade 9", "postinst abort-upgrade 9", "postinst abort-remove"])
        root.sh(`${scripts}.${words}`, { environment });
      assert.equal(root.sh("id corral; ls -lR /var/lib/corral /var/cache/corral"), before);
      assert.equal(root.sh("deb-systemd-helper is-enabled corral.service && echo enabled", { environment }).trim(), "enabled");
    });

    test("purge removes models if the variable says so", () => {
      root.sh("apt-get purge -y corral", { environment: { CORRAL_PURGE_MODELS: "yes" } });
      assert.ok(!root.exists("/var/lib/corral") && !root.exists("/var/cache/corral"));
    });

    test("the tarball serves as another user from a folder that is read-only", async () => {
      root.sh(`mkdir /opt/corral && tar -C /opt/corral --strip-components=1 -xzf ${root.copy(tarball)} && chmod -R a-w /opt/corral`);
      addModels(root, "/tmp/models");
      root.sh("install -d -o nobody -m 0700 /tmp/nobody");
      const words = ["/opt/corral/bin/corral", "serve", "--port", String(await freePort()), "--models-dir", "/tmp/models", "--state-dir", "/tmp/nobody/state", "--runtime-dir", "/tmp/nobody/run"];
      const server = await root.serve(words, { user: "nobody:nogroup" });
      assert.equal((await chat(server)).status, 200);
      assert.equal((await transcribe(server)).status, 200);
      await server.stop();
    });
  });
}

// Docker's own work, without its daemon.
test("the steps of the image give a server that asks for the key that it printed", { skip }, async (t) => {
  const root = new DebianRoot("bookworm");
  t.after(() => root.remove());
  const lines = readFileSync(join(repo, "packaging/docker/Dockerfile"), "utf8").split("\n");
  let environment = {};
  let user = "root";
  let entry;
  for (const line of lines) {
    const [, step, rest] = line.match(/^([A-Z]+) (.*)$/) ?? [];
    if (step === "RUN") root.sh(rest, { environment: { DEBIAN_FRONTEND: "noninteractive" } });
    if (step === "USER") user = rest;
    if (step === "ENV") environment = Object.fromEntries(rest.split(" ").map((word) => word.split("=")));
    if (step === "ENTRYPOINT") entry = JSON.parse(rest);
    if (step !== "COPY") continue;
    const sources = rest.split(" ");
    const target = root.path(sources.pop());
    mkdirSync(target, { recursive: true });
    for (const source of sources) execFileSync("cp", ["-p", source.includes("*") ? deb : join(repo, source), target]);
  }
  addModels(root, "/data/models");
  for (const folder of ["/data", "/data/models"]) chownSync(root.path(folder), 10001, 10001);
  const port = await freePort();
  environment = { ...environment, CORRAL_PORT: String(port) };
  const server = await root.serve(entry, { user, environment });
  const key = server.lines.join("\n").match(/corral-[a-z0-9]{8}-[a-z0-9]+/)[0];
  assert.equal((await chat(server)).status, 401);
  assert.equal((await chat(server, { authorization: `Bearer ${key}` })).status, 200);
  root.sh("/usr/lib/corral/live", { user, environment });
  await server.stop();
  assert.throws(() => root.sh("/usr/lib/corral/live", { user, environment }), "nothing listens");
  const again = await root.serve(entry, { user, environment });
  assert.ok(!again.lines.join("\n").includes("First start"));
  await again.stop();
});
