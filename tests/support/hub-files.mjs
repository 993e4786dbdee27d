// Answers with the bytes of files, whole or in ranges, right or wrong on command: the lower half of hub.mjs.
//
// Troubles, as { kind, … } or by their kind alone:
//   cut, stall   part of the answer (`at`: a share, 0.5), then the end of the connection, or silence until the client goes
//   reset        the same as cut, with a reset
//   slow         all of it, in `pieces` (20) with `pause` ms (5) between
//   whole        200 with all of the file for a range
//   wrong-bytes  a byte (`at`) is another one          wrong-size  says that the file has 7 bytes more
//   wrong-range  206 of a range that begins later      short       206 of the first part of the range, as is allowed
//   endless      the range, then bytes that nobody asked for, until the client goes
//   page         200 with a page of HTML, as portals of hotels give
//   status       `status` (500), with `headers`: 403 for an expired address, 416, 429, 503, …
//   hang-up      the end of the connection without an answer
//   garbage      bytes that are no answer
//   loop         a redirect to itself
import { createHash } from "node:crypto";
import { closeSync, createReadStream, fstatSync, openSync, readSync } from "node:fs";
import { randomFrom } from "./random.mjs";

// Bytes that are the same for the same seed.
export function madeUp(size, seed) {
  const bytes = Buffer.alloc(size);
  let block = createHash("sha512").update(`made up ${seed}`).digest();
  for (let at = 0; at < size; at += block.length) {
    block.copy(bytes, at);
    if ((at & 0xffff) === 0) block = createHash("sha512").update(block).digest();
    else block.writeUInt32LE((block.readUInt32LE(at & 60) + 0x9e3779b9) >>> 0, at & 60);
  }
  return bytes;
}

const kPiece = 1 << 20;

// What a file holds: a buffer, or a path on this machine (read once for its hashes, then at each request).
export class Content {
  constructor(source) {
    this.source = typeof source === "string" && !source.startsWith("/") ? Buffer.from(source) : source;
    this.sha256 = createHash("sha256");
    const file = Buffer.isBuffer(this.source) ? null : openSync(this.source);
    this.size = file === null ? this.source.length : fstatSync(file).size;
    this.git = createHash("sha1").update(`blob ${this.size}\0`);
    const feed = (bytes) => [this.sha256, this.git].forEach((hash) => hash.update(bytes));
    if (file === null) {
      feed(this.source);
    } else {
      const piece = Buffer.alloc(kPiece);
      for (let got; (got = readSync(file, piece)) > 0;) feed(piece.subarray(0, got));
      closeSync(file);
    }
    this.sha256 = this.sha256.digest("hex");
    this.git = this.git.digest("hex");
  }

  async *read(begin, end) {
    if (begin >= end) return;
    if (!Buffer.isBuffer(this.source)) {
      yield* createReadStream(this.source, { start: begin, end: end - 1, highWaterMark: kPiece });
      return;
    }
    for (let at = begin; at < end; at += kPiece) yield this.source.subarray(at, Math.min(end, at + kPiece));
  }
}

const pause = (millis) => new Promise((resolve) => setTimeout(resolve, millis));

// Resolves when the client has hung up.
function goneOf(response) {
  if (response.socket === null || response.socket.destroyed) return Promise.resolve();
  return new Promise((resolve) => response.once("close", resolve));
}

// Writes the pieces; false if the client hung up before the end. `onBytes` is told how many went.
async function pour(response, pieces, gone, onBytes) {
  for await (const piece of pieces) {
    if (response.destroyed) return false;
    onBytes(piece.length);
    if (!response.write(piece)) await Promise.race([new Promise((resolve) => response.once("drain", resolve)), gone]);
  }
  return !response.destroyed;
}

async function* flipped(pieces, at) {
  let passed = 0;
  for await (const piece of pieces) {
    const here = at - passed;
    passed += piece.length;
    if (here < 0 || here >= piece.length) {
      yield piece;
      continue;
    }
    const copy = Buffer.from(piece);
    copy[here] ^= 1;
    yield copy;
  }
}

async function* dripped(pieces, count, length, wait) {
  const size = Math.max(1, Math.ceil(length / count));
  for await (const piece of pieces) {
    for (let at = 0; at < piece.length; at += size) {
      yield piece.subarray(at, at + size);
      await pause(wait);
    }
  }
}

