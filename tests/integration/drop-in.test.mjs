// `corral serve -m FILE` with llama-server's own flags: one model, loaded at the start, that answers to every name.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { models, program, Server } from "../support/server.mjs";

// A server that is asked until it has its model, as programs do that start llama-server.
async function ready(server) {
  while ((await server.get("/health")).status === 503);
  return server;
}

describe("one model", () => {
  let server;
  before(async () => {
    const file = join(models, "tiny-llama.gguf");
    const flags = ["-m", file, "-a", "mine,also", "--tags", "small,fast", "-c", "512", "-np", "2", "--temp", "0", "-n", "4", "--jinja", "-b", "64", "-ub", "64", "--no-webui"];
    server = await ready(await Server.start(...flags));
  });
  after(() => server.stop());

  test("it is the only one, under its names, and in memory", async () => {
    const list = await server.get("/models");
    assert.deepEqual(list.body.data.map((model) => [model.id, model.aliases, model.tags]), [["also", ["also", "mine"], ["small", "fast"]]]);
    assert.deepEqual((await server.loaded()).map((model) => model.model_name), ["also"]);
    const props = await server.get("/props");
    assert.equal(props.status, 200, JSON.stringify(props.body));
    assert.equal(props.body.model_path, join(models, "tiny-llama.gguf"));
    assert.equal(props.body.total_slots, 2);
    assert.equal(props.body.default_generation_settings.n_ctx, 256, "-c divided by -np");
    assert.equal(props.body.default_generation_settings.params.n_predict, 4);
    assert.equal(props.body.is_sleeping, false);
    assert.match(props.body.build_info, /^b/);
  });

  for (const model of [undefined, "mine", "gpt-4"]) {
    test(`a request that says ${model ?? "no name"}`, async () => {
      const answer = await server.post("/v1/chat/completions", { model, messages: [{ role: "user", content: "Hi" }], ignore_eos: true });
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      assert.equal(answer.body.usage.completion_tokens, 4, "-n");
      assert.equal(answer.body.model, model ?? "also");
    });
  }

  test("what requests say goes before flags", async () => {
    const asked = { prompt: "Once upon", ignore_eos: true };
    const [plain, own] = await Promise.all([server.post("/completion", asked), server.post("/completion", { ...asked, n_predict: 7, temperature: 1 })]);
    assert.equal(plain.body.tokens_predicted, 4);
    assert.equal(plain.body.generation_settings.temperature, 0);
    assert.equal(own.body.tokens_predicted, 7);
    assert.equal(own.body.generation_settings.temperature, 1);
  });

  test("no pass has more tokens than -b", async () => {
    const answer = await server.post("/completion", { prompt: "word ".repeat(45), cache_prompt: false });
    assert.ok(answer.body.tokens_evaluated > 64, JSON.stringify(answer.body));
    const metrics = await (await server.fetch("/metrics")).text();
    const [, small] = metrics.match(/^corral_engine_step_tokens_bucket\{[^}]*le="64"\} (\d+)$/m);
    const [, all] = metrics.match(/^corral_engine_step_tokens_count(?:\{[^}]*\})? (\d+)$/m);
    assert.equal(small, all);
  });

  test("one line says what has no effect", () => {
    const told = server.lines.filter((line) => line.includes("without effect here"));
    assert.deepEqual(told, ["corral: without effect here: --jinja, -ub, --no-webui"]);
  });
});

test("with -kvu a request may use the whole context", async () => {
  const server = await ready(await Server.start("-m", join(models, "tiny-llama.gguf"), "-c", "512", "-np", "2", "-kvu"));
  assert.equal((await server.get("/props")).body.default_generation_settings.n_ctx, 512);
  await server.stop();
});

test("without pooling each token has an embedding", async () => {
  const server = await ready(await Server.start("-m", join(models, "tiny-embed.gguf"), "--pooling", "none"));
  const { status, body } = await server.post("/embeddings", { input: "hello hello hello" });
  assert.equal(status, 200, JSON.stringify(body));
  const [{ embedding }] = body;
  assert.ok(embedding.length >= 3, "one for each token");
  assert.ok(embedding.every((vector) => vector.length === embedding[0].length && vector.length > 1));
  const refused = await server.post("/v1/embeddings", { input: "hello" });
  assert.equal(refused.status, 400);
  assert.match(refused.body.error.message, /pooling none/);
  await server.stop();
});

test("a template of one's own", async () => {
  let template;
  const prepare = (state) => {
    template = join(state, "template.jinja");
    writeFileSync(template, "{% for m in messages %}<{{ m.role }}>{{ m.content }}\n{% endfor %}");
  };
  // The folder is made before the server is started, so its path is known by then.
  const flags = ["-m", join(models, "tiny-llama.gguf")];
  const first = await Server.launch({ prepare }, ...flags);
  const second = await Server.start(...flags, "--chat-template-file", template);
  const asked = { messages: [{ role: "user", content: "Hi" }] };
  const [own, given] = await Promise.all([first, second].map((server) => server.post("/apply-template", asked)));
  assert.notEqual(own.body.prompt, given.body.prompt);
  assert.equal(given.body.prompt, "<user>Hi\n");
  await Promise.all([first.stop(), second.stop()]);
});

async function ended(...flags) {
  const child = spawn(program, ["serve", "--port", "0", ...flags], { stdio: ["ignore", "ignore", "pipe"] });
  let text = "";
  child.stderr.on("data", (data) => (text += data));
  const code = await new Promise((resolve) => child.once("close", resolve)); // all of its output has come
  return { code, text };
}

test("a file that is no model ends the server", async () => {
  const { code, text } = await ended("-m", "/nowhere/gone.gguf");
  assert.equal(code, 1, text);
  assert.match(text, /'\/nowhere\/gone.gguf' cannot be served/);
});

test("what has no equal is refused by name, with the reason", async () => {
  for (const [flags, why] of [
    [["--mmproj-url", "x"], /'--mmproj-url': no equivalent here: only a model of -hf/],
    [["--tools", "all"], /no built-in tools and no MCP servers/],
    [["--n-gpu-layer", "1"], /did you mean --n-gpu-layers\?/],
  ]) {
    const { code, text } = await ended(...flags);
    assert.equal(code, 2, text);
    assert.match(text, why);
  }
});
