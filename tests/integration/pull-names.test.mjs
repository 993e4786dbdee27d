// What names mean, and where it is looked for: quantisations, addresses, Ollama's registry; tokens, proxies, offline.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { createServer, request } from "node:http";
import { join } from "node:path";
import { after, before, beforeEach, test } from "node:test";
import { Hub, madeUp } from "../support/hub.mjs";
import { Pulls } from "../support/pulls.mjs";

let hub, pulls;
before(async () => void (hub = await Hub.start()));
after(() => hub.stop());
beforeEach((context) => {
  pulls = new Pulls(hub);
  context.after(() => pulls.clear());
  Object.assign(hub, { trouble: () => null, page: 1000, uses: Infinity, limit: null, requests: [], sent: 0, strayTokens: [] });
});

test("a model comes whole, over pages of the list and another port", async () => {
  const model = hub.add("org/paged", "q/model-Q8_0.gguf", madeUp(100_000, 1));
  for (let i = 0; i < 5; ++i) hub.add("org/paged", `notes/${i}.md`, `text ${i}`);
  hub.page = 2;
  const pull = await pulls.run("org/paged");
  assert.deepEqual([pull.code, pull.lines], [0, ["queued", "running", "done"]], pull.errors);
  assert.deepEqual(pulls.files("org/paged"), { "q/model-Q8_0.gguf": model.sha256 });
  assert.equal(hub.requests.filter(({ path }) => path.includes("/tree/")).length, 3);
  assert.ok(hub.requests.filter(({ place }) => place === "files").every(({ range }) => /^bytes=\d+-\d+$/.test(range)));
  assert.equal(hub.sent, model.size);
});

test("a small file comes from the hub itself", async () => {
  const model = hub.add("org/small", "tiny-Q8_0.gguf", madeUp(900, 2));
  const pull = await pulls.run("org/small");
  assert.equal(pull.code, 0, pull.errors);
  assert.deepEqual(pulls.files("org/small"), { "tiny-Q8_0.gguf": model.sha256 });
});

test("a repository with conditions says so, and its token opens it", async () => {
  const model = hub.add("org/gated", "model-Q8_0.gguf", madeUp(50_000, 4));
  hub.repo("org/gated").gated = "auto";
  const refused = await pulls.run("org/gated");
  assert.deepEqual([refused.code, refused.lines.at(-1)], [1, "model_gated"]);
  assert.match(refused.errors, /accept the conditions of 'org\/gated' at http:\S+\/org\/gated/);
  assert.equal((await pulls.run("org/gated", { HF_TOKEN: "poor" })).lines.at(-1), "model_gated");
  assert.equal((await pulls.run("org/gated", { HF_TOKEN: "bad" })).lines.at(-1), "hub_token_refused");
  assert.deepEqual(pulls.leftovers(), []);
  const pull = await pulls.run("org/gated", { HF_TOKEN: "good" });
  assert.equal(pull.code, 0, pull.errors);
  assert.deepEqual(pulls.files("org/gated"), { "model-Q8_0.gguf": model.sha256 });
  assert.deepEqual(hub.strayTokens, [], "the token went nowhere else");
});

test("a refusal behind a redirect is final", async () => {
  hub.add("org/now", "model-Q8_0.gguf", madeUp(50_000, 20));
  hub.repo("org/now").gated = "auto";
  hub.renamed.set("org/once", "org/now");
  const gated = await pulls.run("org/once");
  assert.equal(gated.lines.at(-1), "model_gated", gated.errors);
  // Each of the four that fetch ranges may have begun.
  assert.ok(hub.requests.filter(({ path }) => path.includes("/resolve/")).length <= 2 * 4);
  hub.repo("org/now").hidden = true;
  hub.requests.length = 0;
  const hidden = await pulls.run("org/once");
  assert.equal(hidden.lines.at(-1), "model_not_found", hidden.errors);
  assert.equal(hub.requests.length, 2);
});

test("what isn't there is named", async () => {
  hub.add("org/there", "model-Q8_0.gguf", madeUp(50_000, 5));
  hub.repo("org/hidden").hidden = true;
  assert.equal((await pulls.run("org/nowhere")).lines.at(-1), "model_not_found");
  assert.equal((await pulls.run("org/hidden")).lines.at(-1), "model_not_found");
  assert.equal((await pulls.run("hf.co/org/there/tree/v2")).lines.at(-1), "revision_not_found");
  const pull = await pulls.run("org/there:Q2_K");
  assert.equal(pull.lines.at(-1), "model_file_not_found");
  assert.match(pull.errors, /it has: Q8_0/);
});

