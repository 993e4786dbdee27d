// Bodies with a Content-Encoding: decoded for every path, within the limits of a body.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { request } from "node:http";
import { after, before, test } from "node:test";
import { deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import { Server } from "../support/server.mjs";

const model = "tiny-llama";
const messages = [{ role: "user", content: "hi" }];

let server;
before(async () => {
  server = await Server.start("--max-upload-bytes", "64MiB");
  assert.equal((await server.chat(model, "hi")).status, 200);
});
after(() => server.stop());

// A frame of RFC 8878 with one block that isn't compressed, or with so many blocks of 128 KiB of zeros.
const zstd = (bytes) => Buffer.concat([Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0xa0]), u32(bytes.length), u24((bytes.length << 3) | 1), bytes]);
const zstdZeros = (blocks) => Buffer.concat([Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x38]), Buffer.concat(Array(blocks).fill(Buffer.concat([u24((131072 << 3) | 2), Buffer.from([0])]))), u24(1)]);
const u32 = (n) => Buffer.from([n & 255, (n >> 8) & 255, (n >> 16) & 255, n >>> 24]);
const u24 = (n) => Buffer.from([n & 255, (n >> 8) & 255, (n >> 16) & 255]);

const codings = {
  gzip: gzipSync,
  "x-gzip": gzipSync,
  deflate: deflateSync,
  "deflate without its header": deflateRawSync,
  zstd,
  identity: (bytes) => bytes,
  "gzip, deflate": (bytes) => deflateSync(gzipSync(bytes)),
  "deflate, identity, zstd": (bytes) => zstd(deflateSync(bytes)),
};

// Not by fetch, which changes such requests.
function send(path, body, headers) {
  return server.watched(
    new Promise((resolve, reject) => {
      const asking = request(server.url + path, { method: "POST", headers: { "content-type": "application/json", ...headers } }, async (response) => {
        let text = "";
        for await (const piece of response) text += piece;
        resolve({ status: response.statusCode, headers: response.headers, text, body: text.startsWith("{") ? JSON.parse(text) : null });
      });
      asking.on("error", reject);
      asking.end(body);
    }),
  );
}
const post = (path, value, coding, more = {}) => {
  const bytes = Buffer.from(JSON.stringify(value));
  return send(path, coding in codings ? codings[coding](bytes) : bytes, { "content-encoding": coding.split(" without")[0], ...more });
};

const paths = {
  "/v1/chat/completions": { model, messages, max_tokens: 4 },
  "/v1/completions": { model, prompt: "hi", max_tokens: 4 },
  "/v1/responses": { model, input: "hi", max_output_tokens: 16, store: false },
  "/v1/messages": { model, messages, max_tokens: 4 },
  "/api/chat": { model, messages, stream: false, options: { num_predict: 4 } },
  "/v1/tokenize": { model, content: "hi" },
};

for (const coding of Object.keys(codings)) {
  test(`${coding}: every path reads it`, async () => {
    for (const [path, body] of Object.entries(paths)) {
      const answer = await post(path, body, coding);
      assert.equal(answer.status, 200, `${path}: ${answer.text}`);
    }
  });
}

test("a streamed answer to an encoded body", async () => {
  const { status, text } = await post("/v1/chat/completions", { ...paths["/v1/chat/completions"], stream: true }, "gzip");
  assert.equal(status, 200);
  assert.match(text, /data: \[DONE\]/);
});

test("a large body: 1 MiB that is a few KiB", async () => {
  const content = "word ".repeat(200_000);
  const plain = await server.post("/v1/tokenize", { model, content });
  const encoded = await post("/v1/tokenize", { model, content }, "gzip");
  assert.equal(encoded.status, plain.status);
  assert.deepEqual(encoded.body, plain.body);
});

const kOthers = "is not supported; send the body with gzip, deflate or zstd, or without an encoding";
test("others get 415 in the form of the path, with those that are supported", async () => {
  const forms = {
    "/v1/chat/completions": (body) => [body.error.message, body.error.code, body.error.param],
    "/v1/responses": (body) => [body.error.message, body.error.code, body.error.param],
    "/v1/messages": (body) => [body.error.message, body.type, body.error.type],
    "/api/chat": (body) => [body.error],
  };
  const rest = {
    "/v1/messages": ["error", "invalid_request_error"],
    "/api/chat": [],
  };
  for (const [path, told] of Object.entries(forms)) {
    for (const [coding, named] of [["br", "br"], ["gzip, compress", "compress"], ["no such", "no such"]]) {
      const answer = await post(path, paths[path], coding);
      assert.equal(answer.status, 415, answer.text);
      assert.equal(answer.headers["accept-encoding"], "gzip, deflate, zstd");
      assert.deepEqual(told(answer.body), [`the Content-Encoding '${named}' ${kOthers}`, ...(rest[path] ?? ["unsupported_content_encoding", "Content-Encoding"])]);
    }
  }
});

