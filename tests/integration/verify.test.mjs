// Files of models are read again: what is damaged is named, put aside on wish, and what changes under a loaded model is
// noticed.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { appendFileSync, closeSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, statSync, symlinkSync, utimesSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { models, program, Server } from "../support/server.mjs";

let folder;
let server;
let hash;
before(async () => {
  folder = mkdtempSync(join(tmpdir(), "corral-verify-"));
  mkdirSync(join(folder, "models"));
  copyFileSync(join(models, "tiny-llama.gguf"), join(folder, "models", "plain.gguf"));
  // Another file in the hub's layout, whose name is its hash.
  const repo = join(folder, "hub", "models--org--repo");
  hash = createHash("sha256").update(readFileSync(join(models, "tiny-qwen3.gguf"))).digest("hex");
  for (const part of ["blobs", "refs", "snapshots/abc"]) mkdirSync(join(repo, part), { recursive: true });
  copyFileSync(join(models, "tiny-qwen3.gguf"), join(repo, "blobs", hash));
  for (const file of [join(folder, "models", "plain.gguf"), join(repo, "blobs", hash)]) utimesSync(file, 1e9, 1e9);
  symlinkSync(join("..", "..", "blobs", hash), join(repo, "snapshots", "abc", "hubbed.gguf"));
  const environment = { HF_HUB_CACHE: join(folder, "hub") };
  server = await Server.launch({ modelsDir: join(folder, "models"), environment });
});
after(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

// Another byte in the middle, where weights are; as a disk does it, the time stays.
function flip(file) {
  const { size } = statSync(file);
  const descriptor = openSync(file, "r+");
  const byte = readFileSync(file)[size >> 1];
  writeSync(descriptor, Buffer.from([byte ^ 0xff]), 0, 1, size >> 1);
  closeSync(descriptor);
  utimesSync(file, 1e9, 1e9);
}

async function corral(...args) {
  const flags = [...args, "--url", server.url];
  return promisify(execFile)(program, flags).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }) => ({ code, stdout, stderr }),
  );
}

const names = async () => (await server.get("/v1/models?rescan=true")).body.data.map((model) => model.id);

test("a flipped byte in a file of the hub is damage at the first check; quarantine takes it off the list", async () => {
  const sound = await corral("verify");
  assert.equal(sound.code, 0, sound.stderr);
  assert.match(sound.stdout, /plain\.gguf .* first check/);
  assert.match(sound.stdout, /hubbed\.gguf .* ok/);
  const blob = join(folder, "hub", "models--org--repo", "blobs", hash);
  flip(blob);
  const model = (await names()).find((name) => name.startsWith("org/repo"));
  const damaged = await corral("verify", model);
  assert.equal(damaged.code, 1);
  assert.match(damaged.stdout, /hubbed\.gguf .* damaged/);
  assert.match(damaged.stderr, /hubbed\.gguf is damaged: .*--quarantine/);
  const moved = await corral("verify", model, "--quarantine");
  assert.equal(moved.code, 1);
  assert.ok(existsSync(blob + ".damaged"));
  assert.deepEqual(await names(), ["plain"]);
});

test("a flipped byte of any file is found by the second look", async () => {
  assert.equal((await corral("verify", "plain")).code, 0);
  const file = join(folder, "models", "plain.gguf");
  flip(file);
  const { body } = await server.post("/v1/verify", { model_name: "plain" });
  assert.equal(body.models[0].files[0].state, "damaged");
  flip(file);
});

test("what changes under a loaded model is an event, and shown where models in memory are", async () => {
  assert.equal((await server.post("/v1/load", { model_name: "plain" })).status, 200);
  const leaving = new AbortController();
  const response = await server.fetch("/v1/events", { signal: leaving.signal });
  appendFileSync(join(folder, "models", "plain.gguf"), "more");
  let text = "";
  for await (const piece of response.body) {
    text += Buffer.from(piece).toString();
    if (/event: files\n.*"change":"changed".*\n/.test(text)) break;
  }
  leaving.abort();
  assert.match(text, /event: files\ndata: .*"model":"plain"/);
  assert.match((await corral("ps")).stdout, /\(file changed\)/);
  assert.equal((await server.post("/v1/unload", {})).status, 200);
});
