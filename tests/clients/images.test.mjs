// The official OpenAI client's images, made by a simulated sd-server of stable-diffusion.cpp. sd-server.test.mjs asks the
// program itself.
import assert from "node:assert/strict";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { after, before, test } from "node:test";
import OpenAI, { toFile } from "openai";
import { Externals, runs } from "../support/fake-servers.mjs";
import { Server, models } from "../support/server.mjs";

const externals = new Externals();
const hold = externals.path("hold");
const log = externals.path("log");
let server;
let client;

const lines = () => readFileSync(log, "utf8").split("\n").filter((line) => line !== "").map((line) => line.split(" "));
const count = (what) => lines().filter(([event]) => event === what).length;
async function until(holds) {
  while (!(await holds())) await new Promise((done) => setImmediate(done));
}
// What the program got, which it writes into its image.
const got = (png) => JSON.parse(png.subarray(41, 41 + png.readUInt32BE(33)).toString());
const image_of = (item) => Buffer.from(item.b64_json, "base64");

before(async () => {
  writeFileSync(log, "");
  externals.program("sd-server", { hold, log }, (command) => `exec ${command.replace("fake-server.mjs", "fake-sd-server.mjs")}`);
  externals.models(`[models.painter]
recipe = "sd-cpp"
checkpoints = { main = "${externals.file("sd.safetensors")}", vae = "${externals.file("vae.safetensors")}" }
args = ["--steps", "4"]
`);
  server = await externals.serve({ modelsDir: models });
  client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: "none", maxRetries: 0 });
});
after(() => externals.stop());

test("the list says what it is", async () => {
  const { body } = await server.get("/v1/models");
  const painter = body.data.find((model) => model.id === "painter");
  assert.ok(painter.labels.includes("image"), JSON.stringify(painter));
  assert.equal(painter.recipe, "sd-cpp");
});

test("an image is made of a prompt, with the parameters of the program", async () => {
  const answer = await client.images.generate({
    model: "painter",
    prompt: 'a horse <sd_cpp_extra_args>{"lora":[{"path":"/etc/passwd"}]}</sd_cpp_extra_args>',
    size: "256x320",
    negative_prompt: 'rain "</sd_cpp_extra_args>',
    steps: 7,
    cfg_scale: 1.5,
    seed: 11,
    sampler: "euler_a",
    user: "me",
    quality: "high",
  });
  assert.equal(answer.data.length, 1);
  assert.equal(answer.size, "256x320");
  assert.equal(answer.output_format, "png");
  const asked = got(image_of(answer.data[0]));
  assert.equal(asked.prompt, 'a horse <>{"lora":[{"path":"/etc/passwd"}]}</>');
  assert.deepEqual(asked.extra, {
    seed: 11,
    negative_prompt: 'rain "</>',
    sample_params: { sample_steps: 7, sample_method: "euler_a", guidance: { txt_cfg: 1.5 } },
  });
  assert.equal(asked.seed, 11);
  assert.equal(asked.steps, 7);
  assert.deepEqual(asked.sent, ["prompt", "n", "size"]);
  assert.equal(asked.words[asked.words.indexOf("-m") + 1], externals.path("sd.safetensors"));
  assert.equal(asked.words[asked.words.indexOf("--vae") + 1], externals.path("vae.safetensors"));
  assert.deepEqual(asked.words.slice(-2), ["--steps", "4"]);
  assert.equal((await server.loaded()).find((model) => model.model_name === "painter").type, "image");
});

test("without a seed each image is another one, and OpenAI's names mean this model", async () => {
  const { data: answer, response } = await client.images.generate({ model: "dall-e-3", prompt: "a horse" }).withResponse();
  assert.equal(response.headers.get("X-Corral-Model"), "painter");
  const unnamed = await server.post("/api/v1/images/generations", { prompt: "a horse", seed: -1 });
  assert.equal(unnamed.status, 200);
  const [first, second] = [answer, unnamed.body].map(({ data }) => got(image_of(data[0])));
  assert.ok(first.extra.seed >= 0 && second.extra.seed >= 0, "the program would use the clock");
  assert.notEqual(first.seed, second.seed);
  assert.equal(first.steps, 4, "the program's own default");
});

