// Servers that close connections when they like, also while a request is on its way: each request is answered.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import { external } from "../support/fake-servers.mjs";

const kAnswer = '{"id":"x","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}';
const kEvents = ['{"choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":null}]}', '{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}', "[DONE]"];

const chunk = (text) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
function answerTo(request) {
  if (!request.includes('"stream":true')) return `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${kAnswer.length}\r\n\r\n${kAnswer}`;
  const events = kEvents.map((event) => chunk(`data: ${event}\n\n`)).join("");
  return `HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n${events}${chunk("")}`;
}

// `ended(socket)` is called for the request behind the first `answered` ones of a connection, `done(socket)` behind each answer.
async function running({ answered = Infinity, ended, done = () => {} }) {
  const seen = [];
  const sockets = new Set();
  const server = createServer((socket) => {
    sockets.add(socket);
    let text = "", count = 0;
    socket.on("error", () => {});
    socket.on("data", (bytes) => {
      text += bytes;
      const head = text.indexOf("\r\n\r\n");
      const length = Number(text.match(/content-length: (\d+)/i)?.[1] ?? 0);
      if (head < 0 || text.length < head + 4 + length) return;
      const request = text.slice(0, head + 4 + length);
      text = text.slice(head + 4 + length);
      if (request.startsWith("POST")) seen.push(request);
      if (++count > answered) return ended(socket);
      socket.write(answerTo(request), () => done(socket));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { url: `http://127.0.0.1:${server.address().port}`, seen, stop: () => (server.close(), sockets.forEach((socket) => socket.destroy())) };
}

const kServers = {
  "closes behind each answer": { done: (socket) => socket.end() },
  "resets behind each answer": { done: (socket) => socket.resetAndDestroy() },
  "closes instead of a second answer": { answered: 1, ended: (socket) => socket.end() },
  "resets instead of a second answer": { answered: 1, ended: (socket) => socket.resetAndDestroy() },
  "closes instead of a fourth answer": { answered: 3, ended: (socket) => socket.destroy() },
};

for (const [what, how] of Object.entries(kServers)) {
  external(`a server that ${what} answers every request`, async (externals) => {
    const other = await running(how);
    externals.models(`[models.far]\nrecipe = "lmstudio"\ncheckpoint = "x"\nurl = "${other.url}"\n`);
    const server = await externals.serve();
    try {
      for (let i = 0; i < 20; ++i) {
        const stream = i % 2 === 1;
        const response = await server.fetch("/v1/chat/completions", { method: "POST", body: JSON.stringify({ model: "far", stream, messages: [{ role: "user", content: `hi ${i}` }] }) });
        const text = await response.text();
        assert.equal(response.status, 200, `${i}: ${text}`);
        assert.ok(stream ? text.includes("data: [DONE]") && !text.includes('"error"') : JSON.parse(text).choices[0].message.content === "hi", `${i}: ${text}`);
      }
      for (let i = 0; i < 20; ++i) {
        const times = other.seen.filter((request) => request.includes(`"hi ${i}"`)).length;
        assert.ok(times === 1 || times === 2, `${i} came ${times} times`);
      }
    } finally {
      other.stop();
    }
  });
}
