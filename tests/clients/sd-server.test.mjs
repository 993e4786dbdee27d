// Images of the real sd-server of stable-diffusion.cpp, if it is in PATH: with a model of zeros and a random decoder, so
// that each image is noise of its seed. The other tests of images, with a simulated program, are in images.test.mjs.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import OpenAI, { toFile } from "openai";
import { runs } from "../support/fake-servers.mjs";
import { Server } from "../support/server.mjs";
import { tiny_sd } from "../support/tiny-sd.mjs";

const there = () => {
  try {
    execFileSync("sd-server", ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
};
const skip = there() ? false : "sd-server is not installed";
const kSize = "64x64";

let folder;
let server;
let client;

before(async () => {
  if (skip) return;
  folder = mkdtempSync(join(tmpdir(), "corral-sd-"));
  const { main, taesd } = tiny_sd(folder);
  writeFileSync(join(folder, "config.toml"), "");
  writeFileSync(join(folder, "models.toml"), `[models.noise]
recipe = "sd-cpp"
checkpoints = { main = "${main}", taesd = "${taesd}" }
args = ["--steps", "1", "--cfg-scale", "1", "-W", "128", "-H", "64"]
`);
  server = await Server.launch({ modelsDir: folder }, "--config", join(folder, "config.toml"), "--no-hub-cache");
  client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: "none", maxRetries: 0 });
});
after(async () => {
  await server?.stop();
  if (folder) rmSync(folder, { recursive: true, force: true });
});

const bytes_of = (item) => Buffer.from(item.b64_json, "base64");
const generate = async (body) => (await client.images.generate({ model: "noise", prompt: "a horse", size: kSize, ...body })).data.map(bytes_of);
// The pixels of a png, still packed: the text that the program adds differs.
function pixels(png) {
  const packed = [];
  for (let at = 8; at < png.length; at += 12 + png.readUInt32BE(at))
    if (png.toString("latin1", at + 4, at + 8) === "IDAT") packed.push(png.subarray(at + 8, at + 8 + png.readUInt32BE(at)));
  return Buffer.concat(packed).toString("base64");
}
const refused = (asking) => asking.then(() => assert.fail("it was taken"), (error) => error);
const as_file = (bytes, name = "in.png") => toFile(bytes, name, { type: "image/png" });

test("the same seed makes the same image, and n images have the next seeds", { skip }, async () => {
  const [first] = await generate({ seed: 5 });
  const several = await generate({ seed: 4, n: 10 });
  assert.equal(several.length, 10, "the program makes at most 8 at once");
  assert.equal(pixels(several[1]), pixels(first));
  assert.equal(new Set(several.map(pixels)).size, 10);
});

test("without a seed, images of the same second differ", { skip }, async () => {
  const images = await generate({ n: 3 });
  for (let i = 0; i < 4; ++i) images.push(...(await generate({})));
  assert.equal(new Set(images.map(pixels)).size, 7);
});

test("fields of the program count, and so do its own defaults", { skip }, async () => {
  const unsized = await client.images.generate({ model: "noise", prompt: "a horse" });
  assert.equal(unsized.size, "128x64");
  const [image] = await generate({ seed: 3, steps: 2, cfg_scale: 1.5, sampler: "euler", scheduler: "karras", negative_prompt: 'rain "\n' });
  const text = image.toString("latin1");
  for (const part of ["Negative prompt: rain", "Steps: 2,", "CFG scale: 1.5", "Seed: 3,", "Sampler: euler karras"]) assert.ok(text.includes(part), `${part}: ${text.slice(0, 600)}`);
  const longest = await generate({ prompt: "x".repeat(8 * 1024), negative_prompt: '"'.repeat(2048) });
  assert.equal(longest.length, 1, "the longest fields, each character of which is two for the program");
});

test("formats, sizes and compression", { skip }, async () => {
  for (const [format, magic] of [["png", "89504e47"], ["jpeg", "ffd8ff"], ["webp", "52494646"]]) {
    const answer = await client.images.generate({ model: "noise", prompt: "a horse", size: "72x64", output_format: format, output_compression: 50 });
    assert.equal(answer.output_format, format);
    assert.equal(answer.size, "128x64", "sides are multiples of 64");
    assert.ok(bytes_of(answer.data[0]).toString("hex").startsWith(magic));
  }
});

test("edits and variations change the given image", { skip }, async () => {
  const [image] = await generate({ seed: 1 });
  const edit = async (body) => (await client.images.edit({ model: "noise", prompt: "a hat", seed: 2, steps: 5, image: await as_file(image), ...body })).data.map(bytes_of);
  const [little] = await edit({ strength: 0.2 });
  const [much] = await edit({ strength: 1 });
  assert.notEqual(pixels(little), pixels(much));
  const [again] = await edit({ strength: 0.2 });
  assert.equal(pixels(again), pixels(little));
  const [other] = await generate({ seed: 9 });
  const [of_other] = await edit({ strength: 0.2, image: await as_file(other) });
  assert.notEqual(pixels(of_other), pixels(little), "the image counts");
  const [first] = await edit({ strength: 0.2, image: [await as_file(image), await as_file(other)] });
  assert.equal(pixels(first), pixels(little), "the first of several images is the beginning");
  const varied = await client.images.createVariation({ model: "noise", image: await as_file(image), seed: 2, steps: 5, strength: 0.2, n: 2 });
  assert.equal(varied.data.length, 2);
  assert.equal(varied.size, kSize);
  assert.equal(pixels(bytes_of(varied.data[0])), pixels(little));
  const webp = await refused(client.images.edit({ model: "noise", prompt: "x", image: await as_file(image), output_format: "webp" }));
  assert.equal(webp.status, 400);
  assert.match(webp.message, /must be one of \[png, jpeg\]/);
});

test("a URL, and a stream of two images", { skip }, async () => {
  const { data } = await client.images.generate({ model: "noise", prompt: "a horse", size: kSize, response_format: "url", seed: 5 });
  const kept = Buffer.from(await (await fetch(data[0].url)).arrayBuffer());
  assert.equal(pixels(kept), pixels((await generate({ seed: 5 }))[0]));
  const events = [];
  for await (const event of server.events("/v1/images/generations", { model: "noise", prompt: "horses", size: kSize, n: 2, seed: 5, stream: true })) if (event !== ":") events.push(typeof event === "string" ? JSON.parse(event) : event);
  assert.deepEqual(events.map(({ type }) => type), ["image_generation.completed", "image_generation.completed"]);
  assert.equal(pixels(bytes_of(events[0])), pixels(kept));
});

const programs = () => readdirSync("/proc").filter((pid) => /^\d+$/.test(pid)).filter((pid) => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "latin1").includes(join(folder, "tiny-sd.safetensors"));
  } catch {
    return false;
  }
}).map(Number).filter((pid) => readFileSync(`/proc/${pid}/comm`, "latin1").trim() === "sd-server");

test("a client that leaves ends the work, and later requests are answered", { skip }, async () => {
  const [pid] = programs();
  const leaving = new AbortController();
  const asking = refused(client.images.generate({ model: "noise", prompt: "a long work", size: "512x512", steps: 100, n: 8 }, { signal: leaving.signal }));
  while (!(await server.get("/v1/health")).body.all_models_loaded.some((model) => model.model_name === "noise" && model.active_requests > 0)) await new Promise((done) => setImmediate(done));
  leaving.abort();
  await asking;
  while (runs(pid)) await new Promise((done) => setImmediate(done));
  assert.equal((await generate({ seed: 5 })).length, 1);
  assert.deepEqual(programs().length, 1);
});
