// What clients of llama-server ask that goes as far as the engine: prompts of texts and tokens, gaps, adapters. Asked the same, both say
// the same, to the token.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { models, Reference, Server } from "../support/server.mjs";

const greedy = { temperature: 0, n_predict: 16, ignore_eos: true, cache_prompt: false };

function pair(file, { ours = [], theirs = [] } = {}) {
  const both = {};
  before(async () => {
    [both.server, both.reference] = await Promise.all([Server.start("-m", join(models, file), ...ours), Reference.start(file, ...theirs)]);
    while ((await both.server.get("/health")).status === 503);
  });
  after(() => Promise.all([both.server.stop(), both.reference.stop()]));
  both.ask = async (path, body) => {
    const [mine, other] = await Promise.all([both.server.post(path, body), both.reference.post(path, body)]);
    assert.equal(mine.status, 200, JSON.stringify(mine.body));
    assert.equal(other.status, 200, JSON.stringify(other.body));
    return [mine.body, other.body];
  };
  return both;
}

const said = (answer) => [answer].flat().map(({ content, prompt, tokens_evaluated, tokens_predicted }) => ({ content, prompt, tokens_evaluated, tokens_predicted }));

describe("prompts", () => {
  const both = pair("tiny-llama.gguf");
  for (const prompt of [
    ["The quick", 12, 13, " fox", 7], [5, "brown", 9], ["a", "b"], [["The", 3, " end"], "plain", [4, 5, 6], { prompt_string: "an object" }],
    { prompt_string: "alone" }, { prompt_string: ["mixed", 8, "inside"] },
  ]) {
    test(JSON.stringify(prompt), async () => {
      const [mine, other] = await both.ask("/completion", { ...greedy, prompt });
      assert.deepEqual(said(mine), said(other));
    });
  }
});

describe("gaps", () => {
  const both = pair("tiny-gap.gguf");
  const code = "int add(int a, int b) {\n  return a + b;\n}\n";
  for (const [what, body] of Object.entries({
    "with nothing else": { input_prefix: code, input_suffix: "// end\n" },
    "that were begun": { input_prefix: code, input_suffix: "}\n", prompt: "int sub(" },
    "with pieces of the project": { input_prefix: code, input_suffix: "}\n", input_extra: [{ filename: "a.h", text: "int a;\n" }, { text: "int b;\n" }] },
    "of texts and tokens": { input_prefix: ["int", 30, 31], input_suffix: [40, " end"] },
    "far from their ends": { input_prefix: code.repeat(200), input_suffix: code.repeat(100), input_extra: [{ filename: "far", text: "x".repeat(2000) }] },
  })) {
    test(what, async () => {
      const [mine, other] = await both.ask("/infill", { ...greedy, ...body });
      assert.deepEqual(said(mine), said(other));
    });
  }

  // There, such a prompt is two tokens too long.
  test("with more of the project than the context holds", async () => {
    const answer = await both.server.post("/infill", { ...greedy, input_prefix: code.repeat(200), input_suffix: code.repeat(100), input_extra: [{ text: "x".repeat(9000) }] });
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
  });

  test("of Ollama's and OpenAI's clients are the same without what the project has", async () => {
    const [openai, ollama] = await Promise.all([
      both.server.post("/v1/completions", { prompt: code, suffix: "}\n", temperature: 0, max_tokens: 8, ignore_eos: true }),
      both.server.post("/api/generate", { model: "tiny-gap", prompt: code, suffix: "}\n", stream: false, options: { temperature: 0, num_predict: 8 } }),
    ]);
    assert.equal(openai.status, 200, JSON.stringify(openai.body));
    assert.equal(ollama.status, 200, JSON.stringify(ollama.body));
    assert.equal(ollama.body.response, openai.body.choices[0].text);
    assert.equal(ollama.body.prompt_eval_count, openai.body.usage.prompt_tokens);
  });
});

