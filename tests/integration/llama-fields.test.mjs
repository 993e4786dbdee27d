// Fields and endpoints that llama.cpp's own server has beside OpenAI's: asked the same, both say the same.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Reference, Server } from "../support/server.mjs";

let server;
before(async () => {
  server = await Server.start("--max-loaded-models", "4");
});
after(() => server.stop());

const near = (a, b, most = 1e-4) => assert.ok(Math.abs(a - b) <= most * Math.max(1, Math.abs(b)), `${a} and ${b}`);
const messages = [{ role: "user", content: "Say hello." }];

// Settings that only llama-server has: what it sends to itself, and what is chosen here when a model is loaded.
const onlyTheirs = ["backend_sampling", "chat_format", "generation_prompt", "grammar_triggers", "reasoning_format", "reasoning_in_content", "speculative.types"];

async function events(from, path, body) {
  const all = [];
  for await (const data of from.events(path, body)) all.push(data);
  return all.filter((data) => data !== ":" && data !== "[DONE]").map((data) => JSON.parse(data));
}

describe("generating", () => {
  let reference;
  before(async () => {
    reference = await Reference.start("tiny-llama.gguf", "--jinja");
  });
  after(() => reference.stop());
  const both = (path, body, theirs = path) => Promise.all([server.post(path, body), reference.post(theirs, body)]);

  const completion = { model: "tiny-llama", prompt: "The quick brown fox", temperature: 0, n_predict: 12, seed: 1, cache_prompt: false };
  for (const more of [{}, { ignore_eos: true, return_tokens: true, n_probs: 3 }, { stop: ["e", "zzz"] }, { top_k: 3, samplers: ["top_k", "temperature"], stop: ["\n\n"] }]) {
    test(`completion ${JSON.stringify(more)}`, async () => {
      const [ours, theirs] = await both("/v1/completion", { ...completion, ...more }, "/completion");
      assert.equal(ours.status, 200, JSON.stringify(ours.body));
      assert.equal(theirs.status, 200, JSON.stringify(theirs.body));
      const [mine, other] = [ours.body, theirs.body];
      // There are no slots; what came from a cache is counted, not what lies in one.
      const missing = Object.keys(other).filter((name) => !(name in mine));
      assert.deepEqual(missing, ["id_slot"].filter((name) => name in other));
      for (const name of ["index", "content", "tokens", "stop", "tokens_predicted", "tokens_evaluated", "prompt", "has_new_line", "truncated", "stop_type", "stopping_word"]) {
        assert.deepEqual(mine[name], other[name], name);
      }
      assert.deepEqual(Object.keys(other.generation_settings).filter((name) => !(name in mine.generation_settings)).sort(), onlyTheirs);
      for (const [name, value] of Object.entries(mine.generation_settings)) {
        const its = other.generation_settings[name];
        if (its === undefined) assert.equal(name, "n_ctx");
        else if (typeof value === "number") near(value, its);
        else assert.deepEqual(value, its, name);
      }
      assert.equal(mine.completion_probabilities?.length, other.completion_probabilities?.length);
      mine.completion_probabilities?.forEach((token, i) => {
        assert.equal(token.id, other.completion_probabilities[i].id);
        near(token.logprob, other.completion_probabilities[i].logprob, 1e-3);
        assert.equal(token.top_logprobs.length, 3);
      });
    });
  }

  test("response_fields choose the same of it", async () => {
    const fields = ["content", "stop_type", "generation_settings/n_predict", "generation_settings/samplers", "nothing", "content/nothing"];
    const [ours, theirs] = await both("/v1/completion", { ...completion, response_fields: fields }, "/completion");
    assert.deepEqual(ours.body, theirs.body);
    const last = await Promise.all([[server, "/v1/completion"], [reference, "/completion"]].map(async ([from, path]) =>
      (await events(from, path, { ...completion, response_fields: fields, stream: true })).at(-1)));
    assert.deepEqual(last[0], last[1]);
  });

  const long = "word ".repeat(400);
  for (const [path, theirs, body] of [
    ["/v1/completion", "/completion", { prompt: long }],
    ["/v1/completions", "/v1/completions", { prompt: long }],
    ["/v1/chat/completions", "/v1/chat/completions", { messages: [{ role: "user", content: long }] }],
  ]) {
    test(`streams of ${theirs} say how far the prompt is`, async () => {
      const asked = { model: "tiny-llama", temperature: 0, max_tokens: 4, ignore_eos: true, cache_prompt: false, stream: true, return_progress: true, sse_ping_interval: 5, ...body };
      const [mine, other] = await Promise.all([events(server, path, asked), events(reference, theirs, asked)]);
      const told = (all) => all.filter((event) => event.prompt_progress).map((event) => event.prompt_progress);
      const [last, its] = [told(mine).at(-1), told(other).at(-1)];
      assert.deepEqual(Object.keys(last).sort(), Object.keys(its).sort());
      assert.equal(last.total, its.total);
      assert.equal(last.processed, its.processed);
      assert.equal(last.processed, last.total);
      const processed = told(mine).map((progress) => progress.processed);
      assert.deepEqual(processed, [...processed].sort((a, b) => a - b));
      assert.equal(mine.findLastIndex((event) => event.prompt_progress), told(mine).length - 1 + mine.findIndex((event) => event.prompt_progress), "nothing of the answer comes between");
      const text = (all) => all.map((event) => event.content ?? event.choices?.[0]?.text ?? event.choices?.[0]?.delta?.content ?? "").join("");
      assert.equal(text(mine), text(other));
    });
  }

  test("apply-template gives the same prompts", async () => {
    const tools = [{ type: "function", function: { name: "f", parameters: { type: "object" } } }];
    for (const body of [{ messages }, { messages: [{ role: "system", content: "Be terse." }, ...messages] }, { messages, tools }, { messages, add_generation_prompt: false }, { messages: [...messages, { role: "assistant", content: "Hel" }] }]) {
      const [ours, theirs] = await both("/v1/apply-template", { model: "tiny-llama", ...body }, "/apply-template");
      assert.equal(ours.status, 200, JSON.stringify(ours.body));
      assert.equal(ours.body.prompt, theirs.body.prompt);
    }
  });

  test("a begun answer is gone on with, repeated or not", async () => {
    const begun = { model: "tiny-llama", messages: [...messages, { role: "assistant", content: "Once upon" }], temperature: 0, max_tokens: 8, cache_prompt: false };
    for (const more of [{}, { continue_final_message: true, add_generation_prompt: false }, { continue_final_message: "content", add_generation_prompt: false, echo: true }]) {
      const [ours, theirs] = await both("/v1/chat/completions", { ...begun, ...more });
      assert.equal(ours.body.choices[0].message.content, theirs.body.choices[0].message.content, JSON.stringify(more));
      const text = async (from) =>
        (await events(from, "/v1/chat/completions", { ...begun, ...more, stream: true })).map((event) => event.choices[0]?.delta.content ?? "").join("");
      assert.equal(await text(server), await text(reference), JSON.stringify(more));
    }
  });
});

