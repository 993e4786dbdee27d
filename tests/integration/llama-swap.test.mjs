// What users of llama-swap bring: their keys in models.toml, their configuration, their paths; and changes of the files
// while the server runs.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { ask, external } from "../support/fake-servers.mjs";
import { program } from "../support/server.mjs";

async function until(holds) {
  while (!(await holds())) await new Promise((resolve) => setImmediate(resolve));
}
const list = async (server, query = "") => (await server.get(`/v1/models${query}`)).body.data;

external("its usual keys work, and unknown ones cost no model", async (externals) => {
  externals.program("mine");
  externals.models(`
groups.g.members = ["m"]
hooks.on_startup.preload = ["m"]
[models.m]
cmd = "mine --port \${PORT}"
proxy = "http://127.0.0.1:\${PORT}"
name = "Model M"
description = "It plays."
metadata = { owner = "me" }
odd = 1
[models.hidden]
cmd = "mine --port \${PORT}"
unlisted = true
`);
  const server = await externals.serve();
  await until(async () => (await server.loaded())[0]?.model_name === "m");
  const listed = await list(server);
  assert.deepEqual(listed.map((model) => model.id), ["m"]);
  assert.deepEqual([listed[0].name, listed[0].description, listed[0].meta], ["Model M", "It plays.", { llamaswap: { owner: "me" } }]);
  assert.deepEqual((await list(server, "?show_all=true")).filter((model) => model.recipe === "command").map((model) => model.id), ["hidden", "m"]);
  assert.deepEqual((await server.get("/api/tags")).body.models.map((model) => model.name), ["m"]);
  assert.equal((await ask(server, "hidden", "hi")).status, 200);
  const { backend_problems: problems } = (await server.get("/v1/health")).body;
  assert.equal(problems.length, 2);
  assert.match(problems[0], /models\.toml:2: groups has no effect: /);
  assert.match(problems[1], /models\.toml:\d+: models\.m: unknown key 'odd' is ignored/);
});

external("changed files are read again, and broken ones change nothing", async (externals) => {
  externals.program("mine");
  externals.models('[models.first]\ncmd = "mine --port {port}"\n');
  const server = await externals.serve();
  const names = async () => (await list(server)).map((model) => model.id);
  assert.deepEqual(await names(), ["first"]);
  externals.models('[models.first]\ncmd = "mine --port {port}"\n[models.second]\nrecipe = "later"\n');
  await until(async () => (await server.get("/v1/health")).body.backend_problems.length === 1);
  externals.descriptor("later", 'recipe = "later"\ncommand = ["mine", "--port", "{port}"]\npaths = { "chat/completions" = "/chat" }\n');
  await until(async () => (await names()).length === 2);
  const { status, body } = await ask(server, "second", "hi");
  assert.equal(status, 200, JSON.stringify(body));
  assert.equal(body.path, "/chat");
  externals.descriptor("later", 'recipe = "later"\ncommand = [\n');
  await until(async () => (await server.get("/v1/health")).body.backend_problems.length === 1);
  assert.deepEqual(await names(), ["first", "second"], "a descriptor with a mistake costs no model");
  externals.descriptor("later", 'recipe = "later"\ncommand = ["mine", "--port", "{port}"]\npaths = { "chat/completions" = "/chat" }\n');
  await until(async () => (await server.get("/v1/health")).body.backend_problems.length === 0);
  externals.models("[models.first\n");
  await until(async () => (await server.get("/v1/health")).body.backend_problems.length === 1);
  assert.deepEqual(await names(), ["first", "second"]);
  externals.models('[models.third]\ncmd = "mine --port {port}"\n');
  await until(async () => (await names()).includes("third"));
  assert.deepEqual(await names(), ["third"]);
  assert.deepEqual((await server.get("/v1/health")).body.backend_problems, []);
  assert.equal((await ask(server, "third", "hi")).status, 200);
  externals.models(null);
  await until(async () => (await names()).length === 0);
});