test("formats and sizes are those of the program's images", async () => {
  for (const format of ["png", "jpeg", "webp"]) {
    const answer = await client.images.generate({ model: "painter", prompt: "a horse", output_format: format, size: "72x136" });
    assert.equal(answer.output_format, format);
    assert.equal(answer.size, "128x192");
  }
  const image = await toFile(png, "in.png", { type: "image/png" });
  const refused = await client.images.edit({ model: "painter", prompt: "a hat", image, output_format: "webp" }).catch((error) => error);
  assert.equal(refused.status, 400);
  assert.match(refused.message, /must be one of \[png, jpeg\]/);
});

test("several images, also of a program that makes one at once", async () => {
  for (const [n, at_most] of [[3], [3, 1], [10]]) {
    writeFileSync(externals.path("sd-server.json"), JSON.stringify({ hold, log, at_most }));
    const answer = await client.images.generate({ model: "painter", prompt: "horses", n, seed: 5 });
    assert.deepEqual(answer.data.map((item) => got(image_of(item)).seed), Array.from({ length: n }, (_, i) => 5 + i));
  }
  writeFileSync(externals.path("sd-server.json"), JSON.stringify({ hold, log }));
});

test("a URL leads to the image, without a key, and to nothing else", async () => {
  const answer = await client.images.generate({ model: "painter", prompt: "a horse", n: 2, response_format: "url" });
  assert.equal(answer.data.length, 2);
  for (const { url, b64_json } of answer.data) {
    assert.equal(b64_json, undefined);
    assert.ok(url.startsWith(`${server.url}/v1/images/files/`), url);
    const image = await fetch(url, { headers: { "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image" } });
    assert.equal(image.status, 200);
    assert.equal(image.headers.get("content-type"), "image/png");
    assert.equal(got(Buffer.from(await image.arrayBuffer())).prompt, "a horse");
  }
  const other = await server.get("/v1/images/files/abcdefgh.png");
  assert.equal(other.status, 404);
  assert.equal(other.body.error.code, "image_not_found");
});

const png = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGOoCNAAAAI0APHlrLKsAAAAAElFTkSuQmCC", "base64");

test("an image is edited, with a mask, and varied", async () => {
  const image = () => toFile(png, "in.png", { type: "image/png" });
  const edited = await client.images.edit({ model: "painter", prompt: "with a hat", image: await image(), mask: await image(), size: "256x256", n: 2 });
  assert.equal(edited.data.length, 2);
  const asked = got(image_of(edited.data[0]));
  assert.equal(asked.path, "/v1/images/edits");
  assert.equal(asked.prompt, "with a hat");
  assert.deepEqual(asked.files, { read: 1, unread: 0, mask: true });
  assert.equal(edited.size, "256x256");
  const several = await client.images.edit({ model: "painter", prompt: "together", image: [await image(), await image()] });
  assert.deepEqual(got(image_of(several.data[0])).files, { read: 2, unread: 0, mask: false });
  assert.equal(several.size, "64x64", "as large as the first image, in the model's steps");
  const varied = await client.images.createVariation({ model: "painter", image: await image(), strength: 0.4 });
  const second = got(image_of(varied.data[0]));
  assert.equal(second.path, "/v1/images/edits");
  assert.equal(second.prompt, "");
  assert.equal(second.extra.strength, 0.4);
});

test("a stream has an event for each image, and pings before", async () => {
  writeFileSync(hold, "");
  const stream = server.events("/v1/images/generations", { model: "painter", prompt: "horses", n: 2, stream: true, partial_images: 2 });
  assert.equal((await stream.next()).value, ":");
  rmSync(hold);
  const events = [];
  for await (const event of stream) if (event !== ":") events.push(typeof event === "string" ? JSON.parse(event) : event);
  assert.deepEqual(events.map(({ type }) => type), ["image_generation.completed", "image_generation.completed"]);
  assert.equal(got(image_of(events[0])).prompt, "horses");
  const by_client = [];
  for await (const event of await client.images.generate({ model: "painter", prompt: "a horse", stream: true })) by_client.push(event);
  assert.equal(by_client.at(-1).type, "image_generation.completed");
  assert.equal(by_client.at(-1).size, "512x512");
});

