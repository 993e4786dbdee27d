// Models from a hub on the loopback: fetched, asked, deleted; by requests that name them; after a kill; beside models of
// other programs.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { Hub } from "../support/hub.mjs";
import { models, Server } from "../support/server.mjs";

const kName = "org/tiny-GGUF:Q8_0";
const kChat = { messages: [{ role: "user", content: "hi" }], max_tokens: 4 };

let hub;
let folder;
let server;
before(async () => {
  hub = await Hub.start();
  hub.add("org/tiny-GGUF", "tiny-Q8_0.gguf", join(models, "tiny-llama.gguf"));
  hub.add("org/tiny-GGUF", "README.md", "a model");
});
after(() => hub.stop());
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "corral-pull-"));
  mkdirSync(join(folder, "models"));
  hub.trouble = () => null;
});
afterEach(async () => {
  await server?.stop();
  server = undefined;
  rmSync(folder, { recursive: true, force: true });
});

const launch = async (...flags) => {
  server = await Server.launch({ modelsDir: join(folder, "models"), environment: hub.environment(folder) }, ...flags);
};
const ids = async () => (await server.get("/v1/models")).body.data.map((model) => model.id);
const downloads = async () => (await server.get("/v1/downloads")).body;

// Events of a stream, as [name, data].
async function* eventsOf(response) {
  let text = "";
  for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
    text += piece;
    for (let end; (end = text.indexOf("\n\n")) >= 0; text = text.slice(end + 2)) {
      const lines = text.slice(0, end).split("\n");
      if (lines[0].startsWith(":")) yield ["", lines[0]];
      else yield [lines[0].replace(/^event: /, ""), JSON.parse(lines.at(-1).replace(/^data: /, ""))];
    }
  }
}
const post = (path, body, signal) =>
  fetch(server.url + path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body), signal });
async function until(condition) {
  for (let value; ; await new Promise(setImmediate)) if ((value = await condition())) return value;
}
const moved = () => until(async () => hub.requests.some(({ place }) => place === "files"));

test("a model is fetched, answers, and is deleted with its files", async () => {
  await launch();
  assert.deepEqual(await ids(), []);
  const seen = [];
  for await (const [name, data] of eventsOf(await post("/v1/pull", { model_name: kName, stream: true }))) seen.push({ name, data });
  assert.equal(seen[0].name, "plan");
  assert.equal(seen[0].data.licence, "apache-2.0");
  assert.equal(seen[0].data.bytes_to_fetch, readFileSync(join(models, "tiny-llama.gguf")).length);
  assert.equal(seen.at(-1).name, "complete");
  assert.deepEqual(await ids(), [kName]);
  const chat = await server.post("/v1/chat/completions", { model: kName, ...kChat });
  assert.equal(chat.status, 200, JSON.stringify(chat.body));
  const gone = await server.post("/v1/delete", { model_name: kName });
  assert.equal(gone.body.freed_bytes, seen[0].data.bytes_total);
  assert.deepEqual(await ids(), []);
  assert.deepEqual((await server.get("/v1/health")).body.all_models_loaded, []);
  assert.equal(existsSync(join(folder, "hub", "models--org--tiny-GGUF", "blobs")), false);
});

test("each variant of the list is fetched by its name, whatever its file is called", async () => {
  const bytes = readFileSync(join(models, "tiny-llama.gguf"));
  const files = ["My Model (v2) [final]+é.gguf", "a/m.gguf", "b/m.gguf", "50% & more?.gguf", "one-Q4_K_M.gguf", "two-Q4_K_M.gguf"];
  // The last two are equal.
  files.forEach((path, i) => hub.add("org/odd", path, Buffer.concat([bytes, Buffer.alloc(Math.min(i, 4))])));
  await launch();
  const { variants } = (await server.get("/v1/pull/variants?checkpoint=org/odd")).body;
  assert.deepEqual(variants.map(({ primary_file }) => primary_file).sort(), [...files].sort());
  for (const { name } of variants) {
    const pulled = await server.post("/v1/pull", { model_name: `org/odd:${name}` });
    assert.equal(pulled.status, 200, JSON.stringify([name, pulled.body]));
    const chat = await server.post("/v1/chat/completions", { model: `org/odd:${name}`, ...kChat });
    assert.equal(chat.status, 200, JSON.stringify([name, chat.body]));
  }
  for (const path of files) assert.equal((await server.post("/v1/pull", { model_name: `org/odd:${path}` })).status, 200, path);
  assert.equal((await ids()).length, 5);
});

test("a request has its model fetched, with pings meanwhile, where the server was told so", async () => {
  await launch("--auto-pull");
  let calls = 0;
  hub.trouble = ({ place }) => (place === "files" && calls++ === 0 ? { kind: "slow", pieces: 30, pause: 60 } : null);
  const response = await post("/v1/chat/completions", { model: kName, stream: true, ...kChat });
  assert.equal(response.status, 200);
  const text = await response.text();
  assert.match(text, /^: ping/);
  assert.match(text, /data: \[DONE\]/);
  const unknown = await server.post("/v1/chat/completions", { model: "org/nothing", ...kChat });
  assert.equal(unknown.status, 404);
});

