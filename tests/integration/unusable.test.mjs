// Loads and requests that can't succeed are refused before a model is evicted for them.
import assert from "node:assert/strict";
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { withoutVocabulary } from "../support/broken-models.mjs";
import { models, Server } from "../support/server.mjs";

const bytesOf = (file) => readFileSync(join(models, file));
// The file with one piece of text replaced by another of the same length.
function changed(file, from, to) {
  const bytes = bytesOf(file), at = bytes.indexOf(from);
  assert.ok(at > 0 && from.length === to.length, from);
  bytes.write(to, at, "latin1");
  return bytes;
}
// The file with another value behind a key of four bytes, whose type comes first.
function withNumber(file, key, value) {
  const bytes = bytesOf(file), at = bytes.indexOf(key);
  assert.ok(at > 0, key);
  bytes.writeUInt32LE(value, at + key.length + 4);
  return bytes;
}
const truncated = (file) => bytesOf(file).subarray(0, bytesOf(file).length - 5000);

let server, folder, loaded;
before(async () => {
  folder = mkdtempSync(join(tmpdir(), "corral-test-models-"));
  for (const file of readdirSync(models)) copyFileSync(join(models, file), join(folder, file));
  const broken = {
    "no-vocabulary": withoutVocabulary("tiny-qwen3.gguf"),
    "other-architecture": changed("tiny-qwen3.gguf", "qwen3", "qwenX").toString("latin1").replaceAll("qwen3.", "qwenX."),
    "no-context-length": changed("tiny-qwen3.gguf", "qwen3.context_length", "qwen3.context_lengtX"),
    "no-tensor": changed("tiny-qwen3.gguf", "blk.0.attn_q.weight", "blk.0.attn_X.weight"),
    "no-heads": withNumber("tiny-qwen3.gguf", "qwen3.attention.head_count", 0),
    "odd-width": withNumber("tiny-qwen3.gguf", "qwen3.embedding_length", 61),
  };
  for (const [name, bytes] of Object.entries(broken)) writeFileSync(join(folder, `${name}.gguf`), bytes, "latin1");
  writeFileSync(join(folder, "short.gguf"), truncated("tiny-llama.gguf"));
  for (const type of ["embed", "rerank"]) copyFileSync(join(models, `tiny-${type}.gguf`), join(folder, `other-${type}.gguf`));
  server = await Server.launch({ modelsDir: folder });
  // One of each type, so that each load has to evict one.
  for (const name of ["tiny-llama", "other-embed", "other-rerank"]) {
    assert.equal((await server.post("/v1/load", { model_name: name })).status, 200);
  }
  loaded = await inMemory();
});
after(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

const inMemory = async () => (await server.occupying()).map((entry) => [entry.model_name, entry.pid]).sort();
async function nobodyWasEvicted() {
  assert.deepEqual(await inMemory(), loaded);
}

describe("what a model's own file shows", () => {
  for (const name of ["no-vocabulary", "other-architecture", "no-context-length", "no-tensor", "no-heads", "odd-width"]) {
    test(`${name}: refused by load, by a request, and by the dry run, and evicts nobody`, async () => {
      const loaded = await server.post("/v1/load", { model_name: name });
      assert.equal(loaded.status, 500, JSON.stringify(loaded.body));
      assert.equal(loaded.body.error.code, "model_load_error");
      assert.equal((await server.chat(name, "hi")).status, 500);
      const dry = await server.post(`/v1/models/${name}/options`, { dry_run: true });
      assert.equal(dry.body.problem, loaded.body.error.message);
      await nobodyWasEvicted();
    });
  }
});

describe("what a draft's or adapter's file shows", () => {
  const cases = {
    "an adapter as a draft": ["draft_model", () => join(folder, "tiny-llama-lora.gguf")],
    "a truncated draft": ["draft_model", () => join(folder, "short.gguf")],
    "the second file of a set as a draft": ["draft_model", () => join(folder, "tiny-split-00002-of-00002.gguf")],
    "a draft that cannot take guesses back": ["draft_model", () => join(folder, "tiny-mamba.gguf")],
    "a draft without a vocabulary": ["draft_model", () => join(folder, "no-vocabulary.gguf")],
    "a model as an adapter": ["lora", () => [join(folder, "tiny-llama.gguf")]],
    "an adapter of another model": ["lora", () => [join(folder, "tiny-llama-lora.gguf")]],
    "a truncated adapter": ["lora", () => [join(folder, "short.gguf")]],
  };
  for (const [what, [option, value]] of Object.entries(cases)) {
    test(`${what}: refused by load and by the dry run, and evicts nobody`, async () => {
      const wish = { [option]: value() };
      const loaded = await server.post("/v1/load", { model_name: "tiny-qwen3", ...wish });
      assert.equal(loaded.status, 400, JSON.stringify(loaded.body));
      assert.equal(loaded.body.error.code, "invalid_option");
      assert.equal(loaded.body.error.param, option);
      assert.doesNotMatch(loaded.body.error.message, /is not a GGUF file/);
      const dry = await server.post("/v1/models/tiny-qwen3/options", { dry_run: true, ...wish });
      assert.deepEqual([dry.status, dry.body.error?.code], [400, "invalid_option"], JSON.stringify(dry.body));
      const estimate = await server.post("/v1/estimate", { model_name: "tiny-qwen3", ...wish });
      assert.deepEqual([estimate.status, estimate.body.error?.code], [400, "invalid_option"]);
      await nobodyWasEvicted();
    });
  }
});

describe("what can be judged of a request without the weights", () => {
  const chat = (more) => ["/v1/chat/completions", { model: "tiny-qwen3", messages: [{ role: "user", content: "hi" }], max_tokens: 2, ...more }];
  const schema = (of) => chat({ response_format: { type: "json_schema", json_schema: { name: "x", strict: true, schema: of } } });
  const completion = (more) => ["/v1/completions", { model: "tiny-qwen3", prompt: "hi", max_tokens: 2, ...more }];
  const lazy = { grammar: 'root ::= "a"', grammar_lazy: true };
  const picture = { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } };
  const refused = {
    "a bad grammar": chat({ grammar: "root ::= nothing" }),
    "a bad grammar of a completion": completion({ grammar: 'root ::= "a' }),
    "a type that no schema has": schema({ type: "banana" }),
    "a reference to nothing": schema({ $ref: "#/nope" }),
    "a reference to nothing, of llama-server": completion({ json_schema: { $ref: "#/nope" } }),
    "a picture": chat({ messages: [{ role: "user", content: [{ type: "text", text: "what is it?" }, picture] }] }),
    "a bad trigger pattern": chat({ ...lazy, grammar_triggers: [{ type: 2, value: "(" }] }),
    "a trigger that the vocabulary doesn't have": completion({ ...lazy, grammar_triggers: [{ type: 0, value: "", token: 123456789 }] }),
    "a token that the vocabulary doesn't have": completion({ prompt: [1, 2, 123456789] }),
    "a prompt that is too long by its bytes": completion({ prompt: "word ".repeat(2_000_000) }),
    "a prompt that is too long by its tokens": completion({ prompt: "a ".repeat(8192) }),
    "a chat that is too long": chat({ messages: [{ role: "user", content: "a ".repeat(8192) }] }),
    "tokens that are too many": completion({ prompt: Array(8192).fill(5) }),
    "an adapter that it wasn't loaded with": chat({ lora: [{ id: 3, scale: 1 }] }),
    "an input that is too long": ["/v1/embeddings", { model: "tiny-embed", input: "a ".repeat(8192) }],
    "an input with a token that the vocabulary doesn't have": ["/v1/embeddings", { model: "tiny-embed", input: [[1, 123456789]] }],
    "more dimensions than there are": ["/v1/embeddings", { model: "tiny-embed", input: "hi", dimensions: 65 }],
    "a document that is too long": ["/v1/rerank", { model: "tiny-rerank", query: "hi", documents: ["a ".repeat(8192)] }],
  };
  for (const [what, [path, body]] of Object.entries(refused)) {
    test(`${what}: refused as by the model itself, and evicts nobody`, async () => {
      const before = await server.post(path, body);
      assert.equal(before.status, 400, JSON.stringify(before.body));
      await nobodyWasEvicted();
      if (path !== "/v1/embeddings" && path !== "/v1/rerank") {
        const events = await server.fetch(path, { method: "POST", body: JSON.stringify({ ...body, stream: true }) });
        assert.deepEqual([events.status, await events.json()], [400, before.body]);
        await nobodyWasEvicted();
      }
      own.push([path, body, before.body]);
    });
  }
  const own = [];
  test("the models themselves say the same", async () => {
    for (const [path, body, said] of own) {
      assert.equal((await server.post("/v1/load", { model_name: body.model })).status, 200);
      const answer = await server.post(path, body);
      assert.deepEqual([answer.status, answer.body], [400, said]);
    }
  });
  test("a request that can succeed takes the slot", async () => {
    assert.equal((await server.chat("tiny-llama", "hi")).status, 200);
    const answer = await server.post(...chat({ grammar: 'root ::= "yes"' }));
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    assert.equal(answer.body.choices[0].message.content, "yes");
    assert.ok((await server.loaded()).some((entry) => entry.model_name === "tiny-qwen3"));
  });
});
