// A program that plays sd-server of stable-diffusion.cpp, as its examples/server answers: parameters in a tag of the
// prompt, one request after another, and no regard for clients that leave. Its images are a png's head with a text of
// what it got.
//   node fake-sd-server.mjs BEHAVIOUR.json WORDS…
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";

const [file, ...words] = process.argv.slice(2);
const behaviour = () => JSON.parse(readFileSync(file, "utf8"));
const value = (name) => words[words.indexOf(name) + 1];
const log = (line) => appendFileSync(behaviour().log, `${line} ${process.pid}\n`);
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

function chunk(type, data) {
  const bytes = Buffer.alloc(12 + data.length);
  bytes.writeUInt32BE(data.length, 0);
  bytes.write(type, 4);
  data.copy(bytes, 8);
  return bytes;
}
function png(width, height, text) {
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([signature, chunk("IHDR", head), chunk("tEXt", Buffer.from(text)), chunk("IEND", Buffer.alloc(0))]);
}

// The parameters of the first tag; all tags are removed.
function taken(prompt) {
  const tag = /<sd_cpp_extra_args>(.*?)<\/sd_cpp_extra_args>/;
  const found = prompt.match(tag);
  return { prompt: prompt.replaceAll(new RegExp(tag, "g"), ""), extra: found ? JSON.parse(found[1]) : {} };
}

let last = Promise.resolve();
function generated(asked) {
  const making = last.then(async () => {
    log("began");
    process.stderr.write("  |==>      | 1/4 - 1.00s/it\n");
    const images = [];
    for (let i = 0; i < asked.n; ++i) {
      while (existsSync(behaviour().hold)) await sleep(5);
      const [width, height] = (asked.size || "512x512").split("x").map(Number);
      const seed = (asked.extra.seed ?? 42) + i;
      images.push({ b64_json: png(width, height, JSON.stringify({ ...asked, seed, words })).toString("base64") });
    }
    log("finished");
    return images.slice(0, behaviour().at_most ?? images.length);
  });
  last = making.catch(() => {});
  return making;
}

async function asked_by(request, body) {
  if (request.url === "/v1/images/generations") {
    const json = JSON.parse(body.toString());
    return { path: request.url, ...json, n: json.n ?? 1, ...taken(json.prompt ?? ""), files: {} };
  }
  const form = await new Response(body, { headers: { "content-type": request.headers["content-type"] } }).formData();
  const fields = {};
  const files = {};
  for (const [name, value] of form) {
    if (typeof value === "string") fields[name] = value;
    else files[name] = (await value.arrayBuffer()).byteLength;
  }
  return { path: request.url, ...fields, n: Number(fields.n ?? 1), ...taken(fields.prompt ?? ""), files };
}

async function answer(request, response) {
  const send = (status, what) => {
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify(what));
  };
  if (request.method === "GET") return response.end("Stable Diffusion Server is running");
  const pieces = [];
  for await (const piece of request) pieces.push(piece);
  const asked = await asked_by(request, Buffer.concat(pieces));
  if (behaviour().fails) return send(500, { error: behaviour().fails });
  send(200, { created: 1, data: await generated(asked), output_format: asked.output_format ?? "png" });
}

log("started");
createServer((request, response) => answer(request, response).catch(() => response.destroy())).listen(Number(value("--listen-port")), "127.0.0.1");
