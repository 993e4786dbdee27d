// Programs of others as backends, played by one that does what a test says, and driven by the same descriptors as the
// real ones.
import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { ask, external, runs } from "../support/fake-servers.mjs";
import { models } from "../support/server.mjs";

const after = (words, flag) => words[words.indexOf(flag) + 1];
async function until(holds) {
  while (!(await holds())) await new Promise((resolve) => setImmediate(resolve));
}

// What each descriptor starts, asks and says, as its documentation has it.
const kContracts = [
  { recipe: "flm", program: "flm", checkpoint: "gemma3:4b", words: (w) => assert.deepEqual(w.slice(0, 2), ["serve", "gemma3:4b"]), model: "gemma3:4b" },
  { recipe: "vllm", program: "vllm", checkpoint: "org/model", words: (w) => assert.equal(after(w, "--served-model-name"), "m"), model: "m" },
  { recipe: "ryzenai-llm", program: "ryzenai-server", onnx: true, words: (w) => assert.match(after(w, "-m"), /onnx$/), model: "m" },
  { recipe: "oga-hybrid", program: "ryzenai-server", onnx: true, words: (w) => assert.equal(after(w, "--mode"), "hybrid"), model: "m" },
  { recipe: "oga-npu", program: "ryzenai-server", onnx: true, words: (w) => assert.equal(after(w, "--mode"), "npu"), model: "m" },
  { recipe: "oga-cpu", program: "ryzenai-server", onnx: true, words: (w) => assert.equal(after(w, "--mode"), "cpu"), model: "m" },
];
for (const { recipe, program, checkpoint, onnx, words, model } of kContracts) {
  external(`${recipe}: started, ready and asked as its descriptor says`, async (externals) => {
    externals.program(program, { unready: 2 });
    externals.models(`[models.m]\nrecipe = "${recipe}"\ncheckpoint = "${onnx ? externals.file("onnx") : checkpoint}"\n`);
    const server = await externals.serve();
    const { status, body } = await ask(server, "m", "hi", { temperature: 0.5 });
    assert.equal(status, 200, JSON.stringify(body));
    assert.equal(body.path, "/v1/chat/completions");
    words(body.words);
    assert.equal(JSON.parse(body.body).model, model);
    assert.equal(JSON.parse(body.body).temperature, 0.5);
    const [loaded] = await server.loaded();
    assert.equal(loaded.recipe, recipe);
    assert.equal(loaded.pid, body.pid);
  });
}

external("koko speaks, as its descriptor says", async (externals) => {
  externals.program("koko");
  externals.models(`[models.voice]\nrecipe = "kokoro"\ncheckpoints = { main = "${externals.file("kokoro.onnx")}", voices = "/srv/voices.bin" }\n`);
  const server = await externals.serve();
  const response = await server.fetch("/v1/audio/speech", { method: "POST", body: JSON.stringify({ model: "voice", input: "sound", voice: "af_sky", response_format: "wav" }) });
  assert.equal(response.status, 200);
  assert.equal(response.headers.get("content-type"), "audio/wav");
  const sound = Buffer.from(await response.arrayBuffer());
  assert.equal(sound.subarray(0, 4).toString(), "RIFF");
  assert.equal(sound.length, 44 + 4800);
});

external("it gets a clean environment, a folder of its own and no key", async (externals) => {
  externals.program("mine");
  externals.models('[models.m]\ncmd = "mine --port {port}"\nenv = { WANTED = "yes", HOME_OF = "{env.HOME}", NOT_THERE = "{env.NOBODY_SETS_THIS}" }\n');
  const environment = { CORRAL_API_KEY: "sk-secret", HF_TOKEN: "hf_secret", MY_PASSWORD: "x", SOMETHING: "else" };
  const server = await externals.serve({ environment });
  const { body } = await server.json("POST", "/v1/chat/completions", { model: "m", messages: [{ role: "user", content: "hi" }] }, { authorization: "Bearer sk-secret" });
  assert.equal(body.env.WANTED, "yes");
  assert.equal(body.env.HOME_OF, process.env.HOME);
  for (const name of ["NOT_THERE", "CORRAL_API_KEY", "HF_TOKEN", "MY_PASSWORD", "SOMETHING"]) assert.equal(body.env[name], undefined, name);
  assert.equal(body.cwd, join(server.state, "backends"));
  assert.ok(!JSON.stringify(body.headers).includes("sk-secret"));
  assert.equal(readFileSync(`/proc/${body.pid}/stat`, "utf8").split(") ")[1].split(" ")[2], `${body.pid}`, "it leads its own group");
});