test("a body that isn't what it says is a 400", async () => {
  const answer = await send("/v1/chat/completions", JSON.stringify(paths["/v1/chat/completions"]), { "content-encoding": "gzip" });
  assert.equal(answer.status, 400);
  assert.deepEqual([answer.body.error.code, answer.body.error.message], ["invalid_content_encoding", "the body is not the gzip that its Content-Encoding names: incorrect header check"]);
  const cut = await send("/api/chat", gzipSync(JSON.stringify(paths["/api/chat"])).subarray(0, 30), { "content-encoding": "gzip" });
  assert.equal(cut.status, 400);
  assert.deepEqual(cut.body, { error: "the body ended before the end of its encoded data: send all of it" });
});

const resident = () => Number(readFileSync(`/proc/${server.pid}/status`, "utf8").match(/VmRSS:\s+(\d+)/)[1]) * 1024;
const zeros = Buffer.concat(Array(16).fill(gzipSync(Buffer.alloc(64 << 20))));  // 1 GiB
const bombs = {
  "gzip of 1 GiB": [zeros, "gzip"],
  "gzip in gzip": [gzipSync(zeros), "gzip, gzip"],
  "zstd of 1 GiB": [zstdZeros(8192), "zstd"],
  "zstd in gzip in gzip": [gzipSync(gzipSync(zstdZeros(8192))), "zstd, gzip, gzip"],
};
for (const [what, [bytes, coding]] of Object.entries(bombs)) {
  test(`a bomb: ${what} costs what its limit says`, async () => {
    const before = resident();
    const bombing = Promise.all(Array.from({ length: 2 }, () => send("/v1/chat/completions", bytes, { "content-encoding": coding })));
    assert.equal((await server.chat(model, "hello")).status, 200);
    for (const answer of await bombing) {
      assert.equal(answer.status, 413, answer.text);
      assert.equal(answer.body.error.message, "the decoded body has more than 33554432 bytes; send less, or raise max_body_bytes");
    }
    // A sanitizer keeps freed memory and shadow memory of its own.
    if (!process.env.CORRAL_SANITIZE) assert.ok(resident() - before < 300 << 20);
  });
}

test("forms are decoded too, within their own limit", async () => {
  const form = (size) => Buffer.from(`--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n${"\0".repeat(size)}\r\n--x\r\nContent-Disposition: form-data; name="model"\r\n\r\nno-such-model\r\n--x--\r\n`);
  const headers = { "content-type": "multipart/form-data; boundary=x", "content-encoding": "gzip" };
  const found = await send("/v1/audio/transcriptions", gzipSync(form(40 << 20)), headers);
  assert.equal(found.status, 404, found.text);
  assert.match(found.body.error.message, /no-such-model/);
  const large = await send("/v1/audio/transcriptions", gzipSync(form(65 << 20)), headers);
  assert.equal(large.status, 413, large.text);
  assert.equal(large.body.error.message, "the decoded body has more than 67108864 bytes; send less, or raise max_upload_bytes");
});

// Forms as RFC 2046 allows them.
test("a form with a preamble, an empty line first, or blanks behind its boundaries", async () => {
  const parts = (blanks) => `--x${blanks}\r\nContent-Disposition: form-data;\r\n name="file"; filename*=utf-8''s%C3%BC.wav\r\n\r\nID3\x04\r\n--x${blanks}\r\nContent-Disposition: form-data; name="model"\r\n\r\nno-such-model\r\n--x--${blanks}\r\nepilogue`;
  for (const form of [`\r\n${parts("")}`, `This is a form.\r\n${parts("")}`, parts(" \t ")]) {
    const answer = await send("/v1/audio/transcriptions", form, { "content-type": "multipart/form-data; boundary=x" });
    assert.equal(answer.status, 404, answer.text);
    assert.match(answer.body.error.message, /no-such-model/);
  }
});
