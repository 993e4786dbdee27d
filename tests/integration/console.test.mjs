// The page for browsers: how its files are served, what stays as it was for other clients, and what it needs of the API.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { Server } from "../support/server.mjs";

const html = { accept: "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8" };

// Without fetch, which decodes gzip.
const send = (port, path, headers = {}, method = "GET") =>
  new Promise((resolve, reject) => {
    const asking = request({ host: "127.0.0.1", port, path, method, headers }, (answer) => {
      const pieces = [];
      answer.on("data", (bytes) => pieces.push(bytes));
      answer.on("end", () => resolve({ status: answer.statusCode, headers: answer.headers, bytes: Buffer.concat(pieces) }));
    });
    asking.on("error", reject);
    asking.end();
  });

let server, there;
before(async () => {
  server = await Server.start("--no-hub-cache");
  there = (await send(server.port, "/console/")).status === 200;
});
after(() => server.stop());
// A program that was built without npm has no page.
const page_test = (name, run) => test(name, (t) => (there ? run(t) : t.skip("the program has no page")));

// The files that a page refers to, as addresses of the browser.
const files = (text, base) => [...text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path]) => new URL(path, base).pathname);

page_test("browsers get the page at / and at /console/, others get what they got", async () => {
  const root = await send(server.port, "/", html);
  assert.equal(root.status, 200);
  assert.match(root.headers["content-type"], /^text\/html/);
  assert.match(root.headers.vary, /Accept\b/);
  const own = await send(server.port, "/console/");
  assert.match(own.headers["content-type"], /^text\/html/);
  for (const accept of [undefined, "*/*", "application/json, */*"]) {
    const other = await send(server.port, "/", accept ? { accept } : {});
    assert.equal(other.status, 200);
    assert.match(other.bytes.toString(), /corral is running|"status":"ok"/);
  }
  const bare = await send(server.port, "/console", html);
  assert.deepEqual([bare.status, bare.headers.location], [308, "console/"]);
  assert.equal((await send(server.port, "/console/nothing.js")).status, 404);
  assert.equal((await send(server.port, "/console/../internal/config")).status, 404);
  assert.equal((await send(server.port, "/console/", {}, "POST")).status, 405);
  assert.equal((await send(server.port, "/console/", {}, "HEAD")).bytes.length, 0);
});