describe("adapters", () => {
  const lora = join(models, "tiny-llama-lora.gguf");
  const both = pair("tiny-llama.gguf", { ours: ["--lora", lora], theirs: ["--lora", lora, "-np", "1"] });
  const prompt = "Look in thy glass, and tell the face thou viewest";

  test("each request has its own scales, side by side", async () => {
    const scales = [0, 0, 0.3, 0.7, 1, 1, -0.5];
    const body = (scale) => ({ ...greedy, prompt, lora: [{ id: 0, scale }] });
    const mine = await Promise.all(scales.map((scale) => both.server.post("/completion", body(scale))));
    for (const [i, scale] of scales.entries()) {
      const other = await both.reference.post("/completion", body(scale));
      assert.equal(mine[i].status, 200, JSON.stringify(mine[i].body));
      assert.deepEqual(said(mine[i].body), said(other.body), `scale ${scale}`);
      const [[set], [its]] = [mine[i].body, other.body].map((answer) => answer.generation_settings.lora);
      assert.ok(set.id === its.id && Math.abs(set.scale - its.scale) < 1e-6);
    }
    assert.notEqual(mine[0].body.content, mine[4].body.content);
  });

  test("what others left with other scales is never used", async () => {
    const ask = (scale, cache_prompt) => both.server.post("/completion", { ...greedy, cache_prompt, prompt, lora: [{ id: 0, scale }] });
    for (const scale of [1, 0, 0.5, 1, 0]) {
      const [cached, alone] = [await ask(scale, true), await ask(scale, false)];
      assert.equal(cached.body.content, alone.body.content, `scale ${scale}`);
    }
    assert.ok((await ask(0.5, true)).body.timings.cache_n > 0, "but of the same scales it is");
  });

  test("are listed, and set for requests that say nothing", async () => {
    const [mine, other] = await Promise.all([both.server.get("/lora-adapters"), fetch(`${both.reference.url}/lora-adapters`).then((answer) => answer.json())]);
    assert.equal(mine.status, 200, JSON.stringify(mine.body));
    assert.deepEqual(mine.body, other);
    for (const scale of [0, 1]) {
      const [set, its] = await both.ask("/lora-adapters", [{ id: 0, scale }]);
      assert.deepEqual(set, its);
      const [now, then] = await both.ask("/completion", { ...greedy, prompt });
      assert.deepEqual(said(now), said(then));
    }
    const refused = await both.server.post("/lora-adapters", [{ id: 3, scale: 1 }]);
    assert.equal(refused.status, 400);
    assert.match(refused.body.error.message, /has the adapter 3, but this model was loaded with 1/);
  });
});

describe("a full context", () => {
  const both = pair("tiny-llama.gguf", { ours: ["--context-shift", "-c", "256"], theirs: ["--context-shift", "-c", "256", "-np", "1"] });
  const prompt = "The quick brown fox jumps over the lazy dog. ".repeat(6);
  for (const more of [{}, { n_keep: 16 }, { n_keep: -1, n_discard: 20 }, { n_keep: 5, n_discard: 100 }]) {
    test(`loses tokens and goes on ${JSON.stringify(more)}`, async () => {
      const [mine, other] = await both.ask("/completion", { ...greedy, n_predict: 260, prompt, ...more });
      assert.equal(mine.tokens_predicted, 260);
      assert.equal(mine.truncated, true);
      assert.deepEqual(said(mine), said(other));
    });
  }

  test("ends the answer where it isn't wanted, and where nobody said how long it may be", async () => {
    const full = await both.server.post("/completion", { ...greedy, n_predict: 260, prompt, context_shift: false });
    assert.ok(full.body.tokens_predicted < 200, JSON.stringify(full.body.tokens_predicted));
    const unlimited = await both.server.post("/completion", { ...greedy, n_predict: -1, prompt });
    assert.equal(unlimited.body.tokens_predicted, 256);
  });
});
