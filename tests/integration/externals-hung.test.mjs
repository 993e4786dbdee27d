// Programs of other projects that hang: a watchdog of one second, and half a second until a program must listen. If a busy
// machine gives a sound program no time for so long, it looks hung, too: hence the label "realtime".
import assert from "node:assert/strict";
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
