// A client of WebSockets whose handshake has any headers. Messages are texts; each of the server's comes in one frame.
import { randomBytes } from "node:crypto";
import { request } from "node:http";

const kText = 1, kClose = 8, kPing = 9, kPong = 10; // prettier-ignore

// A frame of a client: masked, as the standard demands.
export function frame(opcode, payload) {
  const bytes = Buffer.from(payload);
  const mask = randomBytes(4);
  let head;
  if (bytes.length < 126) {
    head = Buffer.from([0x80 | opcode, 0x80 | bytes.length]);
  } else if (bytes.length < 65_536) {
    head = Buffer.alloc(4);
    head.set([0x80 | opcode, 0xfe]);
    head.writeUInt16BE(bytes.length, 2);
  } else {
    head = Buffer.alloc(10);
    head.set([0x80 | opcode, 0xff]);
    head.writeBigUInt64BE(BigInt(bytes.length), 2);
  }
  return Buffer.concat([head, mask, bytes.map((byte, at) => byte ^ mask[at % 4])]);
}

export class WebSocketClient {
  // The handshake is answered with 101; another answer is an error with its `status`.
  static open(url, headers = {}) {
    const key = randomBytes(16).toString("base64");
    const asked = { connection: "Upgrade", upgrade: "websocket", "sec-websocket-version": "13", "sec-websocket-key": key, ...headers };
    return new Promise((resolve, reject) => {
      const asking = request(url, { headers: asked });
      asking.on("upgrade", (response, socket, first) => resolve(new WebSocketClient(socket, first)));
      asking.on("response", (response) => {
        response.resume();
        reject(Object.assign(new Error(`the handshake got ${response.statusCode}`), { status: response.statusCode }));
      });
      asking.on("error", reject);
      asking.end();
    });
  }

  constructor(socket, first) {
    this.socket = socket;
    this.bytes = Buffer.alloc(0);
    this.messages = [];
    this.closeCode = null;
    this.pongs = [];
    this.ended = false;
    this.wake = () => {};
    socket.on("data", (bytes) => this.#feed(bytes));
    socket.on("error", () => this.#end());
    socket.on("close", () => this.#end());
    if (first.length > 0) this.#feed(first);
  }

  send(message) {
    this.socket.write(frame(kText, typeof message === "string" ? message : JSON.stringify(message)));
  }
  ping(payload) {
    this.socket.write(frame(kPing, payload));
  }
  // The next message as JSON; null: the connection has ended.
  async next() {
    await this.#until(() => this.messages.length > 0);
    return this.messages.length > 0 ? JSON.parse(this.messages.shift()) : null;
  }
  async pong() {
    await this.#until(() => this.pongs.length > 0);
    return this.pongs.shift();
  }
  // Says good-bye and waits for the end.
  async close() {
    this.socket.write(frame(kClose, [0x03, 0xe8]));
    await this.#until(() => false);
    return this.closeCode;
  }
  // Leaves without a word.
  leave() {
    this.socket.destroy();
  }
  // Waits until the server has ended it.
  async end() {
    await this.#until(() => false);
    return this.closeCode;
  }

  async #until(done) {
    while (!done() && !this.ended) await new Promise((resolve) => (this.wake = resolve));
  }
  #end() {
    this.ended = true;
    this.wake();
  }
  #feed(more) {
    this.bytes = Buffer.concat([this.bytes, more]);
    for (;;) {
      if (this.bytes.length < 2) return;
      let begin = 2;
      let size = this.bytes[1] & 0x7f;
      if (size === 126) begin = 4;
      if (size === 127) begin = 10;
      if (this.bytes.length < begin) return;
      if (size === 126) size = this.bytes.readUInt16BE(2);
      if (size === 127) size = Number(this.bytes.readBigUInt64BE(2));
      if (this.bytes.length < begin + size) return;
      this.#frame(this.bytes[0] & 0x0f, this.bytes.subarray(begin, begin + size));
      this.bytes = this.bytes.subarray(begin + size);
    }
  }
  #frame(opcode, payload) {
    if (opcode === kText) this.messages.push(payload.toString());
    if (opcode === kPong) this.pongs.push(payload.toString());
    if (opcode === kPing) this.socket.write(frame(kPong, payload));
    if (opcode === kClose) {
      this.closeCode = payload.length >= 2 ? payload.readUInt16BE(0) : 1005;
      this.socket.end();
    }
    this.wake();
  }
}
