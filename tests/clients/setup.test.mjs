// What programs for people ask when somebody sets them up, and what must stand in the answers: a row for each question,
// by program. Facts of each are from its source, or seen on the wire.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Server } from "../support/server.mjs";

let server;
before(async () => {
  server = await Server.start("--max-loaded-models", "-1");
  for (const model of ["tiny-llama", "tiny-embed"]) assert.equal((await server.post("/v1/load", { model_name: model, ctx_size: 512 })).status, 200);
});
after(() => server.stop());

const bearer = { authorization: "Bearer none" };
const messages = [{ role: "user", content: "Say hello." }];
const chatting = { model: "tiny-llama", messages, max_tokens: 4 };
const named = (list, id) => list.find((entry) => (entry.id ?? entry.name) === id);
const isText = (value) => assert.equal(typeof value, "string");
const isCount = (value) => assert.ok(Number.isInteger(value) && value > 0, `${value}`);

// Who lists models by LM Studio's API: some read these words into types of their own, and drop the list for any other.
function isLmStudios({ object, data }) {
  assert.equal(object, "list");
  for (const model of data) {
    for (const field of ["id", "object", "publisher", "arch", "quantization"]) isText(model[field]);
    assert.ok(["llm", "vlm", "embeddings"].includes(model.type), model.type);
    assert.ok(["loaded", "loading", "not-loaded"].includes(model.state), model.state);
    assert.ok(["gguf", "mlx"].includes(model.compatibility_type));
    assert.ok(Array.isArray(model.capabilities) && model.capabilities.every((one) => typeof one === "string"));
    isCount(model.max_context_length);
    if (model.state === "loaded") isCount(model.loaded_context_length);
  }
}
const lmStudioList = ["GET", "/api/v0/models", undefined, isLmStudios];
const openaiList = (path) => ["GET", path, undefined, ({ object, data }) => (assert.equal(object, "list"), data.forEach(({ id }) => isText(id)))];
const chat = (path = "/v1/chat/completions") => ["POST", path, chatting, ({ choices }) => isText(choices[0].message.content)];
const tags = [
  "GET",
  "/api/tags",
  undefined,
  ({ models }) =>
    models.forEach((model) => {
      for (const field of ["name", "model", "modified_at", "digest"]) isText(model[field]);
      isCount(model.size);
      for (const field of ["format", "family", "parameter_size", "quantization_level"]) isText(model.details[field]);
    }),
];
const show = (by) => ["POST", "/api/show", { [by]: "tiny-llama" }, ({ capabilities, details }) => (assert.ok(capabilities.includes("completion")), isText(details.family))];
const ollamaChat = (more = {}) => [
  "POST",
  "/api/chat",
  { model: "tiny-llama", messages, stream: false, options: { num_predict: 4 }, ...more },
  ({ message, done }) => (isText(message.content), assert.equal(done, true)),
];
const version = ["GET", "/api/version", undefined, ({ version: number }) => assert.match(number, /^\d+\.\d+/)];