// A proxy that forwards what it is asked for, and notes it.
async function startProxy(context) {
  const asked = [];
  const server = createServer((incoming, outgoing) => {
    asked.push(incoming.url);
    const onward = request(incoming.url, { method: incoming.method, headers: incoming.headers }, (answer) => {
      outgoing.writeHead(answer.statusCode, answer.rawHeaders);
      answer.pipe(outgoing);
    });
    onward.on("error", () => outgoing.destroy()).end();
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  context.after(() => (server.close(), server.closeAllConnections()));
  return { asked, url: `http://127.0.0.1:${server.address().port}` };
}

test("a proxy is used, but for hosts that NO_PROXY names", async (context) => {
  const model = hub.add("org/proxied", "model-Q8_0.gguf", madeUp(50_000, 9));
  const proxy = await startProxy(context);
  const through = await pulls.run("org/proxied", { http_proxy: proxy.url, NO_PROXY: "example.com" });
  assert.equal(through.code, 0, through.errors);
  assert.deepEqual(pulls.files("org/proxied"), { "model-Q8_0.gguf": model.sha256 });
  assert.ok(proxy.asked.some((url) => url.startsWith(hub.url)) && proxy.asked.some((url) => url.startsWith(hub.filesUrl)));
  const before = proxy.asked.length;
  hub.add("org/direct", "model-Q8_0.gguf", madeUp(50_000, 10));
  assert.equal((await pulls.run("org/direct", { http_proxy: proxy.url, NO_PROXY: "example.com,127.0.0.1" })).code, 0);
  assert.equal(proxy.asked.length, before);
});

test("offline nothing goes out", async () => {
  hub.add("org/offline", "model-Q8_0.gguf", madeUp(50_000, 11));
  for (const name of ["org/offline", "ollama.com/library/x", `${hub.url}/org/offline/resolve/main/model-Q8_0.gguf`]) {
    const pull = await pulls.run(name, { HF_HUB_OFFLINE: "1" });
    assert.equal(pull.lines.at(-1), "offline", pull.errors);
  }
  assert.deepEqual(hub.requests, []);
});

test("the token comes from its file, or HF_TOKEN", async () => {
  hub.add("org/filed", "model-Q8_0.gguf", madeUp(50_000, 12));
  hub.repo("org/filed").hidden = true;
  writeFileSync(join(pulls.folder, "token"), "good\n");
  assert.equal((await pulls.run("org/filed", { HF_TOKEN: "bad" })).lines.at(-1), "hub_token_refused", "the variable counts more");
  assert.equal((await pulls.run("org/filed")).code, 0);
  assert.ok(hub.requests.filter(({ place }) => place === "hub").some(({ token }) => token === "Bearer good"));
  assert.deepEqual(hub.strayTokens, []);
});

test("a file comes from an address, and one that changes meanwhile isn't mixed", async () => {
  const address = `${hub.url}/org/address/resolve/main/model.gguf`;
  const made = (seed) => Buffer.concat([Buffer.from("GGUF"), madeUp(200_000, seed)]);
  const model = hub.add("org/address", "model.gguf", made(13));
  const id = createHash("sha256").update(address).digest("hex").slice(0, 16);
  const repo = `web.address/127.0.0.1_${new URL(hub.url).port}/${id}`;
  const pull = await pulls.run(address);
  assert.equal(pull.code, 0, pull.errors);
  assert.deepEqual(pulls.files(repo), { "model.gguf": model.sha256 });

  hub.add("org/address", "model.gguf", made(14));
  let answers = 0;
  hub.trouble = ({ place }) => {
    if (place === "files" && ++answers === 4) hub.add("org/address", "model.gguf", made(15));
    return null;
  };
  const mixed = await pulls.run(address);
  assert.equal(mixed.lines.at(-1), "wrong_content", mixed.errors);
  assert.match(mixed.errors, /changed on its server/);
  assert.deepEqual(pulls.files(repo), { "model.gguf": model.sha256 }, "what was there stays");
  const again = await pulls.run(address);
  assert.equal(again.code, 0, again.errors);
  const there = pulls.names(repo).map(([, sha256]) => sha256);
  assert.ok(there.includes(hub.repo("org/address").files.get("model.gguf").sha256));
});

test("a model of Ollama's registry comes with what belongs to it", async () => {
  const layers = { model: madeUp(60_000, 16), projector: madeUp(30_000, 17), template: "{{ .Prompt }}", params: { num_ctx: 2048, stop: ["x"] }, license: "free" };
  hub.addOllama("library/y", "1.5b", layers);
  const pull = await pulls.run("ollama.com/library/y:1.5b", { HF_TOKEN: "good", CORRAL_OLLAMA_REGISTRY: hub.url });
  assert.equal(pull.code, 0, pull.errors);
  const sums = (content) => createHash("sha256").update(content).digest("hex");
  assert.deepEqual(pulls.files("ollama.com/library/y"), {
    "y-1.5b.gguf": sums(layers.model),
    "mmproj-y-1.5b.gguf": sums(layers.projector),
    "y-1.5b.template.txt": sums(layers.template),
    "y-1.5b.params.json": sums(JSON.stringify(layers.params)),
    "y-1.5b.license.txt": sums(layers.license),
  });
  assert.deepEqual(pulls.leftovers(), []);
  const missing = await pulls.run("ollama.com/library/nothing", { CORRAL_OLLAMA_REGISTRY: hub.url });
  assert.equal(missing.lines.at(-1), "model_not_found");
  assert.match(missing.errors, /no model 'library\/nothing:latest'/);
});