external("a program that isn't installed is refused before anybody is evicted, with how to install it", async (externals) => {
  externals.program("mine");
  externals.models('[models.here]\ncmd = "mine --port {port}"\n[models.gone]\nrecipe = "flm"\ncheckpoint = "x"\n[models.lost]\ncmd = "nobody-has-this {port}"\n');
  const server = await externals.serve();
  const { body } = await ask(server, "here", "hi");
  for (const [model, words] of [["gone", /needs the program 'flm', which is not installed; install it: see fastflowlm/], ["lost", /'nobody-has-this'/]]) {
    const refused = await ask(server, model, "hi");
    assert.equal(refused.status, 422);
    assert.equal(refused.body.error.code, "backend_not_installed");
    assert.match(refused.body.error.message, words);
  }
  assert.equal((await server.loaded())[0].pid, body.pid);
});

external("an own command needs no program of its recipe, and strip and set count in forms", async (externals) => {
  externals.program("mine", { says: { text: "heard" } });
  externals.models(`[models.m]
recipe = "whispercpp"
cmd = "mine --port {port}"
strip = ["language", "temperature"]
set = { prompt = "set here" }
model_name = "theirs"
`);
  const server = await externals.serve();
  const form = new FormData();
  form.set("model", "m");
  form.set("language", "de");
  form.set("file", new Blob([Buffer.concat([Buffer.from("ID3\x04"), Buffer.alloc(100)])]), "a.wav");
  form.set("temperature", "0.5");
  const response = await server.fetch("/v1/audio/transcriptions", { method: "POST", body: form });
  const text = await response.text();
  assert.equal(response.status, 200, text);
  assert.ok(externals.got("mine").includes('name="prompt"\r\n\r\nset here'));
  assert.ok(externals.got("mine").includes('name="model"\r\n\r\ntheirs'));
  for (const gone of ["language", "temperature"]) assert.ok(!externals.got("mine").includes(`name="${gone}"`), gone);
});

external("a model's file may be named as the list names it", async (externals) => {
  externals.program("mine");
  externals.models('[models.m]\ncmd = ["mine", "--port", "{port}", "-m", "{model}"]\ncheckpoint = "tiny-llama"\n');
  const server = await externals.serve({ modelsDir: models });
  const { body } = await ask(server, "m", "hi");
  assert.equal(after(body.words, "-m"), join(models, "tiny-llama.gguf"));
});

external("recipe llamacpp serves a GGUF file, and models declare what they can", async (externals) => {
  externals.program("mine");
  externals.models(`[models.own]
recipe = "llamacpp"
checkpoint = "${join(models, "tiny-llama.gguf")}"
[models.m]
cmd = "mine --port {port}"
context = 12345
tools = true
vision = true
`);
  const server = await externals.serve();
  const { status, body } = await ask(server, "own", "hi", { max_tokens: 2 });
  assert.equal(status, 200, JSON.stringify(body));
  const listed = (await server.get("/v1/models/m")).body;
  assert.equal(listed.context_length, 12345);
  assert.deepEqual([listed.capabilities.tools, listed.capabilities.vision], [true, true]);
  assert.deepEqual(listed.labels, ["tool-calling", "vision"]);
});