page_test("all addresses are relative, from / and from /console/", async () => {
  for (const path of ["/", "/console/"]) {
    const text = (await send(server.port, path, html)).bytes.toString();
    const all = files(text, `http://host${path}`);
    assert.ok(all.length >= 3, text);
    assert.doesNotMatch(text, /(?:src|href)="(?:\/|https?:)/);
    for (const file of all) {
      const answer = await send(server.port, file);
      assert.equal(answer.status, 200, file);
      assert.match(answer.headers["cache-control"], /immutable/, file);
    }
  }
});

page_test("files are gzip, have a tag, and a policy without exceptions", async () => {
  const [plain, gzip] = [await send(server.port, "/console/"), await send(server.port, "/console/", { "accept-encoding": "gzip, br" })];
  assert.equal(gzip.headers["content-encoding"], "gzip");
  assert.equal(plain.headers["content-encoding"], undefined);
  assert.deepEqual(gunzipSync(gzip.bytes), plain.bytes);
  assert.equal(plain.headers["cache-control"], "no-cache");
  assert.notEqual(plain.headers.etag, gzip.headers.etag);
  const again = await send(server.port, "/console/", { "if-none-match": plain.headers.etag });
  assert.deepEqual([again.status, again.bytes.length, again.headers.etag], [304, 0, plain.headers.etag]);
  assert.equal((await send(server.port, "/console/", { "if-none-match": '"other"' })).status, 200);

  let sum = 0;
  for (const file of ["/console/", ...files(plain.bytes.toString(), "http://host/console/")]) {
    const { headers, bytes } = await send(server.port, file, { "accept-encoding": "gzip" });
    const policy = headers["content-security-policy"];
    assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self';/, file);
    assert.match(policy, /frame-ancestors 'none'/);
    assert.doesNotMatch(policy, /unsafe|https?:/);
    assert.equal(headers["x-content-type-options"], "nosniff");
    assert.equal(headers["referrer-policy"], "no-referrer");
    sum += bytes.length;
  }
  assert.ok(sum < 60_000, `${sum} bytes of the first page`);
  assert.doesNotMatch(plain.bytes.toString(), /<script(?![^>]*src=)|style="/, "nothing inline, which the policy forbids");
});

page_test("--no-console and console = false switch it off", async () => {
  const folder = mkdtempSync(join(tmpdir(), "corral-console-"));
  writeFileSync(join(folder, "config.toml"), "console = false\n");
  try {
    for (const [environment, ...flags] of [[{}, "--no-console"], [{ CORRAL_CONFIG: join(folder, "config.toml") }], [{ CORRAL_CONSOLE: "false" }]]) {
      const off = await Server.launch({ environment }, "--no-hub-cache", ...flags);
      try {
        assert.match((await send(off.port, "/", html)).bytes.toString(), /corral is running/);
        for (const path of ["/console", "/console/", "/console/index.html"]) assert.equal((await send(off.port, path)).status, 404, path);
      } finally {
        await off.stop();
      }
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});

page_test("a server with keys shows the page without one, and nothing else", async () => {
  const keyed = await Server.launch({ environment: { CORRAL_API_KEY: "the-key" } }, "--no-hub-cache");
  try {
    assert.equal((await send(keyed.port, "/console/")).status, 200);
    assert.match((await send(keyed.port, "/", html)).headers["content-type"], /^text\/html/);
    assert.equal((await send(keyed.port, "/")).status, 401);
    assert.equal((await send(keyed.port, "/", { "x-api-key": "the-key" })).status, 200);
    for (const path of ["/v1/memory", "/v1/events", "/v1/models", "/v1/stats/history"]) assert.equal((await send(keyed.port, path)).status, 401, path);
    assert.equal((await send(keyed.port, "/v1/memory", { "x-api-key": "the-key" })).status, 200);
  } finally {
    await keyed.stop();
  }
});

page_test("it works below a path of a proxy", async () => {
  const base = "/deep/llm";
  const proxy = createServer((asked, answer) => {
    if (!asked.url.startsWith(`${base}/`)) return answer.writeHead(404).end();
    const onward = request({ host: "127.0.0.1", port: server.port, path: asked.url.slice(base.length), method: asked.method, headers: asked.headers }, (got) => {
      answer.writeHead(got.statusCode, got.headers);
      got.pipe(answer);
    });
    asked.pipe(onward);
  });
  await new Promise((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  const { port } = proxy.address();
  try {
    for (const path of ["/", "/console/"]) {
      const text = (await send(port, base + path, html)).bytes.toString();
      for (const file of files(text, `http://host${base}${path}`)) {
        assert.ok(file.startsWith(`${base}/console/assets/`), file);
        assert.equal((await send(port, file)).status, 200, file);
        if (file.endsWith(".js")) assert.equal(new URL("../../v1/health", `http://host${file}`).pathname, `${base}/v1/health`);
      }
    }
  } finally {
    proxy.close();
  }
});

test("memory shows the models in it, and what is next", async () => {
  const other = await Server.start("--max-loaded-models", "1", "--auto-evict", "--evict-idle-timeout", "1h");
  try {
    const empty = (await other.get("/v1/memory")).body;
    assert.ok(empty.pools.some((pool) => pool.id === "ram" && pool.total_bytes > 0 && pool.models.length === 0));
    assert.equal((await other.post("/v1/load", { model_name: "tiny-llama" })).status, 200);
    const { pools, slots } = (await other.get("/v1/memory")).body;
    const ram = pools.find((pool) => pool.id === "ram");
    const [model] = ram.models;
    assert.equal(model.model_name, "tiny-llama");
    assert.ok(model.weights_bytes > 0 && model.kv_bytes > 0, JSON.stringify(model));
    const ours = model.weights_bytes + model.kv_bytes + model.compute_bytes + model.process_bytes;
    assert.ok(Math.abs(ram.other_bytes + ram.free_bytes + ours - ram.total_bytes) < 2, JSON.stringify(ram));
    const llm = slots.find((one) => one.type === "llm");
    assert.deepEqual([llm.taken, llm.limit, llm.next, llm.obstacle], [1, 1, { model_name: "tiny-llama", action: "evict", reason: "room" }, null]);
    const { totals, columns, pools: memory } = (await other.get("/v1/stats/history")).body;
    assert.equal(totals.loads, 1);
    const { length } = columns.time;
    assert.ok([...Object.values(columns), ...memory.flatMap((one) => [one.models_bytes, one.other_bytes, one.free_bytes])].every((column) => column.length === length));

    const [loaded] = await other.loaded();
    assert.equal(loaded.stays, "none");
    assert.ok(loaded.evict_at > Date.now() + 3_000_000 && loaded.downsize_at < loaded.evict_at);

    assert.equal((await other.post("/internal/pin", { model_name: "tiny-llama", pinned: true })).status, 200);
    const pinned = (await other.get("/v1/memory")).body.slots.find((one) => one.type === "llm");
    assert.deepEqual([pinned.next, pinned.obstacle], [null, "pinned"]);
    assert.deepEqual([(await other.loaded())[0].stays, (await other.loaded())[0].evict_at], ["pinned", null]);
  } finally {
    await other.stop();
  }
});
