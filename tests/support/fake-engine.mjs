#!/usr/bin/env node
// A played engine: speaks to the router as `corral engine` does (src/backends/engine_protocol.h) and does what the test
// tells it over a socket of its own, see fake-engines.mjs. By itself it only answers GET /health and ends with its
// router.
import { createServer } from "node:http";
import { connect, Socket } from "node:net";
import { createInterface } from "node:readline";

const socketPath = process.argv[process.argv.indexOf("--socket") + 1];
const control = new Socket({ fd: 3, readable: true, writable: true });
const director = connect(process.env.CORRAL_ENGINE_DIRECTOR);
const tell = (event) => director.write(JSON.stringify(event) + "\n");
const say = (line) => control.write(JSON.stringify(line) + "\n");
const leave = () => process.exit(0);
for (const channel of [control, director]) channel.on("close", leave).on("error", leave);

const requests = new Map();
const kept = [];
let lastRequest = 0;
let deaf = false;

const server = createServer((request, response) => {
  if (deaf) return;
  if (request.url === "/health") return response.end('{"status":"ok"}');
  const id = ++lastRequest;
  let body = "";
  request.on("data", (bytes) => (body += bytes));
  request.on("end", () => {
    requests.set(id, response);
    tell({ event: "request", id, path: request.url, body: JSON.parse(body) });
  });
  response.on("close", () => response.writableEnded || tell({ event: "dropped", id }));
});

const kDeeds = {
  progress: ({ fraction }) => say({ progress: fraction }),
  ready: ({ context_window }) => server.listen(socketPath, () => say({ ready: { context_window } })),
  fail: ({ cause, message, memory }) => say({ failed: { cause, message, memory } }),
  report: ({ usage }) => say({ request_done: usage }),
  estimate: ({ estimate }) => say({ estimate }),
  print: ({ text }) => process.stderr.write(text + "\n"),
  exit: ({ code }) => process.exit(code),
  ignore: ({ signal }) => process.on(signal, () => tell({ event: "signal", signal })),
  // Nothing runs in here from now on.
  hang: () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0),
  // Takes connections and never answers.
  deafen: () => (deaf = true),
  // Uses the CPU now and then, and says nothing of it.
  work: () => setInterval(() => crypto.getRandomValues(new Uint8Array(65536)), 1),
  occupy: ({ bytes }) => kept.push(Buffer.alloc(bytes, 1)),
  answer: ({ id, status, body }) => {
    requests.get(id).writeHead(status, { "content-type": "application/json" });
    requests.get(id).end(JSON.stringify(body));
  },
  begin: ({ id }) => requests.get(id).writeHead(200, { "content-type": "text/event-stream" }).flushHeaders(),
  send: ({ id, data }) => requests.get(id).write(`data: ${data}\n\n`),
  end: ({ id }) => requests.get(id).end(),
};

createInterface({ input: director }).on("line", (line) => {
  const order = JSON.parse(line);
  kDeeds[order.deed](order);
  tell({ event: "done", number: order.number });
});
createInterface({ input: control }).on("line", (line) => {
  const { load } = JSON.parse(line);
  if (load) tell({ event: process.argv.includes("--estimate") ? "estimate" : "load", pid: process.pid, load });
});
