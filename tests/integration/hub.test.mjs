// The hub of the tests (support/hub.mjs) speaks as the real one does, and the fetching program (downloads/pull_main.cpp) gets
// from it what is there.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Hub, madeUp } from "../support/hub.mjs";
import { Pulls } from "../support/pulls.mjs";

async function begin(context) {
  const hub = await Hub.start();
  context.after(() => hub.stop());
  const pulls = new Pulls(hub);
  context.after(() => pulls.clear());
  return { hub, pulls, add: (path, source) => hub.add("org/repo", path, source) };
}

test("files come whole, over pages of the list and another port", async (context) => {
  const { hub, pulls, add } = await begin(context);
  const model = add("q/model-Q8_0.gguf", madeUp(100_000, 1));
  const notes = [0, 1, 2, 3, 4].map((number) => add(`notes/${number}.md`, `text ${number}`));
  hub.page = 2;
  const pull = await pulls.run();
  assert.equal(pull.code, 0, pull.errors);
  const expected = { "q/model-Q8_0.gguf": model.sha256 };
  notes.forEach(({ sha256 }, number) => (expected[`notes/${number}.md`] = sha256));
  assert.deepEqual(pulls.files(), expected);
  assert.deepEqual(pulls.leftovers(), []);
  assert.equal(pulls.reference("main"), hub.commit("org/repo"));
  assert.equal(hub.requests.filter(({ path }) => path.includes("/tree/")).length, 3);
  assert.ok(hub.requests.filter(({ place }) => place === "files").every(({ range }) => /^bytes=\d+-\d+$/.test(range)));
  assert.equal(hub.sent, 100_000 + 5 * 6, "nothing came twice");
});

test("addresses that are used up are asked for again", async (context) => {
  const { hub, pulls, add } = await begin(context);
  const model = add("model-Q8_0.gguf", madeUp(300_000, 3));
  let answers = 0;
  hub.uses = 1;
  hub.trouble = ({ place }) => {
    // As often as one request may meet a used address: how its answers mix with those of others doesn't matter.
    if (place === "files" && ++answers % 3 === 0 && answers <= 12) hub.expire();
    return null;
  };
  const pull = await pulls.run();
  assert.equal(pull.code, 0, pull.errors);
  assert.deepEqual(pulls.files(), { "model-Q8_0.gguf": model.sha256 });
});

test("what can't be had is said, with the way on, and leaves nothing", async (context) => {
  const { hub, pulls, add } = await begin(context);
  add("model-Q8_0.gguf", madeUp(50_000, 4));
  const repo = hub.repo("org/repo");
  const refused = async (pattern) => {
    const pull = await pulls.run();
    assert.equal(pull.code, 1);
    assert.match(pull.errors, pattern);
    assert.deepEqual(pulls.files(), {});
    assert.deepEqual(pulls.leftovers(), [], "room that was reserved goes back");
  };
  repo.gated = "auto";
  await refused(/accept the conditions of 'org\/repo' at http:\S+\/org\/repo/);
  repo.gated = false;
  repo.hidden = true;
  await refused(/unknown repository 'org\/repo'.*HF_TOKEN/);
  repo.hidden = false;
  hub.limit = { left: 1, wait: 4000 };
  await refused(/status 429\): try again in \d+ min.*HF_TOKEN/);
  hub.limit = null;
  const pull = await pulls.run();
  assert.equal(pull.code, 0, pull.errors);
});

test("a short rest that the hub wants is kept, and a renamed repository leads to its new name", async (context) => {
  const { hub, pulls } = await begin(context);
  const model = hub.add("org/new", "model-Q8_0.gguf", madeUp(50_000, 6));
  hub.renamed.set("org/repo", "org/new");
  let refused = 0;
  hub.trouble = () => (++refused <= 3 ? { kind: "status", status: 429, headers: { "retry-after": "0" } } : null);
  const pull = await pulls.run();
  assert.equal(pull.code, 0, pull.errors);
  assert.deepEqual(pulls.files(), { "model-Q8_0.gguf": model.sha256 });
});

test("the registry of Ollama's names answers with manifests and leads to blobs", async (context) => {
  const { hub } = await begin(context);
  const manifest = hub.addOllama("library/x", "latest", { model: madeUp(50_000, 8), template: "{{ .Prompt }}", params: { stop: ["a"] } });
  const answer = await fetch(`${hub.url}/v2/library/x/manifests/latest`);
  assert.equal(answer.headers.get("content-type"), "application/vnd.docker.distribution.manifest.v2+json");
  assert.deepEqual(await answer.json(), manifest);
  const blob = await fetch(`${hub.url}/v2/library/x/blobs/${manifest.layers[0].digest}`, { headers: { range: "bytes=10-19" } });
  assert.deepEqual([blob.status, blob.headers.get("content-range")], [206, "bytes 10-19/50000"]);
  assert.deepEqual(Buffer.from(await blob.arrayBuffer()), madeUp(50_000, 8).subarray(10, 20));
  assert.equal((await fetch(`${hub.url}/v2/library/x/manifests/none`)).status, 404);
  const beyond = await fetch(`${hub.url}/v2/library/x/blobs/${manifest.layers[0].digest}`, { headers: { range: "bytes=50000-" } });
  assert.deepEqual([beyond.status, beyond.headers.get("content-range")], [416, "bytes */50000"]);
});

test("the search finds repositories by their names", async (context) => {
  const { hub } = await begin(context);
  hub.repo("org/Alpha-GGUF").downloads = 5;
  hub.repo("other/alpha-2-GGUF").downloads = 50;
  const found = await (await fetch(`${hub.url}/api/models?search=alpha&limit=10`)).json();
  assert.deepEqual(found.map(({ id }) => id), ["other/alpha-2-GGUF", "org/Alpha-GGUF"]);
});
