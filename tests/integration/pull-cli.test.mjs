// Models from a hub on the loopback by the command line: a first start without any, offers, asking, Ctrl-C, removal.
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { Hub } from "../support/hub.mjs";
import { models, program, Server } from "../support/server.mjs";

const kTable = `only_these = true
[[model]]
name = "little"
type = "llm"
labels = ["chat"]
repository = "org/little-GGUF"
quantisation = "Q8_0"
parameters = 0.001
licence = "mit"
seen = "this test"
`;

let hub;
let folder;
let server;
let environment; // of the server and of the command line: both read the table
before(async () => {
  hub = await Hub.start();
  hub.add("org/little-GGUF", "little-Q8_0.gguf", join(models, "scripted-hello.gguf"));
  hub.add("org/little-GGUF", "little-F16.gguf", join(models, "tiny-llama.gguf"));
});
after(() => hub.stop());
beforeEach(async () => {
  hub.trouble = () => null;
  folder = mkdtempSync(join(tmpdir(), "corral-pull-cli-"));
  for (const name of ["models", "config/corral"]) mkdirSync(join(folder, name), { recursive: true });
  writeFileSync(join(folder, "config/corral/known-models.toml"), kTable);
  environment = hub.environment(folder, { XDG_CONFIG_HOME: join(folder, "config") });
  server = await Server.launch({ modelsDir: join(folder, "models"), environment });
});
afterEach(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

function corral(...args) {
  return new Promise((resolve) => {
    const child = execFile(program, [...args, "--port", server.port], { env: environment }, (error, stdout, stderr) => {
      resolve({ code: error ? error.code : 0, stdout, stderr });
    });
    child.stdin.end();
  });
}
const said = async (pattern) => {
  for (let text; ;) {
    if (pattern.test((text = server.lines.join("\n")))) return text;
    await new Promise((resolve) => server.child.stderr.once("data", resolve));
  }
};

test("a server without models says which suit the machine, and run offers them", async () => {
  await said(/no models are here; download one with: corral run little \(about 1\.0 MiB on disk, .* of memory; chat; licence: mit\)/);
  const run = await corral("run");
  assert.equal(run.code, 2);
  assert.match(run.stderr, /these fit the machine:\n {2}corral run --yes little\n/);
  const list = await corral("list", "--all");
  assert.match(list.stdout, /^little\s+llm\s+-\s+~1\.0 MiB\s+-\s+Q8_0\s+not downloaded$/m);
});

test("run fetches what isn't here when it is told to, and answers", async () => {
  const refused = await corral("run", "little", "Say hello.");
  assert.equal(refused.code, 2);
  assert.match(refused.stderr, /'little' is not downloaded, and there is no terminal/);
  assert.ok(!hub.requests.some(({ place }) => place === "files"));

  const answered = await corral("run", "little", "Say hello.", "--yes");
  assert.equal(answered.code, 0, answered.stderr);
  assert.ok(answered.stdout.trim().length > 0);
  assert.match(answered.stderr, /org\/little-GGUF:Q8_0: 1 file, 356 KiB on disk; about .* of memory/);
  // By both names from now on.
  assert.equal((await corral("run", "little", "Say hello.")).stdout, answered.stdout);
  assert.doesNotMatch((await corral("alias")).stdout, /little/); // the server's own table has the name

  const show = await corral("show", "little");
  assert.match(show.stdout, /^from\s+org\/little-GGUF:Q8_0$/m);
  assert.match(show.stdout, /^CONTEXT\s+MEMORY\n\s+\d+\s+\d+ MiB$/m);
  assert.match((await corral("rm", "little")).stdout, /^org\/little-GGUF:Q8_0 is removed; 356 KiB are free again$/m);
});

test("pull says what else there is, downloads lists it, rm frees it", async () => {
  const show = await corral("show", "org/little-GGUF");
  assert.match(show.stdout, /^Q8_0\s+356 KiB\s+.*the default of the name/m);
  const pull = await corral("pull", "org/little-GGUF");
  assert.equal(pull.code, 0, pull.stderr);
  assert.match(pull.stdout, /^org\/little-GGUF:Q8_0 is downloaded \(356 KiB in /);
  assert.match((await corral("pull", "org/little-GGUF:Q8_0")).stdout, /is already downloaded/);
  assert.match((await corral("downloads")).stdout, /completed\s+100 %/);
  assert.match((await corral("search", "little")).stdout, /^org\/little-GGUF\s+10\s+1$/m);

  const dry = await corral("rm", "org/little-GGUF:Q8_0", "--dry-run");
  assert.match(dry.stdout, /would free 356 KiB/);
  const removed = await corral("rm", "org/little-GGUF:Q8_0");
  assert.equal(removed.code, 0, removed.stderr);
  assert.match(removed.stdout, /is removed; 356 KiB are free again/);
  assert.doesNotMatch((await corral("list")).stdout, /little-GGUF/);
  assert.equal((await corral("rm", "org/little-GGUF:Q8_0")).code, 1);
});

test("Ctrl-C pauses, and the same command goes on from what is here", async () => {
  hub.trouble = ({ place }) => (place === "files" ? { kind: "slow", pieces: 2000, pause: 10 } : null);
  const child = spawn(program, ["pull", "org/little-GGUF:Q8_0", "--port", server.port], { env: environment, stdio: ["ignore", "ignore", "pipe"] });
  let text = "";
  const ended = new Promise((resolve) => child.once("close", resolve));
  await new Promise((resolve) => child.stderr.on("data", (bytes) => /\d+ %/.test((text += bytes)) && resolve()));
  child.kill("SIGINT");
  assert.equal(await ended, 130);
  assert.match(text, /paused: .* of 356 KiB downloaded; resume with: corral pull org\/little-GGUF:Q8_0/);
  for (let state; state !== "paused";) state = (await server.get("/v1/downloads")).body[0].status;
  assert.match((await corral("list", "--all")).stdout, /org\/little-GGUF:Q8_0.*paused/);

  hub.trouble = () => null;
  const pull = await corral("pull", "org/little-GGUF:Q8_0");
  assert.equal(pull.code, 0, pull.stderr);
  assert.match((await corral("list")).stdout, /org\/little-GGUF:Q8_0/);
});

test("what can't be fetched is told as the server says it", async () => {
  const missing = await corral("pull", "org/nothing");
  assert.equal(missing.code, 1);
  assert.match(missing.stderr, /org\/nothing/);
  const nonsense = await corral("pull", "no such thing");
  assert.equal(nonsense.code, 1);
  assert.ok(!existsSync(join(folder, "hub/models--org--nothing")));
  const models = await corral("list");
  assert.match(models.stderr, /corral run lists models that fit the machine/);
});

test("import lists another program's models on a server without keys: the owner's file has the setting", async () => {
  const theirs = join(folder, "lm-studio");
  mkdirSync(theirs);
  copyFileSync(join(models, "tiny-llama.gguf"), join(theirs, "their-llama.gguf"));
  const imported = await corral("import", "lmstudio", "--dir", theirs);
  assert.equal(imported.code, 0, imported.stderr);
  assert.equal(imported.stdout, `the server lists models of lmstudio=${theirs} in place from now on; see corral list\n`);
  assert.match((await corral("list")).stdout, /^their-llama\s/m);
  assert.match(readFileSync(join(folder, "config/corral/config.toml"), "utf8"), /^import_folders = /m);
  const nowhere = await corral("import", "ollama", "--dir", join(folder, "nope"));
  assert.equal(nowhere.code, 2);
  assert.equal(nowhere.stderr, `corral: --dir: '${join(folder, "nope")}' is not a folder; name the folder with the models of ollama\n`);
});

test("list --all --json has the models of its table", async () => {
  const table = (await corral("list", "--all")).stdout.trim().split("\n").slice(1);
  const { data } = JSON.parse((await corral("list", "--all", "--json")).stdout);
  assert.deepEqual(data.map(({ id }) => id).sort(), table.map((line) => line.split(/\s+/)[0]).sort());
  assert.ok(data.some(({ downloaded }) => !downloaded));
});

test("a known model that came by its full name is used by its short one, without a hub", async () => {
  assert.equal((await corral("pull", "org/little-GGUF:Q8_0")).code, 0);
  assert.equal((await corral("config", "set", "offline=true")).code, 0);
  const answered = await corral("run", "little", "Say hello.");
  assert.equal(answered.code, 0, answered.stderr);
  const show = await corral("show", "little");
  assert.match(show.stdout, /^name\s+org\/little-GGUF:Q8_0$/m);
  assert.match(show.stdout, /^FILE\s+SIZE\s+SHA-256\nlittle-Q8_0\.gguf\s+356 KiB\s+[0-9a-f]{64}$/m);
  assert.match((await corral("pull", "little")).stdout, /^org\/little-GGUF:Q8_0 is already downloaded$/m);
  const elsewhere = await corral("pull", "org/little-GGUF:F16");
  assert.match(elsewhere.stderr, /the setting offline is on\. Turn it off with: corral config set offline=false/);
  assert.equal((await corral("config", "set", "offline=false")).code, 0);
});

test("rm of a registered name takes the name and leaves the model", async () => {
  assert.equal((await corral("pull", "org/little-GGUF:Q8_0")).code, 0);
  const entered = await server.post("/v1/models/register", { model_name: "mine", checkpoint: "org/little-GGUF:Q8_0" });
  assert.equal(entered.status, 200, JSON.stringify(entered.body));
  assert.match((await corral("show", "mine")).stdout, /^other names\s.*org\/little-GGUF:Q8_0/m);
  const gone = await corral("rm", "mine");
  assert.match(gone.stdout, /'mine' is a name of 'org\/little-GGUF:Q8_0'\. Only the name is gone; .* corral rm org\/little-GGUF:Q8_0/);
  assert.match((await corral("list")).stdout, /^org\/little-GGUF:Q8_0\s/m);
});

test("wrong names get a way on", async () => {
  const close = await corral("pull", "littl");
  assert.match(close.stderr, /not a known name\. Did you mean 'little'\? Search with: corral search littl\./);
  assert.match((await corral("pull", "llama3.2:1b")).stderr, /ollama\.com\/library\/llama3\.2:1b/);
  const run = await corral("run", "littl", "hi");
  assert.match(run.stderr, /Known models with similar names: 'little'\. Search for others with: corral search littl/);
  const alias = await corral("alias", "x", "org/missing");
  assert.equal(alias.code, 0);
  assert.match(alias.stderr, /warning: no model 'org\/missing'/);
});
