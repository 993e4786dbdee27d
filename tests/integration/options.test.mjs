// What a model runs with and what the server is set to: saved, shown, changed while it runs, kept over a restart.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { promisify } from "node:util";
import { program, Server } from "../support/server.mjs";

let folder;
let file;
let server;
before(() => {
  folder = mkdtempSync(join(tmpdir(), "corral-options-"));
  file = join(folder, "config.toml");
});
after(() => rmSync(folder, { recursive: true, force: true }));

// A server with a state folder of its own that outlives it, and an empty configuration file.
const flags = () => ["--state-dir", join(folder, "state"), "--config", file];
beforeEach(async () => {
  rmSync(join(folder, "state"), { recursive: true, force: true });
  writeFileSync(file, "");
  server = await Server.start(...flags());
});
afterEach(() => server.stop());
async function restart() {
  await server.stop();
  server = await Server.start(...flags());
}

const names = async () => (await server.loaded()).map((entry) => entry.model_name).sort();
const setting = async (key) => (await server.get("/internal/config")).body.settings[key];

// Asks until the answer is the wanted one; a test that never gets it ends by the runner's deadline, with the last answer.
async function until(ask, wanted) {
  for (;;) {
    const answer = await ask();
    if (wanted(answer)) return answer;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

function edit(text) {
  writeFileSync(file + ".new", text);
  renameSync(file + ".new", file);
}

test("a lowered limit that was set evicts the idle model used longest ago, and holds after a restart", async () => {
  assert.equal((await server.post("/internal/set", { max_loaded_models: 2 })).status, 200);
  for (const model of ["tiny-llama", "tiny-qwen3"]) assert.equal((await server.chat(model, "hi")).status, 200);
  assert.deepEqual(await names(), ["tiny-llama", "tiny-qwen3"]);
  const answer = await server.post("/internal/set", { max_loaded_models: 1 });
  assert.deepEqual(answer.body, { status: "success", updated: { max_loaded_models: 1 }, applies: { max_loaded_models: "now" } });
  await until(names, (left) => left.length === 1 && left[0] === "tiny-qwen3");
  await server.post("/internal/set", { max_loaded_models: "llm=3,*=1" });
  await restart();
  assert.equal((await server.get("/v1/health")).body.max_models.llm, 3);
  assert.equal((await setting("max_loaded_models")).source, "set");
});

test("an edited configuration file counts at once; a broken one changes nothing and health says so", async () => {
  edit("max_loaded_models = 2\n");
  await until(() => setting("max_loaded_models"), (row) => row.value === 2);
  for (const model of ["tiny-llama", "tiny-qwen3"]) assert.equal((await server.chat(model, "hi")).status, 200);
  edit('max_loaded_models = 1\nlog_level = "lound"\n');
  const health = async () => (await server.get("/v1/health")).body;
  const broken = await until(health, (body) => body.configuration_problem !== null);
  assert.match(broken.configuration_problem, /config\.toml:2: log_level: 'lound' is not one of/);
  assert.equal(broken.max_models.llm, 2);
  assert.deepEqual(await names(), ["tiny-llama", "tiny-qwen3"]);
  writeFileSync(file, "max_loaded_models = 1\n");
  await until(names, (left) => left.length === 1 && left[0] === "tiny-qwen3");
  assert.equal((await health()).configuration_problem, null);
});

test("what every model runs with: the load, then what is saved for it, then llamacpp_args of the server", async () => {
  const entry = async () => (await server.loaded())[0];
  assert.equal((await server.chat("tiny-llama", "hi")).status, 200);
  const { pid, recipe_options } = await entry();
  assert.equal(recipe_options.llamacpp_backend, "auto");
  const set = await server.post("/internal/set", { llamacpp_backend: "cpu", llamacpp_args: "-c 512 -np 3 -ngl 9" });
  assert.deepEqual(set.body.applies, { llamacpp_args: "next_load", llamacpp_backend: "next_load" });
  assert.equal((await server.chat("tiny-llama", "hi")).status, 200);
  assert.equal((await entry()).pid, pid, "what is loaded stays as it is");
  assert.equal((await server.post("/v1/models/tiny-llama/options", { parallel: 2 })).status, 200);
  assert.equal((await server.post("/v1/load", { model_name: "tiny-llama", ctx_size: 256 })).status, 200);
  const { recipe_options: now, device } = await entry();
  assert.deepEqual([now.ctx_size, now.parallel, now.llamacpp_backend, now.gpu_layers, device], [256, 2, "cpu", 0, "cpu"]);
  const { sources } = (await server.get("/v1/models/tiny-llama/options")).body;
  assert.match(sources.ctx_size, /settings\.json/);
  assert.equal(sources.parallel, "saved");
  const refused = await server.post("/internal/set", { llamacpp_args: "--port 1" });
  assert.equal(refused.status, 400);
  assert.equal(refused.body.error.param, "llamacpp_args");
});

test("SIGHUP reads the file again", async () => {
  edit("parallel = 3\n");
  await until(() => setting("parallel"), (row) => row.value === 3);
  writeFileSync(file, "parallel = 4\n");
  process.kill(server.pid, "SIGHUP");
  await until(() => setting("parallel"), (row) => row.value === 4);
});

test("config and config set show and change what the server is set to", async () => {
  const corral = (...words) => promisify(execFile)(program, [...words, "--url", server.url]);
  const { stdout } = await corral("config", "set", "max_loaded_models=2", "ctx_size=1024");
  assert.equal(stdout, "ctx_size is 1024 from the next load on\nmax_loaded_models is 2 now\n");
  assert.match((await corral("config")).stdout, /max_loaded_models +2 +settings\.json/);
  await assert.rejects(corral("config", "set", "max_loaded_models=0"), /max_loaded_models/);
  assert.equal((await setting("max_loaded_models")).value, 2);
});

test("saved options are what later loads begin with, also after a restart", async () => {
  const saved = { model_name: "tiny-llama", ctx_size: 1024, llamacpp_args: "-np 2", evict_idle_timeout: 90, save_options: true };
  assert.equal((await server.post("/v1/load", saved)).status, 200);
  await restart();
  assert.equal((await server.chat("tiny-llama", "hi")).status, 200);
  const [entry] = await server.loaded();
  assert.equal(entry.max_context_window, 1024);
  assert.deepEqual(entry.recipe_options, { ...entry.recipe_options, ctx_size: 1024, parallel: 2, evict_idle_timeout: 90 });
  const options = (await server.get("/v1/models/tiny-llama/options")).body;
  assert.deepEqual(options.saved, { ctx_size: 1024, evict_idle_timeout: 90, llamacpp_args: "-np 2" });
  assert.equal(options.sources.ctx_size, "saved");
  assert.equal(options.needs_reload, false);
  assert.deepEqual((await server.json("DELETE", "/v1/models/tiny-llama/options")).body.saved, {});
});

test("a dry run says what would be and changes nothing", async () => {
  assert.equal((await server.post("/v1/load", { model_name: "tiny-llama" })).status, 200);
  const before = await server.loaded();
  const dry = (await server.post("/v1/models/tiny-llama/options", { ctx_size: 512, dry_run: true })).body;
  assert.equal(dry.effective.ctx_size, 512);
  assert.equal(dry.needs_reload, true);
  assert.deepEqual((await server.get("/v1/models/tiny-llama/options")).body.saved, {});
  assert.equal((await server.loaded())[0].pid, before[0].pid);
  const refused = await server.post("/v1/models/tiny-llama/options", { ctx_sise: 512 });
  assert.equal(refused.status, 400);
  assert.match(refused.body.error.message, /did you mean 'ctx_size'/);
});

test("pins survive a restart, by load and by pin", async () => {
  assert.equal((await server.post("/v1/load", { model_name: "tiny-llama", pinned: true })).status, 200);
  await restart();
  // It returns without a request.
  await until(names, (loaded) => loaded.includes("tiny-llama"));
  assert.equal((await server.loaded())[0].pinned, true);
  assert.equal((await server.chat("tiny-qwen3", "hi")).status, 409);
  assert.equal((await server.post("/internal/pin", { model_name: "tiny-llama", pinned: false })).status, 200);
  await restart();
  for (const model of ["tiny-llama", "tiny-qwen3"]) assert.equal((await server.chat(model, "hi")).status, 200);
  assert.deepEqual(await names(), ["tiny-qwen3"]);
});

test("llamacpp_backend names what there is, else the load is refused with what there is and evicts nobody", async () => {
  const load = (options) => server.post("/v1/load", { model_name: "tiny-llama", ...options });
  assert.equal((await load({ llamacpp_backend: "cpu" })).status, 200);
  const { pid, device } = (await server.loaded())[0];
  assert.equal(device, "cpu");
  const refused = async (answer) => {
    assert.equal(answer.status, 422);
    assert.equal(answer.body.error.code, "backend_not_installed");
    assert.equal(answer.body.error.param, "llamacpp_backend");
    assert.match(answer.body.error.message, /'metal' isn't installed.*this engine has .*cpu.*'auto'/);
    assert.equal((await server.loaded())[0].pid, pid, "who was there stays");
  };
  await refused(await load({ llamacpp_backend: "metal" }));
  await refused(await server.post("/v1/load", { model_name: "tiny-qwen3", llamacpp_backend: "metal" }));
  assert.equal((await server.post("/internal/set", { llamacpp_backend: "metal" })).status, 200);
  await refused(await server.chat("tiny-qwen3", "hi"));
  const unknown = await load({ llamacpp_backend: "abacus" });
  assert.equal(unknown.status, 400);
  assert.match(unknown.body.error.message, /auto, cpu, cuda, vulkan, rocm, metal, not 'abacus'/);
});

test("a model whose backend isn't installed is refused and evicts nobody", async () => {
  assert.equal((await server.post("/v1/load", { model_name: "tiny-llama" })).status, 200);
  writeFileSync(join(folder, "state", "user_models.json"), JSON.stringify({ "npu-chat": { checkpoint: "llama3.2:1b", recipe: "flm" } }));
  process.kill(server.pid, "SIGHUP");
  const listed = await until(async () => (await server.get("/v1/models/npu-chat")).body, (body) => body.id === "npu-chat");
  assert.equal(listed.recipe, "flm");
  for (const answer of [await server.post("/v1/load", { model_name: "npu-chat" }), await server.chat("npu-chat", "hi")]) {
    assert.equal(answer.status, 422);
    assert.equal(answer.body.error.code, "backend_not_installed");
    assert.match(answer.body.error.message, /'flm'/);
  }
  assert.deepEqual(await names(), ["tiny-llama"]);
});

test("a configuration file behind links is read again when any of them, or the file, changes", async () => {
  const at = (...path) => join(folder, "linked", ...path);
  for (const place of ["conf", "hop", "one", "two"]) mkdirSync(at(place), { recursive: true });
  writeFileSync(at("one", "real.toml"), "parallel = 2\n");
  writeFileSync(at("two", "real.toml"), "parallel = 7\n");
  symlinkSync(join("..", "one"), at("hop", "here"));
  symlinkSync(join("..", "hop", "here", "real.toml"), at("conf", "config.toml"));
  await server.stop();
  server = await Server.start("--state-dir", join(folder, "state"), "--config", at("conf", "config.toml"));
  assert.equal((await setting("parallel")).value, 2);
  writeFileSync(at("one", "real.toml"), "parallel = 3\n");
  await until(() => setting("parallel"), (row) => row.value === 3);
  writeFileSync(at("one", "new"), "parallel = 4\n");
  renameSync(at("one", "new"), at("one", "real.toml"));
  await until(() => setting("parallel"), (row) => row.value === 4);
  symlinkSync(join("..", "two"), at("hop", "new"));
  renameSync(at("hop", "new"), at("hop", "here"));
  await until(() => setting("parallel"), (row) => row.value === 7);
  writeFileSync(at("two", "real.toml"), "parallel = 8\n");
  await until(() => setting("parallel"), (row) => row.value === 8);
});

test("a configuration file is read when it comes, also with its folders", async () => {
  const state = join(folder, "state");
  const home = join(folder, "home");
  await server.stop();
  server = await Server.launch({ environment: { XDG_CONFIG_HOME: join(home, "config") } }, "--state-dir", state);
  assert.equal((await setting("parallel")).source, "default");
  mkdirSync(join(home, "config", "corral"), { recursive: true });
  writeFileSync(join(home, "config", "corral", "config.toml"), "parallel = 5\n");
  await until(() => setting("parallel"), (row) => row.value === 5);
  writeFileSync(join(home, "config", "corral", "config.toml"), "parallel = 6\n");
  await until(() => setting("parallel"), (row) => row.value === 6);
});

test("a second server with the same state folder is refused, and says which one has it", async () => {
  const other = promisify(execFile)(program, ["serve", "--port", "0", "--runtime-dir", folder, ...flags()]);
  const { code, stderr } = await other.catch((error) => error);
  assert.equal(code, 2, stderr);
  assert.ok(stderr.includes(`state_dir '${join(folder, "state")}' is in use by another server, process ${server.pid}, which listens on 127.0.0.1 port ${server.port}: `), stderr);
  // One that was killed holds nothing.
  server.child.kill("SIGKILL");
  await server.ended;
  server = await Server.start(...flags());
});

test("commands find the running server though its port was changed, and though the file is broken", async () => {
  const env = { ...process.env, CORRAL_STATE_DIR: join(folder, "state"), CORRAL_CONFIG: file };
  for (const name of ["CORRAL_PORT", "CORRAL_HOST", "CORRAL_URL"]) delete env[name];
  const corral = (...words) => promisify(execFile)(program, words, { env });
  writeFileSync(file, "port = 1\n"); // of the next start
  assert.match((await corral("list")).stdout, /tiny-llama/);
  writeFileSync(file, "parallel = 2\nport =\n");
  const { stdout, stderr } = await corral("list");
  assert.match(stdout, /tiny-llama/);
  assert.match(stderr, /^warning: .*config\.toml:2:\d+: not valid TOML.*; using the server at http:\/\/127\.0\.0\.1:\d+$/m);
});