external("a request behind /upstream passes as it is", async (externals) => {
  externals.program("mine");
  externals.models('[models."org/m"]\ncmd = "mine --port {port}"\ndescription = "It plays."\n');
  const server = await externals.serve();
  assert.deepEqual((await server.get("/running")).body, { running: [] });
  const passed = await server.post("/upstream/org/m/v1/odd/path?x=1", { model: "unchanged", a: [1] });
  assert.equal(passed.status, 200);
  assert.equal(passed.body.path, "/v1/odd/path?x=1");
  assert.deepEqual(JSON.parse(passed.body.body), { model: "unchanged", a: [1] });
  const [running] = (await server.get("/running")).body.running;
  assert.deepEqual([running.model, running.state, running.description], ["org/m", "ready", "It plays."]);
  assert.match(running.cmd, /mine --port \d+$/);
  assert.equal((await server.post("/upstream/org/m/ui/?x=1", {})).body.path, "/ui/?x=1");
  assert.equal((await server.get("/upstream/nobody/v1/models")).status, 404);
  assert.equal((await server.get(`/upstream/${"/".repeat(9_000)}`)).status, 404);
  assert.equal((await server.fetch("/unload", { method: "HEAD" })).status, 200);
  assert.equal((await server.get("/running")).body.running.length, 1, "HEAD unloads nothing");
  assert.equal((await server.fetch("/api/models/unload/org/m", { method: "POST" })).status, 200);
  await until(async () => (await server.get("/running")).body.running.length === 0);
  const unloaded = await server.fetch("/unload");
  assert.equal(await unloaded.text(), "OK");
  assert.deepEqual((await server.post("/api/models/unload", {})).body, { msg: "ok" });
  const logs = await server.fetch("/logs");
  assert.match(logs.headers.get("content-type"), /^text\/plain/);
  assert.match(await logs.text(), /listens on http/);
});

external("its paths need the rights of their equals", async (externals) => {
  externals.program("mine");
  externals.models('[models.m]\ncmd = "mine --port {port}"\n');
  const server = await externals.serve({ environment: { CORRAL_API_KEY: "sk-all" } });
  const headers = { authorization: "Bearer sk-all" };
  const made = await server.json("POST", "/internal/keys", { name: "user", scopes: ["inference"] }, headers);
  assert.equal(made.status, 200, JSON.stringify(made.body));
  const user = { authorization: `Bearer ${made.body.key}` };
  const status = async (method, path, as) => (await server.json(method, path, method === "GET" ? undefined : { messages: [] }, as)).status;
  for (const path of ["/running", "/unload", "/logs", "/upstream/m/v1/models"]) assert.equal(await status("GET", path, {}), 401, path);
  for (const path of ["/unload", "/logs", "/upstream/m/metrics-of-its-own"]) assert.equal(await status("GET", path, user), 403, path);
  assert.equal(await status("POST", "/upstream/m/admin", user), 403);
  assert.equal(await status("POST", "/upstream/m/v1/chat/completions", user), 200);
  assert.equal(await status("GET", "/running", user), 200);
  assert.equal(await status("POST", "/upstream/m/admin", headers), 200);
});

external("the answer has the name that was asked for, and errors have OpenAI's shape", async (externals) => {
  externals.program("mine", { says: { model: "/srv/secret/path.gguf", choices: [] } });
  externals.models('[models.m]\ncmd = "mine --port {port}"\naliases = ["also"]\n');
  const server = await externals.serve();
  for (const name of ["m", "also"]) assert.equal((await ask(server, name, "hi")).body.model, name);
  externals.program("mine", { fails: [418, { detail: "no tea" }] });
  const refused = await ask(server, "m", "hi");
  assert.equal(refused.status, 418);
  assert.deepEqual(refused.body, { error: { message: "no tea", type: "invalid_request_error", code: "invalid_request", param: null } });
});

external("corral import llama-swap writes a models.toml that a running server takes", async (externals) => {
  externals.program("mine");
  writeFileSync(externals.path("swap.yaml"), `
macros:
  server: mine --port \${PORT}
groups:
  g: { members: [from-yaml] }
models:
  from-yaml:
    cmd: |
      # as usual
      \${server}
      --more words
    ttl: 60
`);
  const server = await externals.serve();
  assert.deepEqual(await list(server), []);
  const done = spawnSync(program, ["import", "llama-swap", externals.path("swap.yaml"), "--config", externals.path("config.toml")], { encoding: "utf8" });
  assert.equal(done.status, 0, done.stderr);
  assert.match(done.stderr, /groups is left out/);
  assert.match(readFileSync(externals.path("models.toml"), "utf8"), /\[models\."from-yaml"\]/);
  await until(async () => (await list(server)).length === 1);
  const { status, body } = await ask(server, "from-yaml", "hi");
  assert.equal(status, 200, JSON.stringify(body));
  assert.deepEqual(body.words.slice(2), ["--more", "words"]);
});
