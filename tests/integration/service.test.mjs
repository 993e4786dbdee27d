// A server as a service, and the first minutes of a user: what the service manager gets, doctor, run --start, and starts that fail.
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { models, program, Server } from "../support/server.mjs";

function corral(args, environment = {}) {
  return new Promise((resolve) => {
    const child = execFile(program, args, { env: { ...process.env, ...environment } }, (error, stdout, stderr) =>
      resolve({ code: error ? error.code : 0, stdout, stderr }),
    );
    child.stdin.end();
  });
}

// Returns when the server has logged such a line.
async function logged(server, pattern) {
  while (!server.lines.some((line) => pattern.test(line))) await once(server.child.stderr, "data");
}

// A port that was free a moment ago.
function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

function responds(port) {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => resolve(true));
    socket.once("error", () => resolve(false));
    socket.once("connect", () => socket.destroy());
  });
}

// The service manager's end of NOTIFY_SOCKET, which node's own modules can't open: prints each datagram on a line.
const kManager = `
import socket, sys
at = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
at.bind(sys.argv[1])
print("bound", flush=True)
while True:
    print(at.recv(4096).decode().replace("\\n", " "), flush=True)
`;

test("the service manager learns of the start, the models, the watchdog and the stop", async () => {
  const folder = mkdtempSync(join(tmpdir(), "corral-test-"));
  const socket = join(folder, "notify");
  const manager = spawn("python3", ["-c", kManager, socket], { stdio: ["ignore", "pipe", "inherit"] });
  const waiting = [];
  const seen = [];
  const look = () => {
    for (const wait of [...waiting]) if (seen.some((line) => wait.pattern.test(line))) wait.resolve();
  };
  createInterface({ input: manager.stdout }).on("line", (line) => {
    seen.push(line);
    look();
  });
  const received = (pattern) =>
    new Promise((resolve) => {
      waiting.push({ pattern, resolve });
      look();
    });
  try {
    await received(/^bound$/);
    const server = await Server.launch({ environment: { NOTIFY_SOCKET: socket, WATCHDOG_USEC: "1000000" } });
    await received(/^READY=1$/);
    await received(/^WATCHDOG=1$/);
    await received(/^STATUS=no model in memory$/);
    assert.equal((await server.chat("tiny-llama", "hi")).status, 200);
    await received(/^STATUS=in memory: tiny-llama$/);
    await server.stop();
    await received(/^STOPPING=1 EXTEND_TIMEOUT_USEC=\d+$/);
  } finally {
    manager.kill();
    rmSync(folder, { recursive: true, force: true });
  }
});

test("doctor examines a server that runs", async () => {
  const environment = { HF_HUB_OFFLINE: "1", HF_HUB_CACHE: "/nonexistent" };
  const server = await Server.launch({ environment });
  try {
    const { stdout } = await corral(["doctor", "--json", "--port", server.port], environment);
    const { checks } = JSON.parse(stdout);
    const of = (topic) => checks.find((check) => check.topic === topic);
    assert.equal(of("port").status, "ok");
    assert.equal(of("cpu").status, "ok", of("cpu").text);
    assert.match(of("cpu").text, /libggml-cpu|part of the program/);
    assert.equal(of("hub").status, "warning", "it is offline");
    assert.match(of("models").text, /^[1-9]\d* found/);
    for (const topic of ["version", "configuration", "devices", "memory", "limits", "state_dir", "hub", "service", "keys", "mesh"])
      assert.ok(of(topic), topic);
  } finally {
    await server.stop();
  }
});

test("run --start starts a server, which ends with the command", async () => {
  const folder = mkdtempSync(join(tmpdir(), "corral-test-"));
  const file = join(folder, "config.toml");
  writeFileSync(file, `models_dir = ["${models}"]\nstate_dir = "${folder}/state"\nruntime_dir = "${folder}/run"\n`);
  const port = await freePort();
  try {
    const { code, stdout, stderr } = await corral(["run", "--start", "--config", file, "--port", `${port}`, "scripted-hello", "Say hello."]);
    assert.equal(code, 0, stderr);
    assert.match(stderr, /A server runs at http:\/\/127\.0\.0\.1:\d+ until this command ends/);
    assert.notEqual(stdout.trim(), "");
    assert.equal(await responds(port), false, "the server has ended");
    assert.match(readFileSync(join(folder, "state/log/started-server.log"), "utf8"), /signal 15: stopping/);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("a second server on the port says who to ask and what to do", async () => {
  const server = await Server.start();
  const folder = mkdtempSync(join(tmpdir(), "corral-test-"));
  try {
    const { code, stderr } = await corral(["serve", "--port", server.port, "--state-dir", folder, "--runtime-dir", folder]);
    assert.equal(code, 1);
    assert.match(stderr, /is in use by another process: end it \(ss -ltnp 'sport = :\d+' shows it\), or set another port with --port or port in /);
  } finally {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
});

test("a start without models says in two lines how to get one, and names a folder that is missing", async () => {
  const folder = mkdtempSync(join(tmpdir(), "corral-test-"));
  const environment = { HF_HUB_CACHE: join(folder, "hub") };
  const server = await Server.launch({ modelsDir: join(folder, "none"), environment });
  try {
    await server.get("/v1/models"); // waits for the first look at the disks
    const { body } = await server.get("/v1/health");
    assert.equal(body.models_known, 0);
    assert.deepEqual(
      body.model_problems.map(({ message }) => message),
      [`'${folder}/none' cannot be read: '${folder}/none' does not exist: run mkdir -p ${folder}/none`],
    );
    for (const pattern of [/no models are here/, /or copy GGUF files into/]) await logged(server, pattern);
  } finally {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
});

test("a broken configuration is one line with its place and what to do", async () => {
  const folder = mkdtempSync(join(tmpdir(), "corral-test-"));
  const file = join(folder, "config.toml");
  writeFileSync(file, "port =\n");
  const { code, stderr } = await corral(["serve", "--config", file]);
  rmSync(folder, { recursive: true, force: true });
  assert.equal(code, 2);
  assert.match(stderr, /^corral: \S+config\.toml:1:\d+: not valid TOML: .*: correct this line\n$/);
});
