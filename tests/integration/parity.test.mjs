// The same file, the same request: our answers equal those of llama.cpp's own server, token for token.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Reference, Server } from "../support/server.mjs";

const prompts = [
  "Say hello.", "What is the capital of France?", "Count to ten.", "Write a haiku about rain.", "1 + 1 =", "List three fruits.",
  "¿Cómo estás?", "日本語で話してください。", "Explain gravity to a child 🪐", "def fib(n):", "Translate 'cat' to German.", "   leading spaces",
  "UPPER lower MiXeD", "A\nB\nC", "<b>html</b> & entities", "quote \"this\" and \\that\\", "Tell me a story about a brave little robot.",
  "a", "The quick brown fox jumps over the lazy dog. ".repeat(20), "Ünïcödé 😀😃😄",
];

let server;
before(async () => {
  server = await Server.start("--max-loaded-models", "4");
});
after(() => server.stop());

// What was generated, token by token; llama-server lists the end of an answer as a token without bytes, OpenAI and we don't.
const listed = (answer) => answer.choices[0].logprobs.content.filter((token) => token.bytes.length > 0);
const tokens = (answer) => listed(answer).map((token) => token.bytes);

// A forward pass gives slightly different numbers when its tokens are cut into batches differently (other kernels, other order of
// sums); with 8-bit weights up to this much in log probability. Where the two likeliest tokens are closer, either is right.
const kNoise = 0.3;

// Equal token for token, or equal up to a token at which the reference itself could go either way.
function assertSameUpToTies(ours, theirs, label) {
  const [mine, other] = [listed(ours), listed(theirs)];
  const at = other.findIndex((token, i) => mine[i]?.token !== token.token);
  if (at < 0) return;
  const [first, second] = other[at].top_logprobs;
  assert.ok(first.logprob - second.logprob < kNoise, `${label}: token ${at} is ${mine[at]?.token}, not ${other[at].token}, and that is no tie`);
  assert.equal(mine[at]?.token, second.token, `${label}: token ${at} is neither of the two likeliest`);
}

const request = (model, content) => ({
  model, messages: [{ role: "system", content: "You are terse." }, { role: "user", content }],
  temperature: 0, max_tokens: 40, logprobs: true, top_logprobs: 2,
});

for (const { model, exact } of [
  { model: "tiny-llama", exact: true },
  { model: "tiny-qwen3", exact: true },
  { model: "tiny-llama-q8_0", exact: false },
  { model: "tiny-moe", exact: false },
]) {
  describe(`greedy chat with ${model}`, () => {
    let reference;
    before(async () => {
      reference = await Reference.start(`${model}.gguf`, "--jinja");
    });
    after(() => reference.stop());

    test(`${prompts.length} prompts give the same tokens`, async () => {
      for (const content of prompts) {
        const body = request(model, content);
        const [ours, theirs] = [await server.post("/v1/chat/completions", body), await reference.post("/v1/chat/completions", body)];
        assert.equal(ours.status, 200, JSON.stringify(ours.body));
        assert.equal(theirs.status, 200, JSON.stringify(theirs.body));
        assert.equal(ours.body.usage.prompt_tokens, theirs.body.usage.prompt_tokens, content);
        if (!exact) {
          assertSameUpToTies(ours.body, theirs.body, content);
          continue;
        }
        assert.deepEqual(tokens(ours.body), tokens(theirs.body), content);
        assert.equal(ours.body.choices[0].message.content, theirs.body.choices[0].message.content, content);
        assert.equal(ours.body.choices[0].finish_reason, theirs.body.choices[0].finish_reason, content);
      }
    });

    test("all prompts at once give the same tokens as one by one", async () => {
      const ask = async (content) => (await server.post("/v1/chat/completions", request(model, content))).body;
      const alone = [];
      for (const content of prompts) alone.push(await ask(content));
      const together = await Promise.all(prompts.map(ask));
      together.forEach((answer, i) => {
        if (exact) assert.deepEqual(tokens(answer), tokens(alone[i]), prompts[i]);
        else assertSameUpToTies(answer, alone[i], prompts[i]);
      });
    });
  });
}

