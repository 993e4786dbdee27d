// Programs of other projects that hang: a watchdog of one second, and half a second until a program must listen. If a busy
// machine gives a sound program no time for so long, it looks hung, too: hence the label "realtime".
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ask, external, runs } from "../support/fake-servers.mjs";

external("one that listens on another port is told so at its deadline", async (externals) => {
  externals.program("mine", { wrong_port: true });
  externals.models('[models.m]\ncmd = "mine --port {port}"\nready = { path = "/health", deadline = "500ms" }\n');
  const server = await externals.serve();
  const { status, body } = await ask(server, "m", "hi");
  assert.equal(status, 500);
  assert.match(body.error.message, /no process listens there; it listens on port \d+ instead/);
  assert.deepEqual(await server.loaded(), []);
});

external("one that takes the question and never answers is no ready server", async (externals) => {
  externals.program("mine", { wedge: true });
  externals.models('[models.m]\ncmd = "mine --port {port}"\n');
  const server = await externals.serve({}, "--watchdog-timeout", "1s");
  const { status, body } = await ask(server, "m", "hi");
  assert.equal(status, 500);
  assert.match(body.error.message, /made no progress/);
});

external("one that wedges under a request is found and replaced", async (externals) => {
  externals.program("mine");
  externals.models('[models.m]\ncmd = "mine --port {port}"\n');
  const server = await externals.serve({}, "--watchdog-timeout", "1s");
  const first = (await ask(server, "m", "hi")).body.pid;
  const { status, body } = await ask(server, "m", "wedge");
  assert.ok(status === 502 || status === 503, `${status} ${JSON.stringify(body)}`);
  assert.ok(!runs(first));
  const again = await ask(server, "m", "hi");
  assert.equal(again.status, 200);
  assert.notEqual(again.body.pid, first);
});

// A server that runs already, as a process of its own.
async function running() {
  const code = `const server = require("node:http").createServer((request, response) => {
    request.resume().on("end", () => response.end('{"ok":true}'));
  }).listen(0, "127.0.0.1", () => console.log(server.address().port));`;
  const child = spawn(process.execPath, ["-e", code], { stdio: ["ignore", "pipe", "inherit"] });
  const [port] = await once(child.stdout, "data");
  return { child, url: `http://127.0.0.1:${Number(port)}` };
}

external("one that runs already and is stopped is given up, and its requests end", async (externals) => {
  const { child, url } = await running();
  try {
    externals.models(`[models.far]\nrecipe = "lmstudio"\ncheckpoint = "x"\nurl = "${url}"\n`);
    const server = await externals.serve({}, "--watchdog-timeout", "1s");
    assert.equal((await ask(server, "far", "hi")).status, 200);
    child.kill("SIGSTOP");
    const { status, body } = await ask(server, "far", "hi");
    assert.equal(status, 503, JSON.stringify(body));
    assert.equal(body.error.code, "backend_not_reachable");
    assert.equal(body.error.message, `'far' is served by ${url}, which does not respond: start it first`);
    assert.ok(server.lines.some((line) => /\[router\] far did not respond for 1 s and was given up/.test(line)), server.lines.join("\n"));
    child.kill("SIGCONT");
    assert.equal((await ask(server, "far", "hi")).status, 200);
  } finally {
    child.kill("SIGKILL");
  }
});

external("a request ends at its limit where nobody looks whether the program works", async (externals) => {
  externals.program("mine");
  externals.models('[models.m]\ncmd = "mine --port {port}"\nwatch = false\nrequest_timeout = "500ms"\n');
  const server = await externals.serve();
  const first = (await ask(server, "m", "hi")).body.pid;
  const events = [];
  for await (const event of server.events("/v1/chat/completions", { model: "m", messages: [{ role: "user", content: "stall" }], stream: true })) events.push(event);
  const why = "the backend of 'm' made no progress with this request for 0.5 s: if it needs longer, set request_timeout in its descriptor or in models.toml";
  assert.equal(JSON.parse(events.at(-1)).error.message, why);
  assert.equal(JSON.parse(events[0]).choices[0].delta.content, "one");
  const { status, body } = await ask(server, "m", "wedge");
  assert.equal(status, 504);
  assert.deepEqual([body.error.code, body.error.message], ["backend_timeout", why]);
  assert.ok(runs(first), "it may still serve others");
});

external("a program for one request that hangs ends at its limit, with all that it has started", async (externals) => {
  const pids = externals.path("pids");
  const script = join(externals.bin, "speaker");
  writeFileSync(script, `#!/bin/sh\nsetsid sleep 1000 &\necho $! $$ >> ${pids}\nwait\n`);
  chmodSync(script, 0o755);
  externals.descriptor("speaker", 'recipe = "speaker"\ntypes = ["tts"]\nkind = "exec"\ncommand = ["speaker"]\noutput = "audio/wav"\nconcurrency = 1\nrequest_timeout = "500ms"\n');
  externals.models('[models.voice]\nrecipe = "speaker"\ncheckpoint = "x"\n');
  const server = await externals.serve();
  const speak = () => server.post("/v1/audio/speech", { model: "voice", input: "hello" });
  for (const { status, body } of await Promise.all([speak(), speak()])) {
    assert.equal(status, 504, JSON.stringify(body));
    assert.equal(body.error.code, "backend_timeout");
  }
  assert.ok(existsSync(pids));
  const started = readFileSync(pids, "utf8").trim().split(/\s/);
  assert.equal(started.length, 4);
  while (started.some(runs)) await new Promise((resolve) => setImmediate(resolve));
});
