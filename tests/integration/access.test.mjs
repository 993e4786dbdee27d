// Who may do what, with real processes: keys and their scopes, browsers' requests, files, what children inherit.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { models, program, Server } from "../support/server.mjs";

const messages = [{ role: "user", content: "hi" }];

// Any header at all, unlike fetch.
const send = (server, method, path, { headers = {}, body } = {}) =>
  new Promise((resolve, reject) => {
    const asking = request({ host: "127.0.0.1", port: server.port, method, path, headers }, (answer) => {
      let text = "";
      answer.on("data", (bytes) => (text += bytes));
      answer.on("end", () => resolve({ status: answer.statusCode, headers: answer.headers, text, body: () => JSON.parse(text) }));
    });
    asking.on("error", reject);
    asking.end(typeof body === "object" ? JSON.stringify(body) : body);
  });

const corral = (state, ...words) => {
  const done = spawnSync(program, [...words, "--state-dir", state], { encoding: "utf8" });
  return { code: done.status, out: done.stdout.trim(), err: done.stderr };
};

// Every process below this one.
function descendants(pid) {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean).map(Number);
  const threads = readdirSync(`/proc/${pid}/task`).flatMap((thread) => {
    const text = readFileSync(`/proc/${pid}/task/${thread}/children`, "utf8");
    return text.split(" ").filter(Boolean).map(Number);
  });
  return [...new Set([...children, ...threads])].flatMap((child) => [child, ...descendants(child)]);
}

test("children know no keys, logs and sockets are the user's alone", async () => {
  const secrets = { CORRAL_API_KEY: "the-key", HF_TOKEN: "hf_secret", LLAMA_API_KEY: "llama_secret", OPENAI_API_KEY: "sk-secret", MY_OWN: "mine", LC_NUMERIC: "C" };
  const server = await Server.launch({ environment: secrets });
  try {
    const headers = { "x-api-key": "the-key" };
    const grammar = `root ::= "${"clients-own-text".repeat(600)}" (`;
    const asking = { model: "tiny-llama", messages, max_tokens: 4 };
    assert.equal((await server.json("POST", "/v1/chat/completions", asking, headers)).status, 200);
    assert.equal((await server.json("POST", "/v1/chat/completions", { ...asking, grammar }, headers)).status, 400);
    const found = descendants(server.pid);
    assert.ok(found.length >= 1, "an engine at least");
    for (const pid of found) {
      const names = readFileSync(`/proc/${pid}/environ`, "utf8").split("\0").filter(Boolean).map((entry) => entry.split("=")[0]);
      for (const name of Object.keys(secrets)) assert.equal(names.includes(name), name === "LC_NUMERIC", `${pid}: ${name}`);
      assert.ok(names.includes("PATH"));
    }
    const logs = join(server.state, "log");
    assert.equal(statSync(logs).mode & 0o777, 0o700);
    for (const file of readdirSync(logs)) {
      assert.equal(statSync(join(logs, file)).mode & 0o777, 0o600, file);
      assert.doesNotMatch(readFileSync(join(logs, file), "utf8"), /clients-own-text|the-key|hf_secret/, file);
    }
    const [folder] = readdirSync(server.state).filter((name) => name.startsWith("corral."));
    assert.equal(statSync(join(server.state, folder)).mode & 0o777, 0o700);
  } finally {
    await server.stop();
  }
});

