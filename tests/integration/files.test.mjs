// Files with odd names, files that are replaced, and what is said of a context's size.
import assert from "node:assert/strict";
import { copyFileSync, linkSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { withoutVocabulary } from "../support/broken-models.mjs";
import { models, Server } from "../support/server.mjs";

// A server over a folder that `fill` makes.
async function served(fill, use, ...flags) {
  const folder = mkdtempSync(join(tmpdir(), "corral-test-models-"));
  fill(folder);
  const server = await Server.launch({ modelsDir: folder }, ...flags);
  try {
    await use(server, folder);
  } finally {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}
const from = (file) => join(models, file);
const part = (name, number) => `${name}-0000${number}-of-00002.gguf`;
const names = async (server) => (await server.get("/v1/models")).body.data.map((model) => model.id).sort();

test("a folder and a file whose names are no UTF-8 hold models like others", () =>
  served(
    (folder) => {
      const odd = Buffer.concat([Buffer.from(join(folder, "mod")), Buffer.from([0xe8]), Buffer.from("les")]);
      mkdirSync(odd);
      copyFileSync(from("tiny-llama.gguf"), Buffer.concat([odd, Buffer.from("/tiny-llama.gguf")]));
      copyFileSync(from("tiny-qwen3.gguf"), Buffer.concat([odd, Buffer.from("/qw"), Buffer.from([0xff]), Buffer.from("en.gguf")]));
    },
    async (server) => {
      assert.deepEqual(await names(server), ["qw?en", "tiny-llama"]);
      for (const name of ["tiny-llama", "qw?en"]) assert.equal((await server.chat(name, "hi")).status, 200);
    },
  ));

test("what is listed of a set can be loaded; the rest is listed with its problem", () =>
  served(
    (folder) => {
      for (const number of [1, 2]) {
        copyFileSync(from(part("tiny-split", number)), join(folder, part("Up", number).replace("gguf", "GGUF")));
        copyFileSync(from(part("tiny-split", number)), join(folder, `piece${number}.gguf`));
        symlinkSync(`piece${number}.gguf`, join(folder, part("linked", number)));
      }
      copyFileSync(from(part("tiny-split", 1)), join(folder, part("half", 1)));
      copyFileSync(from(part("tiny-split", 2)), join(folder, part("half", 2)));
      mkdirSync(join(folder, "other"));
      linkSync(join(folder, part("half", 1)), join(folder, "other", part("again", 1)));
      copyFileSync(from(part("tiny-split", 2)), join(folder, "other", part("again", 2)));
    },
    async (server) => {
      assert.deepEqual(await names(server), ["again", "half", "linked"]);
      for (const name of ["again", "half", "linked"]) assert.equal((await server.chat(name, "hi")).status, 200);
      const refused = await server.chat("Up", "hi");
      assert.ok(refused.status >= 400 && refused.status < 500, JSON.stringify(refused.body));
      assert.match(refused.body.error.message, /its name must end in '-0000\d-of-00002.gguf'/);
    },
  ));

test("a model with a very long name can be used by it", () => {
  const deep = Array(6).fill("d".repeat(100));
  return served(
    (folder) => {
      mkdirSync(join(folder, ...deep), { recursive: true });
      copyFileSync(from("tiny-llama.gguf"), join(folder, "tiny-llama.gguf"));
      copyFileSync(from("tiny-llama.gguf"), join(folder, ...deep, "tiny-llama.gguf"));
    },
    async (server) => {
      const long = (await names(server)).find((name) => name.length > 600);
      assert.ok(long);
      assert.equal((await server.chat(long, "hi")).status, 200);
      assert.equal((await server.post("/v1/completions", { model: long, prompt: "hi", max_tokens: 1 })).status, 200);
      assert.equal((await server.post("/v1/messages", { model: long, max_tokens: 1, messages: [{ role: "user", content: "hi" }] })).status, 200);
      assert.equal((await server.post("/api/chat", { model: long, stream: false, options: { num_predict: 1 }, messages: [{ role: "user", content: "hi" }] })).status, 200);
      assert.equal((await server.get(`/v1/models/${encodeURIComponent(long)}`)).status, 200);
    },
  );
});

test("a broken file is refused until it is replaced, and then loads at once", () =>
  served(
    (folder) => writeFileSync(join(folder, "m.gguf"), withoutVocabulary("tiny-llama.gguf")),
    async (server, folder) => {
      for (let i = 0; i < 4; ++i) assert.equal((await server.chat("m", "hi")).status, 500);
      copyFileSync(from("tiny-llama.gguf"), join(folder, "new"));
      renameSync(join(folder, "new"), join(folder, "m.gguf"));
      assert.equal((await server.chat("m", "hi")).status, 200);
    },
  ));

test("a context that was rounded up is said", () =>
  served(
    (folder) => copyFileSync(from("tiny-llama.gguf"), join(folder, "tiny-llama.gguf")),
    async (server) => {
      for (const [asked, used] of [[100, 256], [300, 512]]) {
        const loaded = await server.post("/v1/load", { model_name: "tiny-llama", ctx_size: asked });
        assert.equal(loaded.body.context_length, used);
        assert.deepEqual(loaded.body.warnings, [`ctx_size ${asked} became ${used}: contexts are multiples of 256 tokens`]);
        const dry = await server.post("/v1/models/tiny-llama/options", { dry_run: true, ctx_size: asked });
        assert.deepEqual([dry.body.context_length, dry.body.warnings], [used, loaded.body.warnings]);
      }
      const exact = await server.post("/v1/load", { model_name: "tiny-llama", ctx_size: 512 });
      assert.deepEqual(exact.body.warnings, []);
    },
  ));

test("what is too long has one code, with numbers", async () => {
  const server = await Server.start("--max-loaded-models", "3");
  const long = "a ".repeat(9000), longer = "word ".repeat(3_000_000);
  const rerank = (documents) => ["/v1/rerank", { model: "tiny-rerank", query: "q", documents }];
  const cases = [long, longer].flatMap((text) => [
    ["/v1/completions", { model: "tiny-llama", prompt: text }],
    ["/v1/chat/completions", { model: "tiny-llama", messages: [{ role: "user", content: text }] }],
    ["/v1/embeddings", { model: "tiny-embed", input: text }],
    ["/v1/embeddings", { model: "tiny-embed", input: ["a", text] }],
    rerank([text]),
    rerank(["a", text]),
  ]);
  cases.push(["/v1/completions", { model: "tiny-llama", prompt: Array(9000).fill(5) }]);
  cases.push(["/v1/completions", { model: "tiny-llama", prompt: ["a", long] }]);
  cases.push(["/v1/completions", { model: "tiny-llama", prompt: [[5, 6], Array(9000).fill(5)] }]);
  cases.push(["/v1/embeddings", { model: "tiny-embed", input: [Array(9000).fill(5)] }]);
  try {
    for (const loaded of [false, true]) {
      for (const model of loaded ? ["tiny-llama", "tiny-embed", "tiny-rerank"] : []) assert.equal((await server.post("/v1/load", { model_name: model })).status, 200);
      for (const [path, body] of cases) {
        const { status, body: { error } } = await server.post(path, body);
        assert.deepEqual([status, error?.code, error?.type], [400, "context_length_exceeded", "exceed_context_size_error"], `${path} ${JSON.stringify(error)}`);
        assert.ok(error.n_prompt_tokens > error.n_ctx - 1 && error.n_ctx > 0, JSON.stringify(error));
      }
    }
  } finally {
    await server.stop();
  }
});

test("a body may begin with a byte order mark", async () => {
  const server = await Server.start();
  const marked = (body) => `\ufeff${JSON.stringify(body)}`;
  try {
    const messages = [{ role: "user", content: "hi" }];
    const bodies = {
      "/v1/load": { model_name: "tiny-llama" },
      "/v1/chat/completions": { model: "tiny-llama", messages, max_tokens: 1 },
      "/v1/completions": { model: "tiny-llama", prompt: "hi", max_tokens: 1 },
      "/v1/messages": { model: "tiny-llama", messages, max_tokens: 1 },
      "/v1/responses": { model: "tiny-llama", input: "hi", max_output_tokens: 16 },
      "/api/chat": { model: "tiny-llama", messages, stream: false, options: { num_predict: 1 } },
      "/v1/conversations": {},
      "/v1/unload": { model_name: "tiny-llama" },
    };
    for (const [path, body] of Object.entries(bodies)) {
      const answer = await server.post(path, marked(body));
      assert.equal(answer.status, 200, `${path} ${JSON.stringify(answer.body)}`);
    }
  } finally {
    await server.stop();
  }
});
