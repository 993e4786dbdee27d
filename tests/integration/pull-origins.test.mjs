// Models that come from addresses and from Ollama's registry: what they are called, what is known of their content, what
// their loads take.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { Hub } from "../support/hub.mjs";
import { models, Server } from "../support/server.mjs";

let hub;
let folder;
let server;
before(async () => void (hub = await Hub.start()));
after(() => hub.stop());
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "corral-origins-"));
  mkdirSync(join(folder, "models"));
  hub.trouble = () => null;
  server = await Server.launch({ modelsDir: join(folder, "models"), environment: environment() });
});
afterEach(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

const environment = () => hub.environment(folder, { CORRAL_OLLAMA_REGISTRY: hub.url });
const ids = async () => (await server.get("/v1/models?rescan=true")).body.data.map((model) => model.id);
const pull = (name) => server.post("/v1/pull", { model_name: name });
const chat = { messages: [{ role: "user", content: "hi" }], max_tokens: 2 };
// Another server with the same downloads, as after a restart.
async function restart() {
  const { state } = server;
  server.child.kill("SIGKILL");
  await server.ended;
  const record = readFileSync(join(state, "downloads.json"));
  const prepare = (fresh) => writeFileSync(join(fresh, "downloads.json"), record);
  const next = await Server.launch({ modelsDir: join(folder, "models"), environment: environment(), prepare });
  rmSync(state, { recursive: true, force: true });
  server = next;
}
const leftovers = () =>
  readdirSync(join(folder, "hub"), { recursive: true }).filter((path) => path.includes(".corral-part"));
async function until(condition) {
  for (let value; ; await new Promise(setImmediate)) if ((value = await condition())) return value;
}

test("models from addresses are called by their files, are intact, and can be deleted", async () => {
  const address = (repo, file) => `${hub.url}/org/${repo}/resolve/main/${file}`;
  for (const repo of ["a", "b"]) hub.add(`org/${repo}`, "tiny-Q8_0.gguf", join(models, repo === "a" ? "tiny-llama.gguf" : "tiny-qwen3.gguf"));
  const first = await pull(address("a", "tiny-Q8_0.gguf"));
  assert.deepEqual([first.status, first.body.model_name], [200, "tiny-Q8_0"], JSON.stringify(first.body));
  assert.equal(first.body.download.bytes_previously_downloaded, 0);
  const second = (await pull(address("b", "tiny-Q8_0.gguf"))).body.model_name;
  assert.match(second, /^127\.0\.0\.1_\d+\/tiny-Q8_0$/);
  assert.deepEqual((await ids()).sort(), [second, "tiny-Q8_0"].sort());
  for (const state of ["first_look", "right"]) {
    const { body } = await server.post("/v1/verify", { model_name: "tiny-Q8_0", quarantine: true });
    assert.deepEqual(body.models[0].files.map((file) => file.state), [state]);
  }
  assert.equal((await server.post("/v1/chat/completions", { ...chat, model: "tiny-Q8_0" })).status, 200);
  assert.equal((await server.post("/v1/delete", { model_name: "tiny-Q8_0" })).status, 200);
  assert.equal((await server.post("/v1/delete", { model_name: second })).status, 200);
  assert.deepEqual(await ids(), []);
});

test("a page at an address is no model, and nothing of it stays", async () => {
  hub.add("org/page", "page.gguf", `<!doctype html>${"sorry ".repeat(10_000)}`);
  const { status, body } = await pull(`${hub.url}/org/page/resolve/main/page.gguf`);
  assert.equal(status, 502, JSON.stringify(body));
  assert.match(body.error.message, /page\.gguf' is not a GGUF file: check the URL/);
  assert.deepEqual(leftovers(), []);
  assert.deepEqual(await ids(), []);
});

test("parameters of Ollama's registry count in loads, below what is saved", async () => {
  hub.addOllama("library/y", "1b", { model: readFileSync(join(models, "tiny-llama.gguf")), params: { num_ctx: 512, temperature: 0.5 }, license: "free" });
  assert.equal((await pull("ollama.com/library/y:1b")).body.model_name, "y:1b");
  const context = async () => {
    assert.equal((await server.post("/v1/load", { model_name: "y:1b" })).status, 200);
    const { body } = await server.get("/v1/health");
    return body.all_models_loaded.find((model) => model.model_name === "y:1b").recipe_options.ctx_size;
  };
  assert.equal(await context(), 512);
  await server.post("/v1/unload", { model_name: "y:1b" });
  await server.post("/v1/load", { model_name: "y:1b", ctx_size: 256, save_options: true });
  await server.post("/v1/unload", { model_name: "y:1b" });
  assert.equal(await context(), 256);
  assert.equal((await server.post("/v1/delete", { model_name: "y:1b" })).status, 200);
  assert.ok(!existsSync(join(folder, "hub", "models--ollama.com--library--y", "blobs")), "the licence goes, too");
});

test("a paused download of an earlier process is known, and cancelling it removes its part", async () => {
  const name = "org/half:Q8_0";
  hub.add("org/half", "half-Q8_0.gguf", join(models, "tiny-llama.gguf"));
  hub.trouble = ({ place }) => (place === "files" ? { kind: "slow", pieces: 2000, pause: 10 } : null);
  await server.post("/v1/pull", { model_name: name, subscribe: false });
  const row = async () => (await server.get("/v1/downloads")).body[0];
  await until(async () => (await row()).overall_bytes_downloaded > 0);
  assert.equal((await row()).bytes_previously_downloaded, 0);
  await server.post("/v1/downloads/control", { model_name: name, action: "pause" });
  const paused = await row();
  await until(() => JSON.parse(readFileSync(join(server.state, "downloads.json"), "utf8"))[0].paused);
  await restart();
  const known = await until(row);
  assert.deepEqual([known.status, known.total_download_size], ["paused", paused.total_download_size]);
  assert.equal(known.overall_bytes_downloaded, paused.overall_bytes_downloaded);
  assert.notDeepEqual(leftovers(), []);
  assert.equal((await server.post("/v1/downloads/control", { model_name: name, action: "cancel" })).status, 200);
  assert.deepEqual(leftovers(), []);
});

test("a token that is written while the server runs counts for the next download", async () => {
  hub.add("org/hidden", "x-Q8_0.gguf", join(models, "tiny-llama.gguf"));
  hub.repo("org/hidden").hidden = true;
  assert.equal((await pull("org/hidden")).status, 404);
  writeFileSync(join(folder, "token"), "good\n");
  const { status, body } = await pull("org/hidden");
  assert.equal(status, 200, JSON.stringify(body));
});