test("a client that leaves ends the work, and later requests are answered", async () => {
  const began = count("began");
  writeFileSync(hold, "");
  const leaving = new AbortController();
  const asking = client.images.generate({ model: "painter", prompt: "a long work" }, { signal: leaving.signal });
  const left = assert.rejects(asking);
  await until(() => count("began") > began);
  const waiting = client.images.generate({ model: "painter", prompt: "the next one" });
  const pid = Number(lines().filter(([event]) => event === "began").at(-1)[1]);
  const started = count("started");
  leaving.abort();
  await left;
  await until(() => !runs(pid));
  rmSync(hold);
  const answer = await waiting;
  assert.equal(got(image_of(answer.data[0])).prompt, "the next one");
  assert.equal(count("started"), started + 1);
  const { body } = await server.get("/v1/health");
  assert.equal(body.all_models_loaded.filter((model) => model.model_name === "painter").length, 1);
});

test("what can't be made is refused before a load, with the field", async () => {
  const refused = (body) => client.images.generate({ model: "painter", prompt: "a horse", ...body }).then(() => assert.fail("it was taken"), (error) => error);
  for (const [body, param, words] of [
    [{ n: 11 }, "n", /between 1 and 10, not 11/],
    [{ size: "100x100" }, "size", /64 to 2048 pixels in multiples of 8/],
    [{ size: "2048x2048", n: 5 }, "n", /20971520 pixels, but a request makes at most 16777216/],
    [{ prompt: "" }, "prompt", /non-empty/],
    [{ background: "transparent" }, "background", /"auto" or "opaque"/],
    [{ output_format: "gif" }, "output_format", /"png", "jpeg" or "webp"/],
    [{ steps: 1000 }, "steps", /between 1 and 200/],
  ]) {
    const error = await refused(body);
    assert.equal(error.status, 400, JSON.stringify(body));
    assert.equal(error.param, param);
    assert.match(error.message, words);
  }
  const text = await client.images.edit({ model: "painter", prompt: "x", image: await toFile(Buffer.from("a text"), "a.png") }).catch((error) => error);
  assert.equal(text.status, 400);
  assert.equal(text.param, "image");
  const huge = Buffer.from(png);
  huge.writeUInt32BE(50_000, 16);
  huge.writeUInt32BE(50_000, 20);
  const bomb = await client.images.createVariation({ model: "painter", image: await toFile(huge, "a.png") }).catch((error) => error);
  assert.match(bomb.message, /50000x50000 pixels/);
  const grey = Buffer.from(png);
  grey[25] = 0;
  const unread = await client.images.createVariation({ model: "painter", image: await toFile(grey, "a.png") }).catch((error) => error);
  assert.match(unread.message, /shades of grey/);
});

test("an error of the program is the client's, and a model of another type isn't asked", async () => {
  writeFileSync(externals.path("sd-server.json"), JSON.stringify({ hold, log, fails: "generate_image returned no results" }));
  const failed = await client.images.generate({ model: "painter", prompt: "a horse" }).catch((error) => error);
  assert.equal(failed.status, 500);
  assert.match(failed.message, /generate_image returned no results/);
  writeFileSync(externals.path("sd-server.json"), JSON.stringify({ hold, log }));
  const wrong = await client.images.generate({ model: "tiny-llama", prompt: "a horse" }).catch((error) => error);
  assert.equal(wrong.status, 400);
  assert.equal(wrong.code, "wrong_model_type");
});

test("without a model for images the error says how to get one", async () => {
  const plain = await Server.start();
  try {
    for (const path of ["/v1/images/generations", "/api/v1/images/generations", "/api/v0/images/generations", "/v0/images/generations"]) {
      for (const model of ["gpt-image-1", "nobody", undefined]) {
        const { status, body } = await plain.post(path, { model, prompt: "a horse" });
        assert.equal(status, 404, path);
        assert.equal(body.error.code, "model_not_found");
        assert.equal(body.error.param, "model");
        assert.match(body.error.message, /Get one with: curl -L -O https:\S+\.safetensors\. Then add it to models\.toml/);
      }
    }
  } finally {
    await plain.stop();
  }
});
