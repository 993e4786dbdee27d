// Pictures in chats: the same text as llama-server's with the same model and projector.
import assert from "node:assert/strict";
import { join, relative } from "node:path";
import { describe, test } from "node:test";
import { deflateSync } from "node:zlib";
import { withVision } from "../support/mesh.mjs";
import { models, Reference, Server } from "../support/server.mjs";

// A PNG file whose pixels follow from `salt`.
function picture(width, height, salt = 1) {
  const rows = Buffer.alloc(height * (1 + 3 * width));
  for (let y = 0; y < height; ++y) {
    for (let x = 0; x < width; ++x) for (let c = 0; c < 3; ++c) rows[y * (1 + 3 * width) + 1 + 3 * x + c] = (x * 7 + y * 13 * (c + 1)) / 4 + salt * 50 * (c + (x >> 4) + (y >> 4));
  }
  const table = Array.from({ length: 256 }, (_, n) => {
    for (let k = 0; k < 8; ++k) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1;
    return n;
  });
  const chunk = (type, data) => {
    const body = Buffer.concat([Buffer.from(type), data]), head = Buffer.alloc(4), tail = Buffer.alloc(4);
    head.writeUInt32BE(data.length);
    tail.writeUInt32BE((body.reduce((crc, byte) => table[(crc ^ byte) & 255] ^ (crc >>> 8), -1) ^ -1) >>> 0);
    return Buffer.concat([head, body, tail]);
  };
  const sizes = Buffer.alloc(13);
  sizes.writeUInt32BE(width);
  sizes.writeUInt32BE(height, 4);
  sizes.set([8, 2], 8);
  return Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), chunk("IHDR", sizes), chunk("IDAT", deflateSync(rows)), chunk("IEND", Buffer.alloc(0))]);
}
const image = (file) => ({ type: "image_url", image_url: { url: `data:image/png;base64,${file.toString("base64")}` } });
const text = (words) => ({ type: "text", text: words });
const request = (model, content) => ({ model, messages: [{ role: "system", content: "You are terse." }, { role: "user", content }], temperature: 0, max_tokens: 24 });

const contents = {
  "before the text": [image(picture(64, 64)), text("What is it?")],
  "behind the text": [text("What is it?"), image(picture(100, 40))],
  "several, with text between them": [text("a"), image(picture(64, 64, 1)), text("b"), image(picture(20, 200, 2)), text("c")],
  "side by side": [image(picture(64, 64, 3)), image(picture(64, 64, 4)), text("Compare them.")],
  "the same twice": [image(picture(64, 64, 5)), text("and"), image(picture(64, 64, 5))],
};

for (const [ours, theirs] of [["tiny-vision", "tiny-llama"], ["tiny-siglip", "tiny-gemma3"], ["tiny-mrope", "tiny-qwen2vl"]]) {
  test(`${ours} says what llama-server says`, () => withVision(async (folder) => {
    const projector = join(folder, `mmproj-${ours}.gguf`);
    const [server, reference] = await Promise.all([
      Server.launch({ modelsDir: folder }), Reference.start(relative(models, join(folder, `${ours}.gguf`)), "--jinja", "--mmproj", projector)]);
    try {
      for (const [what, content] of Object.entries(contents)) {
        const [mine, other] = [await server.post("/v1/chat/completions", request(ours, content)), await reference.post("/v1/chat/completions", request(ours, content))];
        assert.equal(mine.status, 200, JSON.stringify(mine.body));
        assert.equal(other.status, 200, JSON.stringify(other.body));
        assert.equal(mine.body.choices[0].message.content, other.body.choices[0].message.content, `${theirs}: ${what}`);
        assert.equal(mine.body.usage.prompt_tokens, other.body.usage.prompt_tokens, what);
      }
    } finally {
      await Promise.all([server.stop(), reference.stop()]);
    }
  }));
}

describe("refusals name the part", () => {
  test("and the limit", () => withVision(async (folder) => {
    const server = await Server.launch({ modelsDir: folder });
    try {
      const huge = picture(8, 8);
      huge.writeUInt32BE(50_000, 16);
      huge.writeUInt32BE(50_000, 20);
      const refused = await server.post("/v1/chat/completions", request("tiny-vision", [image(huge)]));
      assert.equal(refused.status, 400, JSON.stringify(refused.body));
      assert.match(refused.body.error.message, /a 50000 x 50000 picture has 2500000000 pixels: at most 33177600 are allowed$/);
      const truncated = await server.post("/v1/chat/completions", request("tiny-vision", [image(picture(64, 64).subarray(0, 60))]));
      assert.equal(truncated.status, 400);
      assert.match(truncated.body.error.message, /the PNG file is damaged: it ends before its picture does$/);
    } finally {
      await server.stop();
    }
  }));
});