external("a slow start is waited for, and 'not yet' is no failure", async (externals) => {
  const go = externals.path("go");
  externals.program("mine", { go, unready: 3 });
  externals.models('[models.m]\ncmd = "mine --port {port}"\n');
  const server = await externals.serve();
  const asking = ask(server, "m", "hi");
  await until(async () => (await server.get("/v1/health")).body.loading !== null);
  writeFileSync(go, "");
  assert.equal((await asking).status, 200);
});

external("one that ends while it loads says with which last words", async (externals) => {
  externals.program("mine", { exit: 3 });
  externals.models('[models.m]\ncmd = "mine --port {port}"\n');
  const server = await externals.serve();
  const { status, body } = await ask(server, "m", "hi");
  assert.equal(status, 500);
  assert.equal(body.error.code, "model_load_error");
  assert.match(body.error.message, /exited with code 3; its last output: cannot open the model/);
});

external("one that dies in the middle of an answer is started again, and the request repeated", async (externals) => {
  externals.program("mine");
  externals.models('[models.m]\ncmd = "mine --port {port}"\n');
  const server = await externals.serve();
  const first = (await ask(server, "m", "hi")).body.pid;
  const { status, body } = await ask(server, "m", "crash-once");
  assert.equal(status, 200);
  assert.notEqual(body.pid, first);
  assert.ok(!runs(first));
});

external("requests are counted with the tokens that it tells", async (externals) => {
  externals.program("mine");
  externals.models('[models.m]\ncmd = "mine --port {port}"\n');
  const server = await externals.serve();
  await ask(server, "m", "hi");
  await ask(server, "m", "hi");
  const { body } = await server.get("/v1/stats");
  assert.deepEqual([body.model_name, body.request_count_total, body.prompt_tokens_total, body.output_tokens_total], ["m", 2, 22, 10]);
});

external("one that answers and dies again and again is started again and again", async (externals) => {
  externals.program("mine");
  externals.models('[models.m]\ncmd = "mine --port {port}"\n');
  const server = await externals.serve();
  for (let round = 0; round < 6; ++round) {
    const { status, body } = await ask(server, "m", `hi ${round}`);
    assert.equal(status, 200, JSON.stringify(body));
    process.kill(body.pid, "SIGKILL");
  }
});

external("a flood of words costs its log no more than its bound, and its requests nothing", async (externals) => {
  externals.program("mine", { flood: 24 << 20 });
  externals.models('[models.m]\ncmd = "mine --port {port}"\n');
  const server = await externals.serve();
  assert.equal((await ask(server, "m", "hi")).status, 200);
  const folder = join(server.state, "log");
  const bytes = readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
  assert.ok(bytes < 10 << 20, `${bytes} bytes of logs`);
});

external("a huge answer passes whole", async (externals) => {
  externals.program("mine");
  externals.models('[models.m]\ncmd = "mine --port {port}"\n');
  const server = await externals.serve();
  const { body } = await ask(server, "m", "huge");
  assert.equal(body.text.length, 32 << 20);
});

external("fields go and come, aliases find it, streams stream, and no more requests than it takes come at once", async (externals) => {
  externals.program("mine");
  externals.models(`
[macros]
mine = "mine --port \${PORT}"
[models."qwen:7b"]
cmd = "\${mine} --name \${MODEL_ID}"
aliases = ["gpt-4o-mini"]
useModelName = "theirs"
concurrencyLimit = 1
filters = { stripParams = "temperature", setParams = { seed = 7 } }
`);
  const server = await externals.serve();
  const { body } = await ask(server, "gpt-4o-mini", "hi", { temperature: 1 });
  assert.equal(after(body.words, "--name"), "qwen:7b");
  const theirs = JSON.parse(body.body);
  assert.deepEqual([theirs.model, theirs.seed, theirs.temperature], ["theirs", 7, undefined]);
  const events = [];
  for await (const event of server.events("/v1/chat/completions", { model: "qwen:7b", messages: [{ role: "user", content: "hi" }], stream: true })) events.push(event);
  assert.equal(events.at(-1), "[DONE]");
  const together = await Promise.all([1, 2, 3, 4].map((n) => ask(server, "qwen:7b", `together ${n}`)));
  assert.deepEqual(together.map((one) => one.body.most), [1, 1, 1, 1]);
});

