// What an engine does on a split, with real machines: streams together, cancelling, shared beginnings, parking, giving
// memory back, embeddings, forced forms; each as on one machine. And a worker that hangs.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { eventually, onMesh, withQuantised } from "../support/mesh.mjs";
import { missing } from "../support/netns.mjs";
import { engineNumber, interrupted, said, servedAgain, split, toldByOneError, workers } from "../support/splitting.mjs";

const model = "tiny-llama";
const places = { a: [model], b: [] };
const kFree = 3000; // ms from a client's leaving to its place being free
const greedy = { model, temperature: 0, max_tokens: 48, ignore_eos: true };

// Text of about so many tokens that begins like no other one.
const long = (words, first) => Array.from({ length: words }, (_, at) => (at === 0 ? first : ["the", "horse", "said", "that", "a", "fox"][(at * 7 + first.length) % 6])).join(" "); // prettier-ignore
const number = (server, name, suffix) => engineNumber(server, model, name, suffix);
// Options that every load of it here has.
async function configure(server, options) {
  const { status, body } = await server.post(`/v1/models/${model}/options`, options);
  assert.equal(status, 200, JSON.stringify(body));
}
const entry = async (server) => (await server.loaded()).find((one) => one.model_name === model);

test("streams of several clients share passes, and say what each says alone", { skip: missing }, () =>
  onMesh(places, {}, async (mesh) => {
    const a = mesh.at("a");
    const asks = Array.from({ length: 8 }, (_, at) => ({ ...greedy, max_tokens: 64, prompt: long(20 + at, `Number ${at}:`) }));
    const alone = [];
    for (const ask of asks) alone.push(await said(a, ask));
    assert.equal(new Set(alone).size, 8, "they differ");
    await split(mesh, "a", model, ["a", "b"]);
    await mesh.lab.everywhere({ delay: 2 }); // so that they are there together
    const before = await number(a, "step_sessions", "_count");
    const together = await Promise.all(asks.map((ask, at) => said(mesh.at(at % 2 ? "a" : "b"), ask)));
    assert.deepEqual(together, alone);
    const passes = (await number(a, "step_sessions", "_count")) - before;
    console.log(`8 streams of 64 tokens: ${passes} passes`);
    assert.ok(passes < (8 * 64) / 2, `${passes} passes for 8 streams of 64 tokens`);
  }));

// What a remote part of a pass computes can't be stopped, so at most one pass of 512 tokens is in vain.
test("whoever hangs up in a prompt or in an answer leaves nothing that is computed for him", { skip: missing }, () =>
  onMesh(places, {}, async (mesh) => {
    const a = mesh.at("a");
    const short = { ...greedy, prompt: "The horse said that" };
    const expected = await said(a, short);
    await split(mesh, "a", model, ["a", "b"]);
    await mesh.lab.everywhere({ delay: 20 });
    const { pid } = await entry(a);
    for (const at of ["a", "b"]) {
      for (const what of ["prompt", "answer"]) {
        const ask = what === "prompt" ? { ...greedy, prompt: long(3000, `At ${at},`) } : { ...short, max_tokens: 3000 };
        const computed = what === "prompt" ? "prompt_tokens_total" : "predicted_tokens_total";
        const before = await number(a, computed);
        const client = new AbortController();
        const stream = mesh.at(at).events("/v1/completions", { ...ask, stream: true }, client.signal);
        const reading = (async () => { for await (const _ of stream); })(); // prettier-ignore
        reading.catch(() => {});
        await eventually("it is computed", async () => (await number(a, computed)) > before && (await number(a, "generating_sessions")) === 1);
        const left = Date.now();
        client.abort();
        await reading.catch(() => {});
        await eventually("its place is free", async () => (await number(a, "generating_sessions")) === 0);
        const free = Date.now() - left;
        assert.equal(await said(mesh.at(at), short), expected);
        const again = Date.now() - left;
        const done = (await number(a, computed)) - before;
        console.log(`hung up at ${at} in the ${what}: free after ${free} ms, the next one answered after ${again} ms; ${done} tokens computed`);
        assert.ok(free < kFree, `free after ${free} ms`);
        assert.ok(done < 2500, `${done} tokens were computed`);
        await eventually("nobody holds it", async () => (await entry(a)).active_requests === 0);
      }
    }
    assert.equal((await entry(a)).pid, pid, "by one and the same engine");
  }));

