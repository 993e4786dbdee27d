// Requests of any kind, asked of a node that has nothing and answered by those that have the model: as if asked there.
import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually, onMesh } from "../support/mesh.mjs";
import { missing } from "../support/netns.mjs";

const places = { a: [], b: ["scripted-hello", "scripted-endless", "scripted-tool-call", "tiny-embed", "tiny-rerank"], c: ["scripted-hello"] };
const endless = { model: "scripted-endless", messages: [{ role: "user", content: "go" }], stream: true, temperature: 0, max_tokens: 100_000 };

async function ready(mesh) {
  await eventually("a sees all", () => mesh.at("a").sees("scripted-hello", "scripted-endless", "scripted-tool-call", "tiny-embed", "tiny-rerank"));
}
const modelAt = async (server, name) => (await server.get("/v1/mesh/models")).body.models.find((model) => model.id === name);
const loadedAt = async (mesh, name) => (await mesh.at(name).loaded()).map((entry) => entry.model_name);
// What is the same however often it is asked.
const lasting = ({ status, body }) => {
  const { id, created, timings, ...rest } = body;
  return { status, ...rest };
};

test("each kind of request gets what its host answers", { skip: missing }, () =>
  onMesh(places, {}, async (mesh) => {
    await ready(mesh);
    const [a, b] = mesh.all();
    const messages = [{ role: "user", content: "hi" }];
    const cases = [
      ["/v1/chat/completions", { model: "scripted-tool-call", messages, temperature: 0, max_tokens: 40 }],
      ["/v1/completions", { model: "scripted-tool-call", prompt: "x", temperature: 0, max_tokens: 5 }],
      ["/v1/embeddings", { model: "tiny-embed", input: ["a horse", "a cow"] }],
      ["/v1/rerank", { model: "tiny-rerank", query: "horse", documents: ["a horse", "a cow"] }],
      ["/v1/tokenize", { model: "tiny-embed", content: "a horse ".repeat(20_000) }],
      ["/v1/detokenize", { model: "tiny-embed", tokens: [5, 6, 7] }],
      // And what it refuses.
      ["/v1/chat/completions", { model: "scripted-tool-call", messages: "none" }],
      ["/v1/chat/completions", { model: "scripted-tool-call", messages, temperature: "hot" }],
      ["/v1/embeddings", { model: "scripted-tool-call", input: "x" }],
      ["/v1/completions", { model: "scripted-tool-call", prompt: "word ".repeat(100_000), max_tokens: 1 }],
    ];
    for (const [path, body] of cases) {
      await b.post(path, body); // what it reads of the prompt is kept from now on
      const direct = await b.post(path, body);
      const through = await a.post(path, body);
      assert.deepEqual(lasting(through), lasting(direct), path);
    }
    assert.deepEqual(await a.loaded(), []);
  }));

test("a stream comes piece by piece, and its client's leaving ends the generation at the host", { skip: missing }, () =>
  onMesh(places, {}, async (mesh) => {
    await ready(mesh);
    const [a, b] = mesh.all();
    for (const read of [5, 0]) {
      const leaving = new AbortController();
      const stream = a.events("/v1/chat/completions", endless, leaving.signal);
      const first = stream.next();
      await eventually("b works on it", async () => (await b.loaded())[0]?.active_requests === 1);
      await first;
      for (let i = 0; i < read; ++i) assert.ok((await stream.next()).value);
      leaving.abort();
      await stream.next().catch(() => {});
      await eventually("b has stopped", async () => (await b.loaded())[0].active_requests === 0);
    }
  }));

test("whole answers and streams of 16 clients at once are all right", { skip: missing }, () =>
  onMesh(places, {}, async (mesh) => {
    await ready(mesh);
    const a = mesh.at("a");
    const expected = (await mesh.at("b").chat("scripted-hello", "hi", { max_tokens: 64 })).body.choices[0].message.content;
    const asked = [...Array(16)].map(async (_, at) => {
      const body = { model: "scripted-hello", messages: [{ role: "user", content: "hi" }], temperature: 0, max_tokens: 64, stream: at % 2 === 1 };
      if (!body.stream) return (await a.post("/v1/chat/completions", body)).body.choices[0].message.content;
      let text = "";
      for await (const data of a.events("/v1/chat/completions", body)) {
        if (data !== "[DONE]" && data !== ":") text += JSON.parse(data).choices[0]?.delta?.content ?? "";
      }
      return text;
    });
    for (const text of await Promise.all(asked)) assert.equal(text, expected);
  }));

test("who has it in memory is asked, before who would have to load it", { skip: missing }, () =>
  onMesh(places, {}, async (mesh) => {
    await ready(mesh);
    const [a, b, c] = mesh.all();
    assert.equal((await c.post("/v1/load", { model_name: "scripted-hello" })).status, 200);
    await eventually("a knows", async () => (await modelAt(a, "scripted-hello")).nodes.some((node) => node.name === "c" && node.state === "ready"));
    for (let i = 0; i < 5; ++i) assert.equal((await a.chat("scripted-hello", "hi")).status, 200);
    assert.deepEqual(await loadedAt(mesh, "b"), []);
    assert.deepEqual(await loadedAt(mesh, "c"), ["scripted-hello"]);
    // One that is here is served here.
    assert.equal((await b.chat("scripted-hello", "hi")).status, 200);
    assert.deepEqual(await loadedAt(mesh, "b"), ["scripted-hello"]);
  }));

test("the host's process dies in the middle of a stream: one framed error", { skip: missing }, () =>
  onMesh(places, {}, async (mesh) => {
    await ready(mesh);
    const [a, b] = mesh.all();
    for (const victim of ["engine", "server"]) {
      const stream = a.events("/v1/chat/completions", endless);
      for (let i = 0; i < 5; ++i) assert.ok((await stream.next()).value);
      victim === "engine" ? process.kill((await b.loaded())[0].pid, "SIGKILL") : await b.kill();
      let last;
      for await (const data of stream) last = data;
      const { error } = JSON.parse(last);
      assert.ok(error.code && error.message, last);
    }
    await b.start();
    await eventually("it is answered again", async () => (await a.chat("scripted-endless", "go")).status === 200);
  }));
