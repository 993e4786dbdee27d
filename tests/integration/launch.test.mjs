// `corral launch`: what each agent's program is started with, by programs that only say what they were told.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { program, Server } from "../support/server.mjs";

let server;
let folder;
before(async () => {
  server = await Server.start("--no-warm-spare");
  folder = mkdtempSync(join(tmpdir(), "corral-launch-"));
  for (const name of ["codex", "claude", "opencode", "qwen", "pi"]) {
    writeFileSync(join(folder, name), `#!${process.execPath}\nconsole.log(JSON.stringify({ args: process.argv.slice(2), env: process.env }));\nprocess.exit(7);\n`);
    chmodSync(join(folder, name), 0o755);
  }
});
after(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

function launch(...words) {
  const env = { PATH: folder, HOME: folder, CORRAL_URL: server.url };
  const { status, stdout, stderr } = spawnSync(program, ["launch", ...words], { env, encoding: "utf8" });
  return { status, stdout, stderr };
}
function told(...words) {
  const { status, stdout, stderr } = launch(...words, "--model", "tiny-llama", "--force", "--", "--own", "two words");
  assert.equal(status, 7, `its exit code is the program's: ${stdout}${stderr}`);
  const { args, env } = JSON.parse(stdout);
  assert.deepEqual(args.slice(-2), ["--own", "two words"]);
  return { args: args.slice(0, -2), env };
}

test("each agent is told the address and the model", () => {
  assert.equal(told("claude").env.ANTHROPIC_BASE_URL, server.url);
  assert.equal(told("claude").env.ANTHROPIC_MODEL, "tiny-llama");
  assert.equal(told("claude").env.CLAUDE_CODE_MAX_CONTEXT_TOKENS, "8192");
  assert.ok(told("codex").args.includes(`model_providers.corral.base_url="${server.url}/v1"`));
  const { provider, model } = JSON.parse(told("opencode").env.OPENCODE_CONFIG_CONTENT);
  assert.equal(model, "corral/tiny-llama");
  assert.equal(provider.corral.options.baseURL, `${server.url}/v1`);
  assert.ok(provider.corral.models["tiny-llama"].limit.context > 0);
  assert.equal(told("qwen").env.OPENAI_BASE_URL, `${server.url}/v1`);
  const { args } = told("pi");
  assert.match(readFileSync(args[args.indexOf("-e") + 1], "utf8"), new RegExp(`registerProvider.*${server.url}/v1.*tiny-llama`));
});

// opencode summarized its conversation for ever.
test("an agent that needs more context than the model has is not launched", () => {
  const refused = launch("opencode", "--model", "tiny-llama");
  assert.deepEqual([refused.status, refused.stdout], [2, ""]);
  assert.equal(
    refused.stderr,
    "corral: 'tiny-llama' has a context of 8192 tokens and was trained with 8192, but opencode needs 32768 or more: " +
      "select another model with --model, or use --force\n",
  );
  assert.equal(launch("pi", "--model", "tiny-llama").status, 7);
});

test("what is missing is told", () => {
  const several = launch("claude");
  assert.equal(several.status, 2);
  assert.match(several.stderr, /--model/);
  rmSync(join(folder, "claude"));
  const missing = launch("claude", "--model", "tiny-llama");
  assert.equal(missing.status, 2);
  assert.match(missing.stderr, /npm install -g @anthropic-ai\/claude-code/);
  assert.match(launch("claude", "--model", "tiny-llama", "--print").stdout, /^export ANTHROPIC_BASE_URL=http/);
});