test("a folder for sockets that others can write is refused, and the one for what is kept is closed to them", async () => {
  const folder = mkdtempSync(join(tmpdir(), "corral-open-"));
  const [state, sockets] = ["state", "sockets"].map((name) => join(folder, name));
  for (const open of [state, sockets]) {
    mkdirSync(open);
    chmodSync(open, 0o777);
  }
  const done = spawnSync(program, ["serve", "--port", "0", "--no-hub-cache", "--state-dir", state, "--runtime-dir", sockets], { encoding: "utf8", timeout: 30_000 });
  assert.equal(statSync(state).mode & 0o777, 0o755);
  rmSync(folder, { recursive: true });
  assert.equal(done.status, 1);
  assert.match(done.stderr, /runtime_dir: .*sockets' can be written by other users; run chmod 700/);
});

test("keys: made, used and revoked while the server runs", async () => {
  const server = await Server.start("--no-hub-cache");
  try {
    // Without any key everything is open, but who may come in can't be changed.
    assert.equal((await server.get("/internal/config")).status, 200);
    assert.equal((await server.post("/internal/set", { host: "0.0.0.0" })).status, 403);
    assert.equal((await server.post("/internal/keys", { scopes: ["admin"] })).status, 403);

    const admin = corral(server.state, "key", "create", "--scope", "admin", "--name", "ops").out;
    assert.match(admin, /^corral-[a-z2-7]{8}-[a-z2-7]{52}$/);
    assert.equal(statSync(join(server.state, "keys.json")).mode & 0o777, 0o600);
    const as = (key, method, path, body) => server.json(method, path, body, key ? { authorization: `Bearer ${key}` } : {});
    const until = async (key, status) => {
      while ((await as(key, "GET", "/v1/stats")).status !== status);
    };
    await until(undefined, 401);
    assert.deepEqual((await as(undefined, "GET", "/v1/health")).body, { status: "ok" });
    assert.equal((await as(admin, "GET", "/internal/keys")).status, 200);

    const made = (await as(admin, "POST", "/internal/keys", { name: "chat", scopes: ["inference"] })).body;
    const chat = { model: "tiny-llama", messages, max_tokens: 4 };
    assert.equal((await as(made.key, "POST", "/v1/chat/completions", chat)).status, 200);
    for (const [method, path, body] of [
      ["POST", "/v1/load", { model_name: "tiny-qwen3" }],
      ["POST", "/v1/unload", {}],
      ["POST", "/internal/set", { swap_patience: "1s" }],
      ["GET", "/internal/config"],
      ["POST", "/internal/pin", { model_name: "tiny-llama", pinned: true }],
      ["POST", "/v1/models/tiny-llama/options", { ctx_size: 512 }],
    ]) {
      const refused = await as(made.key, method, path, body);
      assert.equal(refused.status, 403, path);
      assert.equal(refused.body.error.code, "insufficient_scope");
    }
    assert.equal((await as(admin, "POST", "/v1/chat/completions", chat)).status, 403);
    assert.deepEqual((await as(made.key, "GET", "/v1/health")).body.all_models_loaded.map((entry) => entry.model_name), ["tiny-llama"]);

    // Over HTTP it is worthless at once, through the file as soon as the server has seen it.
    assert.equal((await as(admin, "DELETE", `/internal/keys/${made.id}`)).status, 200);
    assert.equal((await as(made.key, "GET", "/v1/health")).status, 401);
    const second = corral(server.state, "key", "create", "--name", "second").out;
    await until(second, 200);
    assert.equal(corral(server.state, "key", "revoke", "second").code, 0);
    await until(second, 401);

    const list = corral(server.state, "key", "list").out;
    assert.match(list, /ops +admin/);
    assert.doesNotMatch(list, new RegExp(admin.slice(16)));
    assert.doesNotMatch(readFileSync(join(server.state, "keys.json"), "utf8"), new RegExp(admin.slice(16)));

    // Thousands of wrong keys, and very long ones, cost nobody else anything.
    const before = statSync(join(server.state, "keys.json")).mtimeMs;
    for (let i = 0; i < 20; ++i) {
      const wrong = await Promise.all(Array.from({ length: 100 }, (_, n) => as(`${admin.slice(0, 60)}${1000 + n}${i % 10}aaa`, "GET", "/v1/health")));
      assert.ok(wrong.every((answer) => answer.status === 401));
    }
    assert.equal((await send(server, "GET", "/v1/health", { headers: { "x-api-key": "k".repeat(15_000) } })).status, 401);
    const flood = Object.fromEntries(Array.from({ length: 90 }, (_, n) => [`x-api-key-${n}`, "k"]));
    assert.equal((await send(server, "GET", "/v1/health", { headers: { ...flood, "x-api-key": admin } })).status, 200);
    assert.equal(statSync(join(server.state, "keys.json")).mtimeMs, before);

    // The log names refusals and changes, and never a key.
    assert.ok(server.lines.some((line) => /GET \/v1\/health 401, \d+ ms, from 127\.0\.0\.1/.test(line)), server.lines.join("\n"));
    assert.ok(server.lines.some((line) => line.includes(`key ${made.id} created over HTTP by`)));
    assert.ok(server.lines.every((line) => !line.includes(admin.slice(16)) && !line.includes(made.key.slice(16))));
  } finally {
    await server.stop();
  }
});

test("a server on the network starts with keys of the file, and with none it refuses to", async () => {
  const state = mkdtempSync(join(tmpdir(), "corral-keys-"));
  const serve = (...flags) => ["serve", "--port", "0", "--no-hub-cache", "--state-dir", state, "--runtime-dir", state, ...flags];
  const open = spawnSync(program, serve("--host", "0.0.0.0"), { encoding: "utf8", timeout: 30_000 });
  assert.equal(open.status, 2);
  assert.match(open.stderr, /corral key create/);
  writeFileSync(join(state, "keys.json"), "nonsense", { mode: 0o600 });
  const broken = spawnSync(program, serve(), { encoding: "utf8", timeout: 30_000 });
  assert.equal(broken.status, 2, "keys that can't be read aren't no keys");
  assert.match(broken.stderr, /key file/);
  rmSync(state, { recursive: true });
});

test("browsers: only listed pages, and bodies that say what they are", async () => {
  const server = await Server.start("--no-hub-cache", "--allowed-origins", "http://localhost:3000", "app://obsidian.md");
  try {
    const host = `localhost:${server.port}`;
    const set = { swap_patience: "7s" };
    const json = { "content-type": "application/json" };
    const patience = async () => (await server.get("/internal/config")).body.settings.swap_patience.value;

    // A page on another port of this machine posts to /internal/set, in every way that asks no leave first.
    for (const headers of [
      { origin: "http://localhost:3001", ...json },
      { origin: "http://localhost:3001", "content-type": "text/plain" },
      { origin: "null", ...json },
      { origin: "https://evil.example", ...json },
      { "sec-fetch-site": "same-site", "content-type": "text/plain" },
      { "sec-fetch-site": "cross-site", ...json },
    ]) {
      const refused = await send(server, "POST", "/internal/set", { headers: { host, ...headers }, body: set });
      assert.equal(refused.status, 403, JSON.stringify(headers));
      assert.equal(refused.headers["access-control-allow-origin"], undefined);
    }
    const rebound = await send(server, "POST", "/internal/set", { headers: { host: `evil.example:${server.port}`, ...json }, body: set });
    assert.equal(rebound.status, 403);
    const plain = await send(server, "POST", "/internal/set", { headers: { host, origin: "http://localhost:3000", "content-type": "text/plain" }, body: set });
    assert.equal(plain.status, 415);
    assert.equal(await patience(), "2s");

    for (const origin of ["http://localhost:3000", "app://obsidian.md", `http://${host}`]) {
      const taken = await send(server, "POST", "/internal/set", { headers: { host, origin, ...json }, body: set });
      assert.equal(taken.status, 200, origin);
      assert.equal(taken.headers["access-control-allow-origin"], origin.includes(host) ? undefined : origin);
      assert.equal(taken.headers.vary, "Origin");
    }
    assert.equal(await patience(), "7s");

    const asked = { host, origin: "http://localhost:3000", "access-control-request-method": "POST", "access-control-request-headers": "authorization, content-type" };
    const leave = await send(server, "OPTIONS", "/v1/chat/completions", { headers: asked });
    assert.equal(leave.status, 200);
    assert.equal(leave.headers["access-control-allow-origin"], "http://localhost:3000");
    assert.equal(leave.headers["access-control-allow-headers"], "authorization, content-type");
    const stranger = await send(server, "OPTIONS", "/v1/chat/completions", { headers: { ...asked, origin: "http://localhost:3001" } });
    assert.equal(stranger.status, 200, "which allows nothing");
    assert.equal(stranger.headers["access-control-allow-origin"], undefined);

    const streamed = await send(server, "POST", "/v1/chat/completions", {
      headers: { host, origin: "app://obsidian.md", ...json },
      body: { model: "tiny-llama", messages, max_tokens: 4, stream: true },
    });
    assert.equal(streamed.headers["access-control-allow-origin"], "app://obsidian.md");
    assert.match(streamed.headers["access-control-expose-headers"], /X-Request-Id/);
    assert.match(streamed.text, /\[DONE\]/);
  } finally {
    await server.stop();
  }
});

test("files: only from the folders of models, nothing of them is told, and what is refused unloads nobody", async () => {
  const folder = mkdtempSync(join(tmpdir(), "corral-files-"));
  const inside = join(folder, "models");
  const outside = join(folder, "elsewhere");
  for (const made of [inside, outside]) mkdirSync(made);
  copyFileSync(join(models, "tiny-llama.gguf"), join(inside, "tiny-llama.gguf"));
  copyFileSync(join(models, "tiny-qwen3.gguf"), join(inside, "tiny-qwen3.gguf"));
  copyFileSync(join(models, "tiny-mamba.gguf"), join(inside, "tiny-mamba.gguf"));
  copyFileSync(join(models, "tiny-qwen3.gguf"), join(outside, "other.gguf"));
  writeFileSync(join(outside, "secret"), "ROOTpassword");
  writeFileSync(join(inside, "notes.txt"), "ROOTpassword");
  symlinkSync(join(outside, "other.gguf"), join(inside, "link.gguf"));
  const server = await Server.launch({ modelsDir: inside }, "--no-hub-cache", "--max-loaded-models", "1");
  try {
    assert.equal((await server.chat("tiny-llama", "hi")).status, 200);
    const [{ pid }] = await server.loaded();
    const same = async (label) => assert.deepEqual((await server.loaded()).map((entry) => entry.pid), [pid], label);
    const wrong = [
      join(outside, "other.gguf"), join(outside, "secret"), join(outside, "none.gguf"), join(inside, "..", "elsewhere", "other.gguf"),
      join(inside, "link.gguf"), join(inside, "notes.txt"), join(inside, "none.gguf"), inside, "/etc/passwd", "/proc/self/environ", `${"x".repeat(300)}`,
    ];
    const told = new Set();
    for (const [path, key] of [["/v1/load", "model_name"], ["/v1/estimate", "model_name"], ["/v1/models/tiny-llama/options", ""]]) {
      for (const file of wrong) {
        for (const options of [{ draft_model: file }, { lora: [file] }, { lora: [`${file}:0.5`] }, { llamacpp_args: `--lora ${file}` }]) {
          const answer = await server.post(path, { ...(key ? { [key]: "tiny-llama" } : {}), ...options });
          assert.equal(answer.status, 400, `${path} ${JSON.stringify(options)}`);
          const { message, param } = answer.body.error;
          assert.doesNotMatch(message.replaceAll(file, ""), /ROOT|password|root:/);
          assert.equal(param, options.draft_model ? "draft_model" : "lora");
          told.add(message.replace(/'(draft_model|lora)'/, "").replaceAll(`${file}:0.5`, "").replaceAll(file, ""));
        }
      }
      await same(path);
    }
    assert.equal(told.size, 1, "one answer for all of them");
    const set = await server.post("/internal/set", { llamacpp_args: `--lora ${join(outside, "other.gguf")}` });
    assert.equal(set.status, 400);

    // Allowed, but impossible: found out before anybody has to go.
    for (const options of [
      { draft_model: join(inside, "tiny-mamba.gguf") },
      { lora: [join(inside, "tiny-qwen3.gguf")] },
      { cache_type_v: "q4_0", flash_attention: "off" },
      { ctx_size: 4, parallel: 8 },
    ]) {
      for (const model_name of ["tiny-llama", "tiny-qwen3"]) {
        const answer = await server.post("/v1/load", { model_name, ...options });
        assert.equal(answer.status, 400, JSON.stringify([options, answer.body]));
        await same(JSON.stringify(options));
      }
    }
    // An admin's key may name any file.
    const key = corral(server.state, "key", "create", "--scope", "admin").out;
    let options;
    do {
      options = await server.json("POST", "/v1/models/tiny-qwen3/options", { draft_model: join(outside, "other.gguf"), dry_run: true }, { "x-api-key": key });
    } while (options.status === 400);
    assert.equal(options.status, 200, JSON.stringify(options.body));
  } finally {
    await server.stop();
    rmSync(folder, { recursive: true });
  }
});