test("a beginning that was computed is computed once", { skip: missing }, () =>
  onMesh(places, {}, async (mesh) => {
    const a = mesh.at("a");
    const beginning = long(400, "Once");
    const asks = ["a cow", "a hen", "a cat"].map((end) => ({ ...greedy, prompt: `${beginning} and ${end}` }));
    const alone = await round(a, asks);
    await split(mesh, "a", model, ["a", "b"]);
    const parts = await round(a, asks);
    assert.deepEqual(parts, alone);
    console.log("shared beginnings:", JSON.stringify(parts.map(({ prompt, cached }) => [prompt, cached])));
    assert.equal(parts[0].cached, 0);
    for (const { prompt, cached } of parts.slice(1)) assert.ok(cached > prompt * 0.9, `${cached} of ${prompt}`);
    // Several at once with the same new beginning: one computes it.
    const before = await number(a, "prompt_tokens_total");
    const fresh = asks.map((ask) => ({ ...ask, prompt: `Now ${ask.prompt}` }));
    const texts = await Promise.all(fresh.map((ask) => said(a, ask)));
    assert.equal(new Set(texts).size, 3);
    assert.ok((await number(a, "prompt_tokens_total")) - before < parts[0].prompt * 1.5, "computed once");
  }));

const stories = Array.from({ length: 6 }, (_, at) => ({ ...greedy, max_tokens: 16, prompt: long(150, `Story ${at}.`) }));
// Each of them once: [{text, prompt, cached}], in tokens.
async function round(server, asks) {
  const all = [];
  for (const ask of asks) {
    const { status, body } = await server.post("/v1/completions", ask);
    assert.equal(status, 200, JSON.stringify(body));
    const { prompt_tokens, prompt_tokens_details } = body.usage;
    all.push({ text: body.choices[0].text, prompt: prompt_tokens, cached: prompt_tokens_details.cached_tokens });
  }
  return all;
}
const texts = (all) => all.map(({ text }) => text);
function allCached(all, what) {
  console.log(`${what}: ${JSON.stringify(all.map(({ prompt, cached }) => [prompt, cached]))}`);
  for (const { prompt, cached } of all) assert.ok(cached > prompt * 0.9, `${what}: ${cached} of ${prompt} tokens were there`);
}

test("conversations that lose their cells are parked in memory and come back", { skip: missing }, () =>
  onMesh(places, {}, async (mesh) => {
    const a = mesh.at("a");
    await configure(a, { ctx_size: 1024 });
    const alone = texts(await round(a, stories));
    await split(mesh, "a", model, ["a", "b"]);
    assert.equal(await number(a, "kv_cells"), 1024);
    assert.deepEqual(texts(await round(a, stories)), alone);
    const back = await round(a, stories);
    assert.deepEqual(texts(back), alone);
    const [parked, restored] = [await number(a, "parked_total"), await number(a, "restored_total")];
    console.log(`parked ${parked}, put back ${restored}`);
    assert.ok(parked > 0 && restored > 0, `${parked} parked, ${restored} put back`);
    allCached(back, "back from memory");
  }));

