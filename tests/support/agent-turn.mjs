// One turn of a coding agent against a real server whose engine is played: "the model" asks for a command of the
// agent's shell, and says that it is done when it has seen what the command printed.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Stage } from "./fake-engines.mjs";

const kContext = 131072;
const kCommand = "echo a corral > proof.txt && cat proof.txt";
export const kDone = "The turn is done.";

// How the shells of agents are called, and what they take.
const description = "Writes a file";
const kShells = {
  Bash: { command: kCommand, description }, // Claude Code
  bash: { command: kCommand, description }, // opencode, pi
  run_shell_command: { command: kCommand, description, is_background: false }, // qwen-code
  exec_command: { cmd: kCommand }, // Codex
  shell_command: { command: kCommand },
  shell: { command: ["bash", "-c", kCommand] },
};

function saying({ tools = [], messages }) {
  const results = messages.filter(({ role }) => role === "tool");
  const name = tools.map((tool) => tool.function.name).find((one) => one in kShells);
  if (!name || results.length > 0) return { content: kDone, finish: "stop" };
  const call = { name, arguments: JSON.stringify(kShells[name]) };
  return { tool_calls: [{ index: 0, id: "call_1", type: "function", function: call }], finish: "tool_calls" };
}

async function answer(request, seen) {
  seen.push(request);
  if (request.path.endsWith("/input_tokens")) return request.answer(200, { object: "response.input_tokens", input_tokens: 100 });
  const { finish, ...said } = saying(request.body);
  const usage = { prompt_tokens: 100, completion_tokens: 10, prompt_tokens_details: { cached_tokens: 50 } };
  const message = { role: "assistant", content: null, ...said };
  if (!request.body.stream) return request.answer(200, { id: "chatcmpl-1", choices: [{ index: 0, message, finish_reason: finish }], usage });
  const send = (choice) => request.send(JSON.stringify({ id: "chatcmpl-1", choices: [{ index: 0, finish_reason: null, ...choice }] }));
  await request.begin();
  await send({ delta: { role: "assistant", content: "" } });
  await send({ delta: said });
  await send({ delta: {}, finish_reason: finish });
  await request.send(JSON.stringify({ choices: [], usage }));
  await request.send("[DONE]");
  await request.end();
}

async function run(command, children, options) {
  const [program, ...more] = command;
  const child = spawn(program, more, { ...options, stdio: ["ignore", "pipe", "pipe"] });
  children.push(child);
  let said = "";
  let complaints = "";
  child.stdout.on("data", (bytes) => (said += bytes));
  child.stderr.on("data", (bytes) => (complaints += bytes));
  const code = await new Promise((resolve) => child.once("close", resolve));
  assert.equal(code, 0, said + complaints);
  return said;
}

// `command`: of the server's address and the agent's home, what is started, and with which variables beside PATH and
// HOME. Returns what it printed and what the model was asked.
export async function turn(command) {
  const stage = await Stage.startIn({}, ["a"]);
  const folder = mkdtempSync(join(tmpdir(), "corral-agent-"));
  const seen = [];
  const children = [];
  try {
    let printed;
    await stage.play(async (its, server) => {
      const engine = await its.have("a", {}, kContext);
      const playing = (async () => {
        for (;;) answer(await engine.request(), seen);
      })();
      playing.catch(() => {});
      const { program, variables } = command(server.url, folder);
      printed = await run(program, children, { cwd: folder, env: { PATH: process.env.PATH, HOME: folder, ...variables } });
      assert.equal(readFileSync(join(folder, "proof.txt"), "utf8"), "a corral\n");
    });
    const last = seen.map(({ body }) => body).find(({ messages }) => messages.some(({ role }) => role === "tool"));
    assert.match(JSON.stringify(last.messages.find(({ role }) => role === "tool").content), /a corral/);
    return { printed, bodies: seen.map(({ body }) => body) };
  } finally {
    for (const child of children) child.kill("SIGKILL");
    await stage.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}