external("endpoints that it hasn't are refused with which backend it is", async (externals) => {
  externals.program("flm");
  externals.models('[models.m]\nrecipe = "flm"\ncheckpoint = "x"\n');
  const server = await externals.serve();
  const { status, body } = await server.post("/v1/tokenize", { model: "m", content: "x" });
  assert.equal(status, 400);
  assert.equal(body.error.code, "endpoint_not_served");
  assert.match(body.error.message, /backend 'flm', which has no tokenize/);
});

external("kill -9 of the server takes them along", async (externals) => {
  externals.program("mine");
  externals.models('[models.m]\ncmd = "mine --port {port}"\n');
  const server = await externals.serve();
  const { pid } = (await ask(server, "m", "hi")).body;
  server.child.kill("SIGKILL");
  await server.ended;
  await until(() => !runs(pid));
  externals.server = undefined;
});

const kStarts = {
  "in its group": (command) => `${command} & wait`,
  "in a session of its own": (command) => `setsid ${command} & wait`,
};
for (const [where, start] of Object.entries(kStarts)) {
  external(`what a program starts ${where} goes with the server, however it ends, and with its model`, async (externals) => {
    externals.program("mine", {}, start);
    externals.models('[models.m]\ncmd = "mine --port {port}"\n');
    const server = await externals.serve();
    const first = (await ask(server, "m", "hi")).body.pid;
    assert.notEqual((await server.loaded())[0].pid, first);
    assert.equal((await server.post("/v1/unload", { model_name: "m" })).status, 200);
    assert.ok(!runs(first));
    const second = (await ask(server, "m", "hi")).body.pid;
    server.child.kill("SIGKILL");
    await server.ended;
    await until(() => !runs(second));
    externals.server = undefined;
  });
}

external("what it took is measured, and counts for its next load", async (externals) => {
  externals.program("mine");
  externals.models('[models.m]\ncmd = "mine --port {port}"\nmemory = "1MiB"\n');
  const server = await externals.serve();
  await ask(server, "m", "hi");
  const file = join(server.state, "measured-memory.json");
  await until(() => existsSync(file));
  const [measured] = Object.values(JSON.parse(readFileSync(file, "utf8")));
  // More than its file says; how much depends on how many processes share its libraries.
  assert.ok(measured.host > 2 << 20, `${measured.host} bytes`);
  const { body } = await server.post("/v1/estimate", { model_name: "m" });
  assert.ok(JSON.stringify(body).includes(`${measured.host}`), JSON.stringify(body));
});

external("a model leaves memory after its ttl", async (externals) => {
  externals.program("mine");
  externals.models('[models.m]\ncmd = "mine --port {port}"\nttl = "200ms"\n');
  const server = await externals.serve();
  const { pid } = (await ask(server, "m", "hi")).body;
  await until(() => !runs(pid));
});

// ---- the NPU

const npu = (file) => `
[models.chat]
recipe = "flm"
checkpoint = "gemma3:4b"
[models.chat2]
recipe = "flm"
checkpoint = "llama3.2:1b"
[models.embed]
recipe = "flm"
checkpoint = "embed-gemma"
labels = ["embeddings"]
[models.whole]
recipe = "ryzenai-llm"
checkpoint = "${file}"
`;

