// A program that plays a server of somebody else's: it listens where its arguments say, says when it is ready as a test
// wants it, and answers every request with what it got. Started through a script of the name that a descriptor wants
// (fake-servers.mjs).
//   node fake-server.mjs BEHAVIOUR.json WORDS…
import { appendFileSync, existsSync, readFileSync, writeFileSync, writeSync } from "node:fs";
import { createServer } from "node:http";

const [file, ...words] = process.argv.slice(2);
const behaviour = () => JSON.parse(readFileSync(file, "utf8"));
const value = (...names) => names.map((name) => words[words.indexOf(name) + 1]).find((word, at) => words.includes(names[at]) && word);
const act = behaviour();

if (act.exit !== undefined) {
  process.stderr.write("cannot open the model\n");
  process.exit(act.exit);
}
// More than a pipe holds, and than anybody wants in a log.
if (act.flood) {
  const line = `${"x".repeat(1023)}\n`.repeat(64);
  for (let written = 0; written < act.flood; written += line.length) writeSync(2, line);
}

let probes = 0;
let running = 0;
let most = 0;
let wedged = false;

async function answer(request, response) {
  const now = behaviour();
  if (request.method === "GET") {
    ++probes;
    if (wedged || now.wedge) return;
    const ready = probes > (now.unready ?? 0);
    response.writeHead(ready ? 200 : 503, { "content-type": "application/json" });
    return response.end(JSON.stringify({ status: ready ? "ok" : "loading" }));
  }
  most = Math.max(most, ++running);
  response.once("close", () => --running);
  let body = "";
  for await (const piece of request) body += piece.toString("latin1");
  if (now.got) writeFileSync(now.got, body, "latin1");
  const said = (text) => body.includes(text);
  if (now.fails) {
    response.writeHead(now.fails[0], { "content-type": "application/json" });
    return response.end(JSON.stringify(now.fails[1]));
  }
  if (now.says) {
    response.writeHead(200, { "content-type": "application/json" });
    return response.end(JSON.stringify(now.says));
  }
  if (said("crash-once") && !existsSync(now.crashed)) {
    appendFileSync(now.crashed, "x");
    response.writeHead(200, { "content-type": "application/json" });
    response.write('{"half":');
    setImmediate(() => process.kill(process.pid, "SIGKILL"));
    return;
  }
  if (said("wedge")) return void (wedged = true);
  if (said("stall")) {
    response.writeHead(200, { "content-type": "text/event-stream" });
    return response.write('data: {"choices":[{"delta":{"content":"one"}}]}\n\n');
  }
  if (said("huge")) {
    response.writeHead(200, { "content-type": "application/json" });
    return response.end(JSON.stringify({ text: "y".repeat(32 << 20) }));
  }
  if (said('"stream":true')) {
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const word of ["one", "two"]) response.write(`data: ${JSON.stringify({ choices: [{ delta: { content: word } }] })}\n\n`);
    return response.end("data: [DONE]\n\n");
  }
  if (said("sound")) {
    response.writeHead(200, { "content-type": "audio/wav" });
    return response.end(wave(2400));
  }
  if (said("together")) await new Promise((done) => setImmediate(() => setImmediate(done)));
  response.writeHead(200, { "content-type": "application/json" });
  const usage = { prompt_tokens: 11, completion_tokens: 5 };
  const got = { usage, pid: process.pid, path: request.url, headers: request.headers, body, words, env: process.env, cwd: process.cwd(), most };
  response.end(JSON.stringify(got));
}

// So many silent samples, as programs for speech tell them.
function wave(samples) {
  const bytes = Buffer.alloc(44 + 2 * samples);
  bytes.write("RIFF", 0);
  bytes.writeUInt32LE(36 + 2 * samples, 4);
  bytes.write("WAVEfmt ", 8);
  bytes.writeUInt32LE(16, 16);
  bytes.writeUInt16LE(1, 20);
  bytes.writeUInt16LE(1, 22);
  bytes.writeUInt32LE(24000, 24);
  bytes.writeUInt32LE(48000, 28);
  bytes.writeUInt16LE(2, 32);
  bytes.writeUInt16LE(16, 34);
  bytes.write("data", 36);
  bytes.writeUInt32LE(2 * samples, 40);
  return bytes;
}

const server = createServer((request, response) => answer(request, response).catch(() => response.destroy()));
const socket = words.find((word) => word.endsWith(".sock"));
const port = Number(value("--port", "--listen-port"));
const where = socket ?? (act.wrong_port ? 0 : port);
const listen = () => (socket ? server.listen(socket) : server.listen(where, "127.0.0.1"));
// A slow one waits for the test to let it go on.
const wait = () => (act.go && !existsSync(act.go) ? setTimeout(wait, 5) : listen());
wait();
