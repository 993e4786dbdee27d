// Simulates sd-server of stable-diffusion.cpp, as its source at 97d2990 answers:
// parameters in a tag of the prompt, one request after another, and no regard for clients that leave. Its images are
// the head of a file with a text of what it got: PNG's tEXt, JPEG's comment, or WebP's XMP.
//   node fake-sd-server.mjs BEHAVIOUR.json WORDS…
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { Refused, asked_by } from "./fake-sd-requests.mjs";

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
  head.set([8, 2], 8);
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([signature, chunk("IHDR", head), chunk("tEXt", Buffer.from(text)), chunk("IEND", Buffer.alloc(0))]);
}
function jpeg(width, height, text) {
  const comment = Buffer.from([0xff, 0xd8, 0xff, 0xfe, 0, 0]);
  comment.writeUInt16BE(2 + Buffer.byteLength(text), 4);
  const frame = Buffer.from([0xff, 0xc0, 0, 11, 8, 0, 0, 0, 0, 3, 0, 0, 0, 0xff, 0xd9]);
  frame.writeUInt16BE(height, 5);
  frame.writeUInt16BE(width, 7);
  return Buffer.concat([comment, Buffer.from(text), frame]);
}
function webp(width, height, text) {
  const head = Buffer.alloc(30);
  head.write("RIFF", 0);
  head.write("WEBPVP8X", 8);
  head[16] = 10;
  head.writeUIntLE(width - 1, 24, 3);
  head.writeUIntLE(height - 1, 27, 3);
  const xmp = Buffer.from(`XMP     ${text}`);
  xmp.writeUInt32LE(Buffer.byteLength(text), 4);
  head.writeUInt32LE(22 + xmp.length, 4);
  return Buffer.concat([head, xmp]);
}
const kFormats = { png, jpeg, webp };

let last = Promise.resolve();
function generated(asked) {
  const making = last.then(async () => {
    log("began");
    process.stderr.write("  |==>      | 1/4 - 1.00s/it\n");
    const images = [];
    const { width, height, format, n, ...got } = asked;
    for (let i = 0; i < n; ++i) {
      while (existsSync(behaviour().hold)) await sleep(5);
      if (behaviour().pause) await sleep(behaviour().pause);
      const text = JSON.stringify({ ...got, seed: asked.seed + i, words });
      images.push({ b64_json: kFormats[format](width, height, text).toString("base64") });
    }
    log("finished");
    return images.slice(0, behaviour().at_most ?? images.length);
  });
  last = making.catch(() => {});
  return making;
}

async function answer(request, response) {
  const send = (status, what) => {
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify(what));
  };
  if (request.method === "GET") return response.end("Stable Diffusion Server is running");
  const pieces = [];
  for await (const piece of request) pieces.push(piece);
  try {
    const asked = await asked_by(request, Buffer.concat(pieces), words);
    if (behaviour().fails) return send(500, { error: behaviour().fails });
    send(200, { created: 1, data: await generated(asked), output_format: asked.format });
  } catch (error) {
    if (error instanceof Refused) return send(400, { error: error.message });
    send(500, { error: "server_error", message: error.message });
  }
}

log("started");
createServer((request, response) => answer(request, response).catch(() => response.destroy())).listen(Number(value("--listen-port")), "127.0.0.1");
