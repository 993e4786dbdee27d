// Forms with large files: they take no memory, they leave nothing behind, and who leaves takes the work along.
import assert from "node:assert/strict";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Server } from "../support/server.mjs";

const kPiece = Buffer.alloc(1 << 20);

let server;
before(async () => (server = await Server.start("--max-upload-bytes", "300MiB")));
after(() => server.stop());

const resident = () => Number(readFileSync(`/proc/${server.pid}/status`, "utf8").match(/VmRSS:\s+(\d+) kB/)[1]) * 1024;
const spools = () =>
  readdirSync(`/proc/${server.pid}/fd`).filter((fd) => {
    try {
      return readlinkSync(`/proc/${server.pid}/fd/${fd}`).startsWith(join(server.state, "uploads"));
    } catch {
      return false;
    }
  }).length;
const eventually = async (holds) => {
  while (!holds()) await new Promise((done) => setImmediate(done));
};

// A form whose file has so many pieces, and the field `model` behind it.
function upload(pieces, model, each = () => {}) {
  const head = `--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nID3\x04`;
  const tail = `\r\n--x\r\nContent-Disposition: form-data; name="model"\r\n\r\n${model}\r\n--x--\r\n`;
  const asking = request(`${server.url}/v1/audio/transcriptions`, { method: "POST", headers: { "content-type": "multipart/form-data; boundary=x" } });
  const answered = new Promise((resolve, reject) => {
    asking.on("error", reject);
    asking.on("response", async (response) => {
      let text = "";
      for await (const piece of response) text += piece;
      resolve({ status: response.statusCode, text });
    });
  });
  const send = async () => {
    asking.write(head);
    for (let i = 0; i < pieces; ++i) {
      if (!asking.write(kPiece)) await new Promise((drained) => asking.once("drain", drained));
      each(i);
    }
    asking.end(tail);
  };
  return { asking, answered, sent: send() };
}

test("200 MB take at most 16 MiB of the server's memory", async () => {
  const before = resident();
  let most = 0;
  const { answered } = upload(200, "no-such-model", () => (most = Math.max(most, resident() - before)));
  const answer = await answered;
  assert.equal(answer.status, 404, "the name of the model was found behind the file");
  // A sanitizer keeps freed memory and shadow memory of its own.
  if (!process.env.CORRAL_SANITIZE) assert.ok(most <= 16 << 20, `${most} bytes`);
  await eventually(() => spools() === 0);
});

test("more than a form may have is refused", async () => {
  const { answered } = upload(301, "no-such-model");
  const answer = await answered.catch((error) => ({ status: 0, text: String(error) }));
  assert.ok(answer.status === 413 || answer.status === 0, `${answer.status} ${answer.text}`);
  await eventually(() => spools() === 0);
});

test("who leaves in the middle leaves nothing behind", async () => {
  const { asking, answered } = upload(1e9, "no-such-model");
  answered.catch(() => {});
  await eventually(() => spools() === 1);
  asking.destroy();
  await eventually(() => spools() === 0);
  assert.deepEqual(readdirSync(join(server.state, "uploads")), []);
});
