// llama.cpp's own server as a backend, real: chosen by hand, and by itself for what corral's engine doesn't take.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { withExternals } from "../support/fake-servers.mjs";
import { llamaBin, models } from "../support/server.mjs";

const found = llamaBin && llamaBin !== "";
function llama(name, acts) {
  test(name, { skip: found ? false : "llama.cpp's programs aren't built: script/bootstrap --test" }, () => withExternals(acts));
}
const environment = { PATH: `${llamaBin}:${process.env.PATH}` };
const entry = (name, model, more = "") => `[models.${name}]\nrecipe = "llama-server"\ncheckpoint = "${join(models, `${model}.gguf`)}"\nargs = ["--no-warmup"]\n${more}`;
async function serve(externals, ...flags) {
  process.env.PATH = environment.PATH;
  return externals.serve({ modelsDir: models }, ...flags);
}
function runs(pid) {
  try {
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}
// The first event of the answer. While a model loads, comments keep the connection busy.
async function firstOf(stream) {
  for (;;) {
    const { value } = await stream.next();
    if (!value?.startsWith(":")) return value;
  }
}
async function until(holds) {
  while (!(await holds())) await new Promise((resolve) => setImmediate(resolve));
}

llama("it chats, streams, counts tokens and embeds like any other model", async (externals) => {
  externals.models(entry("theirs", "scripted-hello") + entry("vectors", "tiny-embed"));
  const server = await serve(externals);
  const chat = await server.chat("theirs", "hi");
  assert.equal(chat.status, 200, JSON.stringify(chat.body));
  const own = await server.chat("scripted-hello", "hi");
  assert.equal(chat.body.choices[0].message.content, own.body.choices[0].message.content);
  const text = [];
  for await (const event of server.events("/v1/chat/completions", { model: "theirs", messages: [{ role: "user", content: "hi" }], stream: true })) {
    if (event !== "[DONE]" && event !== ":") text.push(JSON.parse(event).choices[0]?.delta?.content ?? "");
  }
  assert.ok(text.join("").startsWith(own.body.choices[0].message.content), text.join(""));
  const vectors = await server.post("/v1/embeddings", { model: "vectors", input: "x" });
  assert.equal(vectors.status, 200, JSON.stringify(vectors.body));
  assert.ok(vectors.body.data[0].embedding.length > 0);
  const health = (await server.loaded()).find((one) => one.model_name === "vectors");
  assert.equal(health.recipe, "llama-server");
  assert.equal(health.type, "embedding");
});

llama("a client that hangs up cancels its request there, too", async (externals) => {
  externals.models(entry("theirs", "scripted-endless"));
  const server = await serve(externals);
  const leave = new AbortController();
  const stream = server.events("/v1/chat/completions", { model: "theirs", messages: [{ role: "user", content: "go" }], stream: true }, leave.signal);
  assert.ok(await firstOf(stream));
  leave.abort();
  await until(async () => (await server.loaded())[0].active_requests === 0);
  assert.equal((await server.chat("theirs", "hi", { max_tokens: 2 })).status, 200, "its place there is free again");
});

llama("kill -9 ends a stream with a framed error, a request that waits is repeated", async (externals) => {
  externals.models(entry("theirs", "scripted-endless"));
  const server = await serve(externals);
  const stream = server.events("/v1/chat/completions", { model: "theirs", messages: [{ role: "user", content: "go" }], stream: true });
  const first = await firstOf(stream);
  assert.ok(!JSON.parse(first).error, first);
  const { pid } = (await server.loaded())[0];
  process.kill(pid, "SIGKILL");
  let last;
  for await (const data of stream) last = data;
  assert.equal(JSON.parse(last).error.code, "backend_died");
  const again = await server.chat("theirs", "go", { max_tokens: 4 });
  assert.equal(again.status, 200);
  assert.notEqual((await server.loaded())[0].pid, pid);
  assert.ok(!runs(pid));
});

llama("its options come as flags, and its place is found like any other's", async (externals) => {
  externals.models(entry("theirs", "scripted-hello"));
  const server = await serve(externals);
  const loaded = await server.post("/v1/load", { model_name: "theirs", ctx_size: 512 });
  assert.equal(loaded.status, 200, JSON.stringify(loaded.body));
  const command = readFileSync(`/proc/${(await server.loaded())[0].pid}/cmdline`, "utf8").split("\0");
  assert.equal(command[command.indexOf("-c") + 1], "512");
  assert.equal((await server.chat("scripted-hello", "hi")).status, 200);
  assert.deepEqual((await server.loaded()).map((one) => one.model_name), ["scripted-hello"], "one slot, and it was theirs");
});