test("who leaves pauses a download; after a kill one that was detached goes on", async () => {
  await launch();
  hub.trouble = ({ place }) => (place === "files" ? { kind: "stall", at: 0.4 } : null);
  const leaving = new AbortController();
  const asking = post("/v1/pull", { model_name: kName }, leaving.signal).catch(() => null);
  hub.requests.length = 0;
  await moved();
  leaving.abort();
  await asking;
  await until(async () => (await downloads())[0].status === "paused");
  hub.requests.length = 0;
  const begun = await server.post("/v1/pull", { model_name: kName, subscribe: false });
  assert.equal(begun.body.id, `model:${kName}`);
  await moved();
  const { state } = server;
  server.child.kill("SIGKILL");
  await server.ended;
  const [record] = JSON.parse(readFileSync(join(state, "downloads.json"), "utf8"));
  assert.deepEqual([record.name, record.paused, record.repo], [kName, false, "org/tiny-GGUF"]);
  hub.trouble = () => null;
  const prepare = (fresh) => writeFileSync(join(fresh, "downloads.json"), readFileSync(join(state, "downloads.json")));
  const next = await Server.launch({ modelsDir: join(folder, "models"), environment: hub.environment(folder), prepare });
  rmSync(state, { recursive: true, force: true });
  server = next;
  await until(async () => (await ids()).includes(kName));
  const blobs = join(folder, "hub", "models--org--tiny-GGUF", "blobs");
  for (const name of readdirSync(blobs)) assert.equal(createHash("sha256").update(readFileSync(join(blobs, name))).digest("hex"), name);
});

test("Ollama's clients pull, copy and delete", async () => {
  await launch();
  const lines = (await (await post("/api/pull", { model: kName })).text()).trim().split("\n").map((line) => JSON.parse(line));
  assert.equal(lines[0].status, "pulling manifest");
  assert.equal(lines.at(-1).status, "success");
  assert.ok(lines.some(({ digest, total, completed }) => digest?.startsWith("sha256:") && total === completed));
  assert.equal((await post("/api/copy", { source: kName, destination: "mine" })).status, 200);
  const { body } = await server.post("/api/chat", { model: "mine", messages: kChat.messages, stream: false, options: { num_predict: 2 } });
  assert.equal(body.done, true, JSON.stringify(body));
  const remove = (model) => fetch(server.url + "/api/delete", { method: "DELETE", body: JSON.stringify({ model }) });
  assert.equal((await remove("mine")).status, 200);
  assert.deepEqual(await ids(), [kName]);
  assert.equal((await remove(kName)).status, 200);
  assert.equal((await remove(kName)).status, 404);
});

test("models of other programs are served where they are, and not deleted", async () => {
  const ollama = join(folder, "ollama");
  const file = join(models, "tiny-llama.gguf");
  const hash = createHash("sha256").update(readFileSync(file)).digest("hex");
  mkdirSync(join(ollama, "blobs"), { recursive: true });
  writeFileSync(join(ollama, "blobs", `sha256-${hash}`), readFileSync(file));
  mkdirSync(join(ollama, "manifests/registry.ollama.ai/library/tiny"), { recursive: true });
  const layers = [{ mediaType: "application/vnd.ollama.image.model", digest: `sha256:${hash}` }];
  writeFileSync(join(ollama, "manifests/registry.ollama.ai/library/tiny/1b"), JSON.stringify({ layers }));
  const studio = join(folder, "studio", "publisher", "repo");
  mkdirSync(studio, { recursive: true });
  writeFileSync(join(studio, "other.gguf"), readFileSync(join(models, "tiny-embed.gguf")));
  await launch("--import", `ollama=${ollama},lmstudio=${join(folder, "studio")}`);
  await until(async () => (await ids()).length === 2);
  assert.deepEqual((await ids()).sort(), ["other", "tiny:1b"]);
  const chat = await server.post("/v1/chat/completions", { model: "tiny:1b", ...kChat });
  assert.equal(chat.status, 200, JSON.stringify(chat.body));
  for (const model_name of ["tiny:1b", "other"]) {
    const refused = await server.post("/v1/delete", { model_name, models_dir: true });
    assert.equal(refused.body.error.code, "file_not_ours");
  }
});

test("one model of the hub: downloaded at the start, then served from the cache", async () => {
  await launch("-hf", "org/tiny-GGUF");
  await until(async () => (await server.get("/health")).status === 200);
  assert.deepEqual(await ids(), [kName]);
  const chat = await server.post("/v1/chat/completions", { model: "any", ...kChat });
  assert.equal(chat.status, 200, JSON.stringify(chat.body));
  await server.stop();
  hub.requests.length = 0;
  await launch("-hf", kName, "--offline", "-a", "mine");
  await until(async () => (await server.get("/health")).status === 200);
  assert.deepEqual(await ids(), ["mine"]);
  assert.deepEqual(hub.requests, []);
});

test("one model of the hub that cannot be had ends the server", async () => {
  await launch("-hf", "org/tiny-GGUF:Q2_K");
  const { code } = await server.ended;
  assert.equal(code, 1);
  assert.ok(server.lines.some((line) => line.includes("'org/tiny-GGUF:Q2_K' cannot be served: ")), server.lines.join("\n"));
  rmSync(server.state, { recursive: true, force: true });
  server = undefined;
});

test("offline nothing goes out, by the setting as by the variable", async () => {
  await launch();
  const told = await server.post("/internal/set", { offline: true });
  assert.equal(told.status, 200, JSON.stringify(told.body));
  hub.requests.length = 0;
  for (const ask of [() => server.post("/v1/pull", { model_name: kName }), () => server.get("/v1/registry/search?query=tiny")]) {
    const { status, body } = await ask();
    assert.equal(status, 503);
    assert.equal(body.error.code, "offline");
  }
  assert.deepEqual(hub.requests, []);
  await server.post("/internal/set", { offline: false });
  assert.deepEqual((await server.get("/v1/registry/search?query=tiny")).body.models.map(({ checkpoint }) => checkpoint), ["org/tiny-GGUF"]);
});