test("what is parked on the disk is there for the next engine, split or not", { skip: missing }, () =>
  onMesh(places, { flags: ["--park-on-disk"] }, async (mesh) => {
    const a = mesh.at("a");
    const first = await round(a, stories);
    const unload = async () => assert.equal((await a.post("/v1/unload", { model_name: model })).status, 200);
    await unload();
    for (const nodes of [["a", "b"], ["a", "b"], []]) { // prettier-ignore
      if (nodes.length > 0) await split(mesh, "a", model, nodes);
      const back = await round(a, stories);
      assert.deepEqual(texts(back), texts(first));
      allCached(back, `from the disk, over ${nodes.length} nodes`);
      assert.ok((await number(a, "parked_loads_total")) > 0);
      await unload();
      await eventually("its worker is gone", () => workers(mesh, "b").length === 0);
    }
  }));

test("a draft model guesses on the host", { skip: missing }, () =>
  onMesh({ a: [model, "tiny-llama-q8_0"], b: [] }, {}, async (mesh) => {
    const a = mesh.at("a");
    const ask = { ...greedy, prompt: "The horse said that" };
    const expected = await said(a, ask);
    await configure(a, { draft_model: join(a.models, "tiny-llama-q8_0.gguf") });
    await split(mesh, "a", model, ["a", "b"]);
    assert.equal(await said(a, ask), expected);
    const [drafted, accepted] = [await number(a, "drafted_tokens_total"), await number(a, "accepted_tokens_total")];
    console.log(`${drafted} tokens guessed, ${accepted} rightly`);
    assert.ok(drafted > 0, "it guesses");
  }));

// The engine of an undivided model rearranges quantised weights for the processor, which rounds their sums otherwise than
// the plain layout of a split does. So a token that is about as likely as another one may become that one, and no other.
// Splits say the same whatever their parts are, to the last digit.
test("a quantised model says in parts what it says alone, but where two tokens are about even", { skip: missing }, () =>
  withQuantised(async (folder) => {
    const kEven = 0.25; // between logarithms of probabilities
    const kOften = 4; // of ten texts, at most
    for (const model of ["quantised-q8_0", "quantised-q4_0"]) {
      await onMesh({ a: [join(folder, `${model}.gguf`)], b: [], c: [] }, {}, async (mesh) => {
        const a = mesh.at("a");
        const asks = Array.from({ length: 10 }, (_, at) => ({ ...greedy, model, max_tokens: 24, logprobs: 5, prompt: long(5 + at, `Number ${at}:`) }));
        const all = async () => {
          const choices = [];
          for (const ask of asks) {
            const { status, body } = await a.post("/v1/completions", ask);
            assert.equal(status, 200, JSON.stringify(body));
            choices.push(body.choices[0].logprobs);
          }
          return choices;
        };
        const alone = await all();
        await split(mesh, "a", model, ["a", "b"]);
        const parts = await all();
        await split(mesh, "a", model, ["a", "b", "c"]);
        assert.deepEqual(await all(), parts, `${model}: in three parts as in two`);
        let otherwise = 0, apart = 0; // prettier-ignore
        for (const [at, one] of alone.entries()) {
          const other = parts[at];
          const first = one.tokens.findIndex((token, n) => token !== other.tokens[n]);
          const same = first < 0 ? one.tokens.length : first;
          for (let n = 0; n < same; ++n) apart = Math.max(apart, Math.abs(one.token_logprobs[n] - other.token_logprobs[n]));
          if (first < 0) continue;
          ++otherwise;
          const gap = one.token_logprobs[first] - (one.top_logprobs[first][other.tokens[first]] ?? -Infinity);
          console.log(`${model}, text ${at}: another token after ${first}, which was less likely by ${gap}`);
          assert.ok(gap < kEven, `${model}, text ${at}: less likely by ${gap}`);
        }
        console.log(`${model}: ${otherwise} of ${asks.length} texts go on otherwise; logarithms of probabilities differ by ${apart} at most`);
        assert.ok(apart < kEven, `${model}: ${apart}`);
        assert.ok(otherwise <= kOften, `${model}: ${otherwise} of ${asks.length} texts`);
      });
    }
  }));