external("models of flm share the NPU by type, and one that needs all of it has it alone", async (externals) => {
  externals.program("flm");
  externals.program("ryzenai-server");
  externals.models(npu(externals.file("onnx")));
  const server = await externals.serve({}, "--max-loaded-models", "4");
  const names = async () => (await server.loaded()).map((one) => one.model_name).sort();
  assert.equal((await ask(server, "chat", "hi")).status, 200);
  const embedding = await server.post("/v1/embeddings", { model: "embed", input: "x" });
  assert.deepEqual(embedding.body.words.slice(0, 3), ["serve", "--embed", "1"]);
  assert.deepEqual(await names(), ["chat", "embed"]);
  await ask(server, "chat2", "hi");
  assert.deepEqual(await names(), ["chat2", "embed"], "one of each type");
  await ask(server, "whole", "hi");
  assert.deepEqual(await names(), ["whole"]);
  await ask(server, "chat", "hi");
  assert.deepEqual(await names(), ["chat"], "and the other way round");
  assert.deepEqual((await server.loaded()).map((one) => one.device), ["npu"]);
});

// ---- servers that run already

async function running(answer) {
  const server = createServer(answer);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { url: `http://127.0.0.1:${server.address().port}`, stop: () => new Promise((done) => (server.closeAllConnections(), server.close(done))) };
}

external("a server that runs already is asked, takes no slot and is never evicted", async (externals) => {
  const seen = [];
  const other = await running(async (request, response) => {
    let body = "";
    for await (const piece of request) body += piece;
    seen.push({ url: request.url, key: request.headers.authorization, body: body && JSON.parse(body) });
    response.writeHead(200, { "content-type": "application/json" }).end('{"ok":true}');
  });
  externals.program("mine");
  externals.models(`
[models.far]
recipe = "ollama"
checkpoint = "llama3.2"
url = "${other.url}/base"
headers = { Authorization = "Bearer {env.FAR_KEY}" }
[models.one]
cmd = "mine --port {port}"
[models.two]
cmd = "mine --port {port}"
`);
  const server = await externals.serve({ environment: { FAR_KEY: "k" } });
  try {
    assert.deepEqual((await ask(server, "far", "hi")).body, { ok: true });
    assert.equal(seen[0].url, "/base/api/version");
    assert.equal(seen[1].url, "/base/v1/chat/completions");
    assert.deepEqual([seen[1].body.model, seen[1].key], ["llama3.2", "Bearer k"]);
    for (const model of ["one", "two", "far", "one"]) assert.equal((await ask(server, model, "hi")).status, 200);
    assert.deepEqual((await server.loaded()).map((one) => one.model_name).sort(), ["far", "one"]);
    assert.equal((await server.post("/v1/unload", { model_name: "far" })).status, 200);
    assert.deepEqual((await server.loaded()).map((one) => one.model_name), ["one"]);
  } finally {
    await other.stop();
  }
});

external("a server that should run and doesn't is a 503 that evicts nobody", async (externals) => {
  const other = await running(() => {});
  await other.stop();
  externals.program("mine");
  externals.models(`[models.far]\nrecipe = "lmstudio"\ncheckpoint = "x"\nurl = "${other.url}"\n[models.one]\ncmd = "mine --port {port}"\n`);
  const server = await externals.serve();
  await ask(server, "one", "hi");
  const { status, body } = await ask(server, "far", "hi");
  assert.equal(status, 503);
  assert.equal(body.error.code, "backend_not_reachable");
  assert.match(body.error.message, /is not reachable: start it first/);
  assert.equal((await server.loaded()).length, 1);
});

external("files with mistakes are named with line and key, and the rest works", async (externals) => {
  externals.program("mine");
  externals.descriptor("bad", 'recipe = "bad"\ncommand = ["x", "{port}"]\nconcurrency = "two"\n');
  externals.models('[models.m]\ncmd = "mine --port {port}"\n[models.n]\ncmd = "mine"\n');
  const server = await externals.serve();
  assert.equal((await ask(server, "m", "hi")).status, 200);
  assert.equal((await ask(server, "n", "hi")).status, 404);
  const log = server.lines.join("\n");
  assert.match(log, /bad\.toml:3: concurrency: "two" is not a whole number/);
  assert.match(log, /models\.toml:3: command: the command does not set the address to listen on/);
});