// Seeded sampling, every option on its own and all together: the same tokens, and the same probabilities to have drawn them with.
describe("samplers", () => {
  let reference;
  before(async () => {
    reference = await Reference.start("tiny-llama.gguf");
  });
  after(() => reference.stop());

  const all = {
    top_k: 30, top_p: 0.9, min_p: 0.02, typical_p: 0.9, top_n_sigma: 2, xtc_probability: 0.5, xtc_threshold: 0.05, repeat_penalty: 1.2,
    presence_penalty: 0.3, frequency_penalty: 0.2, dry_multiplier: 0.8, dynatemp_range: 0.4, min_keep: 2,
  };
  const options = [
    {}, { temperature: 0 }, { top_k: 3 }, { top_p: 0.5 }, { min_p: 0.3 }, { typical_p: 0.5 }, { top_n_sigma: 1 },
    { xtc_probability: 1, xtc_threshold: 0.02 }, { repeat_penalty: 1.5, repeat_last_n: 8 }, { dry_multiplier: 2, dry_allowed_length: 1 },
    { dynatemp_range: 0.7, dynatemp_exponent: 1.5 }, { mirostat: 1 }, { mirostat: 2, mirostat_tau: 3 }, { logit_bias: [[5, 3], [6, false]] },
    { samplers: [] }, { samplers: ["top_k"], top_k: 5 }, { samplers: "tkp", top_p: 0.6, temperature: 2 }, { samplers: "pkt", top_p: 0.6, temperature: 2 },
    { samplers: ["min_p", "adaptive_p"], adaptive_target: 0.3 }, { samplers: "ka", adaptive_target: 0.05, adaptive_decay: 0.5 },
    all, { ...all, samplers: "txmpyksde" },
  ];
  for (const option of options) {
    test(JSON.stringify(option), async () => {
      const body = {
        model: "tiny-llama", prompt: "The quick brown fox", temperature: 1, seed: 42, max_tokens: 16, ignore_eos: true, n_probs: 5,
        cache_prompt: false, post_sampling_probs: true, ...option,
      };
      const [ours, theirs] = [await server.post("/v1/completions", body), await reference.post("/v1/completions", body)];
      assert.equal(ours.status, 200, JSON.stringify(ours.body));
      assert.equal(theirs.status, 200, JSON.stringify(theirs.body));
      const [mine, other] = [ours, theirs].map((answer) => answer.body.choices[0].logprobs.content);
      assert.deepEqual(mine.map((token) => token.id), other.map((token) => token.id));
      for (const [i, token] of mine.entries()) {
        const sum = token.top_probs.reduce((total, top) => total + top.prob, 0);
        assert.ok(sum <= 1 + 1e-5, `token ${i}: ${sum}`);
        assert.ok(Math.abs(token.prob - other[i].prob) < 1e-3, `token ${i}: ${token.prob} and ${other[i].prob}`);
        // After adaptive_p llama-server lists candidates as they stood before it, we by their probability: other ones, then.
        const listed = other[i].top_probs;
        if (listed.some((top, k) => k > 0 && top.prob > listed[k - 1].prob)) continue;
        // Candidates as good as equally likely may stand in either order.
        token.top_probs.forEach((top, k) => assert.ok(Math.abs(top.prob - listed[k].prob) < 1e-3, `token ${i}, candidate ${k}`));
        assert.equal(token.top_probs.length, listed.length, `token ${i}`);
      }
    });
  }
});

describe("embeddings", () => {
  let reference;
  before(async () => {
    reference = await Reference.start("tiny-embed.gguf", "--embeddings");
  });
  after(() => reference.stop());

  // One by one: what else is in a batch changes llama.cpp's own numbers by up to 1e-4.
  test("equal the reference to 1e-5, and in a list they stay what they are", async () => {
    const ask = async (from, input) => (await from.post("/v1/embeddings", { model: "tiny-embed", input, encoding_format: "float" })).body;
    const list = await ask(server, prompts);
    assert.equal(list.data.length, prompts.length);
    let counted = 0;
    for (const [i, input] of prompts.entries()) {
      const [ours, theirs] = [await ask(server, input), await ask(reference, input)];
      const [mine, other, listed] = [ours.data[0].embedding, theirs.data[0].embedding, list.data[i].embedding];
      assert.equal(mine.length, other.length);
      mine.forEach((value, k) => {
        assert.ok(Math.abs(value - other[k]) <= 1e-5, `${input}: ${value} and ${other[k]}`);
        assert.ok(Math.abs(value - listed[k]) <= 1e-3, `${input}: ${value} alone and ${listed[k]} in a list`);
      });
      assert.equal(ours.usage.prompt_tokens, theirs.usage.prompt_tokens);
      counted += ours.usage.prompt_tokens;
    }
    assert.equal(list.usage.prompt_tokens, counted);
  });
});

describe("reranking", () => {
  let reference;
  before(async () => {
    reference = await Reference.start("tiny-rerank.gguf", "--reranking");
  });
  after(() => reference.stop());

  // One by one at the reference, for the same reason.
  test("order and scores equal the reference", async () => {
    const query = "which animal barks?";
    const documents = ["a dog", "a cat sleeps", "rain", "the dog barks loudly at night"];
    const score = async (from, document) =>
      (await from.post("/v1/rerank", { model: "tiny-rerank", query, documents: [document] })).body.results[0].relevance_score;
    const expected = [];
    for (const document of documents) {
      expected.push(await score(reference, document));
      assert.ok(Math.abs((await score(server, document)) - expected.at(-1)) <= 1e-5, document);
    }
    const mine = (await server.post("/v1/rerank", { model: "tiny-rerank", query, documents })).body.results;
    const order = documents.map((_, i) => i).sort((a, b) => expected[b] - expected[a]);
    assert.deepEqual(mine.map((r) => r.index), order);
  });
});