test("an idle split gives its cells back on both nodes, and goes on with the next request", { skip: missing }, () =>
  onMesh(places, {}, async (mesh) => {
    const a = mesh.at("a");
    await configure(a, { auto_evict: true, downsize_idle_timeout: 1, evict_idle_timeout: 3600 });
    const ask = { ...greedy, prompt: long(200, "Once") };
    const expected = await said(a, ask);
    assert.equal((await a.post("/v1/unload", { model_name: model })).status, 200);
    await split(mesh, "a", model, ["a", "b"]);
    assert.equal(await said(a, ask), expected);
    const { pid } = await entry(a);
    await eventually("it is downsized", async () => (await entry(a)).status === "downsized");
    assert.equal(await number(a, "downsized"), 1);
    const { status, body } = await a.post("/v1/completions", ask);
    assert.equal(status, 200, JSON.stringify(body));
    assert.equal(body.choices[0].text, expected);
    console.log(`after a downsize ${body.usage.prompt_tokens_details.cached_tokens} of ${body.usage.prompt_tokens} tokens were put back`);
    assert.equal((await entry(a)).pid, pid, "the same process");
    // Of a shortage it gives its cells, and goes as a whole only where that doesn't suffice: never a part of it.
    const { status: told, body: done } = await a.post("/internal/simulate-vram-pressure", { pct: 0.95 });
    assert.equal(told, 200, JSON.stringify(done));
    console.log("shortage:", JSON.stringify(done), (await entry(a))?.status);
    assert.deepEqual([...done.downsized, ...done.evicted], [model]);
    assert.equal(await said(a, ask), expected);
  }));

test("embeddings and scores of a split are those of one machine", { skip: missing }, () =>
  onMesh({ a: ["tiny-embed", "tiny-rerank"], b: [] }, {}, async (mesh) => {
    const a = mesh.at("a");
    const documents = ["a horse eats grass", "the farmer sleeps", "horses and cows", "nothing at all"];
    const vectors = async () => {
      const all = [];
      for (const input of documents) {
        const { status, body } = await a.post("/v1/embeddings", { model: "tiny-embed", input });
        assert.equal(status, 200, JSON.stringify(body));
        all.push(body.data[0].embedding);
      }
      return all;
    };
    const scores = async () => {
      const { status, body } = await a.post("/v1/rerank", { model: "tiny-rerank", query: "horse", documents });
      assert.equal(status, 200, JSON.stringify(body));
      return body.results.toSorted((one, other) => one.index - other.index).map(({ relevance_score }) => [relevance_score]);
    };
    for (const [name, numbers] of [["tiny-embed", vectors], ["tiny-rerank", scores]]) { // prettier-ignore
      const alone = await numbers();
      await split(mesh, "a", name, ["a", "b"]);
      const parts = await numbers();
      for (const [row, values] of alone.entries())
        for (const [at, one] of values.entries()) assert.ok(Math.abs(one - parts[row][at]) < 1e-4 * Math.max(1, Math.abs(one)), `${name} ${row} ${at}: ${one} ${parts[row][at]}`);
      assert.equal((await a.post("/v1/unload", { model_name: name })).status, 200);
      await eventually("its worker is gone", () => workers(mesh, "b").length === 0);
    }
  }));