function rangeOf(field, size) {
  const found = /^bytes=(\d+)-(\d*)$/.exec(field ?? "");
  if (!found) return null;
  return { begin: Number(found[1]), end: found[2] === "" ? size : Math.min(size, Number(found[2]) + 1) };
}

const kPage = "<!DOCTYPE html><title>Welcome</title><p>Please accept the conditions of this network.";

// What needs no content. True if it was answered.
export function spoil(trouble, request, response) {
  switch (trouble?.kind) {
    case "hang-up":
      response.socket?.destroy();
      return true;
    case "garbage":
      response.socket?.end("\x16\x03\x01 this is no HTTP\r\n\r\n");
      return true;
    case "loop":
      response.writeHead(302, { location: request.url, "content-length": 0 }).end();
      return true;
    case "page":
      response.writeHead(200, { "content-type": "text/html", "content-length": kPage.length }).end(kPage);
      return true;
    case "status": {
      const body = trouble.body ?? "as you wish";
      response.writeHead(trouble.status ?? 500, { "content-length": body.length, ...trouble.headers }).end(body);
      return true;
    }
    default:
      return false;
  }
}

// Answers a GET or HEAD for the content. `fields`: of the answer, beside those of HTTP. `onBytes`: of the body that went.
export async function sendContent(content, request, response, { trouble = null, fields = {}, onBytes = () => {} } = {}) {
  if (trouble?.kind === "status" && trouble.status === 416)
    trouble = { ...trouble, headers: { "content-range": `bytes */${content.size}`, ...trouble.headers } };
  if (spoil(trouble, request, response)) return;
  const kind = trouble?.kind;
  const asked = kind === "whole" ? null : rangeOf(request.headers.range, content.size);
  if (asked && (asked.begin >= content.size || asked.end <= asked.begin)) {
    response.writeHead(416, { "content-range": `bytes */${content.size}`, "content-length": 0 }).end();
    return;
  }
  let { begin, end } = asked ?? { begin: 0, end: content.size };
  if (kind === "wrong-range" && asked) begin = Math.min(begin + 1, end - 1);
  if (kind === "short" && asked) end = begin + Math.max(1, (end - begin) >> 1);
  const length = end - begin;
  const total = content.size + (kind === "wrong-size" ? 7 : 0);
  const head = { "accept-ranges": "bytes", "content-type": "application/octet-stream", ...fields };
  head["content-length"] = length + (kind === "endless" ? 1 << 30 : 0) + (kind === "wrong-size" && !asked ? 7 : 0);
  if (asked) head["content-range"] = `bytes ${begin}-${end - 1}/${total}`;
  response.writeHead(asked ? 206 : 200, head);
  if (request.method === "HEAD") return void response.end();

  const broken = kind === "cut" || kind === "stall" || kind === "reset";
  const share = trouble?.at ?? 0.5;
  const last = broken ? begin + Math.floor(length * share) : end;
  let pieces = content.read(begin, last);
  if (kind === "wrong-bytes") pieces = flipped(pieces, Math.min(length - 1, Math.floor(length * share)));
  if (kind === "slow") pieces = dripped(pieces, trouble.pieces ?? 20, length, trouble.pause ?? 5);
  response.flushHeaders();
  const gone = goneOf(response);
  if (!(await pour(response, pieces, gone, onBytes))) return;
  if (kind === "cut" || (kind === "wrong-size" && !asked)) {
    response.socket?.end();
  } else if (kind === "reset") {
    response.socket?.resetAndDestroy();
  } else if (kind === "stall") {
    await gone;
  } else if (kind === "endless") {
    const surplus = Buffer.alloc(kPiece, "x");
    while (!response.destroyed && (await pour(response, [surplus], gone, () => {})));
  } else {
    response.end();
  }
}

// Troubles by seed, for Hub.trouble: a `share` of all answers has one. `kinds` may leave some out.
export function randomTroubles(seed, { share = 0.5, kinds = kKinds } = {}) {
  const random = randomFrom(seed);
  return () => {
    if (!random.chance(share)) return null;
    const kind = random.pick(kinds);
    const trouble = { kind, at: random.below(1000) / 1000, pause: 1 };
    if (kind === "status") trouble.status = random.pick([400, 403, 404, 410, 416, 429, 500, 502, 503]);
    if (trouble.status === 429) trouble.headers = { "retry-after": "0" };
    return trouble;
  };
}
export const kKinds = [
  "cut", "cut", "cut", "reset", "slow", "whole", "wrong-size", "wrong-range", "short", "endless", "page", "status", "status", "hang-up", "garbage", "loop",
];