const programs = {
  "Open WebUI, as OpenAI": [
    openaiList("/v1/models"),
    ["GET", "/v1/models", undefined, ({ data }) => assert.equal(named(data, "tiny-llama").status.value, "loaded")],
    chat(),
    ["POST", "/v1/chat/completions", { ...chatting, stream: false, messages: [{ role: "user", content: [{ type: "text", text: "Say hello." }] }] }, ({ choices }) => isText(choices[0].message.content)],
    ["POST", "/v1/embeddings", { model: "tiny-embed", input: ["a", "b"] }, ({ data }) => assert.deepEqual(data.map(({ index }) => index), [0, 1])],
    ["POST", "/v1/rerank", { model: "tiny-rerank", query: "a", documents: ["a", "b"], top_n: 2 }, ({ results }) => results.forEach(({ index, relevance_score: score }) => assert.ok(index < 2 && typeof score === "number"))],
  ],
  "Open WebUI, as Ollama": [
    version,
    tags,
    ["GET", "/api/ps", undefined, ({ models }) => isText(named(models, "tiny-llama").expires_at)],
    show("model"),
    ollamaChat(),
    ["POST", "/api/embed", { model: "tiny-embed", input: ["a", "b"] }, ({ embeddings }) => assert.equal(embeddings.length, 2)],
  ],
  "Home Assistant": [
    tags,
    ollamaChat({ keep_alive: -1, think: false, options: { num_ctx: 512, num_predict: 4 }, tools: [{ type: "function", function: { name: "HassTurnOn", description: "Turns on", parameters: { type: "object", properties: {} } } }] }),
  ],
  "JetBrains AI, as Ollama": [["GET", "/", undefined, undefined], tags, version, show("model")],
  "JetBrains AI, as LM Studio": [openaiList("/v1/models"), chat()],
  "Continue, as OpenAI": [openaiList("/v1/models"), chat()],
  "Continue, as Ollama": [
    tags,
    show("name"),
    ["POST", "/api/generate", { model: "tiny-llama", prompt: "x", raw: true, stream: false, options: { num_predict: 2 } }, ({ response }) => isText(response)],
  ],
  "Continue, as llama.cpp": [["POST", "/completion", { model: "tiny-llama", prompt: "x", n_predict: 2 }, ({ content }) => isText(content)]],
  "Zed, as Ollama": [tags, show("model"), ollamaChat()],
  "Zed, as LM Studio": [lmStudioList, chat("/api/v0/chat/completions")],
  AnythingLLM: [
    lmStudioList,
    ["GET", "/api/v0/models", undefined, ({ data }) => assert.equal(named(data, "tiny-llama").loaded_context_length, 512)],
    ["GET", "/api/v0/models", undefined, ({ data }) => assert.equal(named(data, "tiny-embed").type, "embeddings")],
    openaiList("/v1/models"),
    chat(),
  ],
  "Cline, as LM Studio": [lmStudioList, openaiList("/v1/models"), chat()],
  "Cline, as Ollama": [tags, ollamaChat()],
  "Roo, as LM Studio": [
    openaiList("/v1/models"),
    lmStudioList,
    ["GET", "/api/v0/models/tiny-llama", undefined, (model) => assert.deepEqual([model.id, model.state], ["tiny-llama", "loaded"])],
  ],
  "Roo, as Ollama": [tags, show("model")],
  LibreChat: [openaiList("/v1/models"), tags],
  n8n: [openaiList("/models"), openaiList("/v1/models"), chat(), ["POST", "/v1/responses", { model: "tiny-llama", input: "Hi", max_output_tokens: 4 }, ({ object }) => assert.equal(object, "response")]],
  "SillyTavern, as llama.cpp": [
    openaiList("/v1/models"),
    ["GET", "/props?model=tiny-llama", undefined, ({ default_generation_settings }) => assert.ok(default_generation_settings)],
    ["POST", "/tokenize", { model: "tiny-llama", content: "x" }, ({ tokens }) => assert.ok(tokens.length > 0)],
    ["POST", "/completion", { model: "tiny-llama", prompt: "x", n_predict: 2 }, ({ content }) => isText(content)],
  ],
};

for (const [name, rows] of Object.entries(programs)) {
  test(name, async () => {
    for (const [method, path, body, look] of rows) {
      const where = `${method} ${path}`;
      if (look === undefined) {
        assert.equal((await server.fetch(path, { method, headers: bearer })).status, 200, where);
        continue;
      }
      const answer = await server.json(method, path, body, bearer);
      assert.equal(answer.status, 200, `${where}: ${JSON.stringify(answer.body)}`);
      try {
        look(answer.body);
      } catch (error) {
        error.message = `${where}: ${error.message}\n${JSON.stringify(answer.body).slice(0, 2000)}`;
        throw error;
      }
    }
  });
}

describe("LM Studio's shapes", () => {
  test("an answer has its numbers beside it", async () => {
    const { body } = await server.post("/api/v0/chat/completions", { ...chatting, max_tokens: 8 });
    assert.equal(body.stats.stop_reason, "maxPredictedTokensReached");
    assert.ok(body.stats.tokens_per_second > 0 && body.stats.time_to_first_token > 0 && body.stats.generation_time > 0);
    assert.deepEqual([body.model_info.arch, body.model_info.format], ["llama", "gguf"]);
    const completion = await server.post("/api/v0/completions", { model: "tiny-llama", prompt: "x", max_tokens: 2 });
    assert.ok(completion.body.stats);
    const { body: embedded } = await server.post("/api/v0/embeddings", { model: "tiny-embed", input: "x" });
    assert.ok(embedded.data[0].embedding.length > 0);
  });
  test("what isn't loaded says so, and who is unknown is 404", async () => {
    assert.equal((await server.get("/api/v0/models/tiny-qwen3")).body.state, "not-loaded");
    assert.equal((await server.get("/api/v0/models/no-such-model")).status, 404);
  });
});