test("grammars, schemas, tools and log probabilities are those of one machine", { skip: missing }, () =>
  onMesh({ a: [model, "scripted-tool-call"], b: [] }, {}, async (mesh) => {
    const a = mesh.at("a");
    const messages = [{ role: "user", content: "What is the weather in Paris?" }];
    const schema = { type: "object", properties: { city: { enum: ["Paris", "Rome"] }, warm: { type: "boolean" } }, required: ["city", "warm"] };
    const tools = [{ type: "function", function: { name: "get_weather", parameters: { type: "object", properties: { city: { type: "string" } } } } }];
    const chat = (body) => ["/v1/chat/completions", { temperature: 0, max_tokens: 48, messages, ...body }];
    const cases = {
      [model]: [
        ["/v1/completions", { ...greedy, prompt: "Yes or no:", grammar: 'root ::= ("yes" | "no") " " [a-z]+ "."', max_tokens: 12 }],
        chat({ model, response_format: { type: "json_schema", json_schema: { name: "weather", schema } } }),
        chat({ model, tools, tool_choice: "required" }),
        chat({ model, logprobs: true, top_logprobs: 5 }),
        ["/v1/completions", { ...greedy, prompt: "The horse", seed: 7, temperature: 0.8 }],
      ],
      "scripted-tool-call": [chat({ model: "scripted-tool-call", tools })],
    };
    // With what is a matter of rounding apart.
    const answered = async ([path, body]) => {
      const { status, body: answer } = await a.post(path, body);
      assert.equal(status, 200, JSON.stringify(answer));
      const values = [];
      const [choice] = JSON.parse(JSON.stringify(answer.choices), (key, one) => (key === "logprob" ? (values.push(one), 0) : key === "id" ? "" : one));
      return { choice, values };
    };
    for (const [name, asks] of Object.entries(cases)) {
      const alone = [];
      for (const ask of asks) alone.push(await answered(ask));
      await split(mesh, "a", name, ["a", "b"]);
      for (const [at, ask] of asks.entries()) {
        const { choice, values } = await answered(ask);
        assert.deepEqual(choice, alone[at].choice, JSON.stringify(ask));
        assert.equal(values.length, alone[at].values.length);
        for (const [place, one] of values.entries()) assert.ok(Math.abs(one - alone[at].values[place]) < 1e-3, `${place}: ${one}`);
      }
      assert.equal((await a.post("/v1/unload", { model_name: name })).status, 200);
      await eventually("its worker is gone", () => workers(mesh, "b").length === 0);
    }
    assert.equal((await answered(cases["scripted-tool-call"][0])).choice.message.tool_calls[0].function.name, "get_weather");
  }));

// What ended two engines is kept off for a minute, and it was taken for that.
test("a request whose worker dies under it again and again is served in the end", { skip: missing }, () =>
  onMesh({ ...places, c: [] }, {}, async (mesh) => {
    const ask = { ...greedy, prompt: "The horse said that" };
    const expected = await said(mesh.at("a"), ask);
    await split(mesh, "a", model, ["a", "b"]);
    await mesh.lab.everywhere({ delay: 1 });
    for (const at of ["c", "c", "c"]) {
      const end = await interrupted(mesh.at(at), ask, () => workers(mesh, "b").forEach(({ pid }) => process.kill(pid, "SIGKILL")));
      toldByOneError(end, `worker killed, client at ${at}`);
      await servedAgain(mesh.at(at), ask, expected, "worker killed");
    }
  }));

// Nobody's process has ended, and the engine of a split would wait for it for ever.
test("a worker that hangs: one error, and it is served again", { skip: missing }, () =>
  onMesh({ ...places, c: [] }, { flags: ["--watchdog-timeout", "2s"] }, async (mesh) => {
    const ask = { ...greedy, prompt: "The horse said that" };
    const expected = await said(mesh.at("a"), ask);
    await split(mesh, "a", model, ["a", "b"]);
    await mesh.lab.everywhere({ delay: 1 });
    for (const at of ["a", "c"]) {
      const stopped = [];
      const end = await interrupted(mesh.at(at), ask, () => {
        for (const { pid } of workers(mesh, "b")) stopped.push(pid), process.kill(pid, "SIGSTOP");
      });
      toldByOneError(end, `worker stopped, client at ${at}`, 6000);
      await servedAgain(mesh.at(at), ask, expected, "worker stopped");
      for (const { pid } of workers(mesh, "b")) assert.ok(!stopped.includes(pid), "another worker");
    }
  }));