test("embd_normalize", async () => {
  const reference = await Reference.start("tiny-embed.gguf", "--embeddings");
  try {
    for (const norm of [-1, 0, 1, 2, 3]) {
      const body = { model: "tiny-embed", input: "some text", embd_normalize: norm };
      const [mine, other] = (await Promise.all([server.post("/v1/embeddings", body), reference.post("/v1/embeddings", body)])).map(
        (answer) => answer.body.data[0].embedding,
      );
      assert.equal(mine.length, other.length);
      mine.forEach((value, i) => near(value, other[i], 1e-3));
    }
  } finally {
    await reference.stop();
  }
});

test("rerank with texts", async () => {
  const reference = await Reference.start("tiny-rerank.gguf", "--reranking");
  try {
    const body = { model: "tiny-rerank", query: "which animal barks?", texts: ["a dog", "rain", "the dog barks at night"], return_text: true, top_n: 2 };
    const [mine, other] = (await Promise.all([server.post("/v1/rerank", body), reference.post("/v1/rerank", body)])).map((answer) => answer.body);
    assert.equal(mine.length, 2);
    mine.forEach((entry, i) => {
      assert.deepEqual(Object.keys(entry).sort(), Object.keys(other[i]).sort());
      assert.deepEqual([entry.index, entry.text], [other[i].index, other[i].text]);
      near(entry.score, other[i].score, 1e-3);
    });
  } finally {
    await reference.stop();
  }
});
