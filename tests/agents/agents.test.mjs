// Coding agents, started by `corral launch`, finish a turn: they run a command that "the model" asked for, and end when
// it has seen what was printed. CORRAL_AGENTS is a folder of npm packages (node_modules); agents that aren't in it are
// skipped.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { kDone, turn } from "../support/agent-turn.mjs";
import { program } from "../support/server.mjs";

const packages = process.env.CORRAL_AGENTS ?? "";

// Codex' program is in a folder that is named for the machine.
function codexProgram() {
  const vendor = join(packages, "@openai/codex-linux-x64/vendor");
  if (!existsSync(vendor)) return "";
  return join(vendor, readdirSync(vendor).find((name) => name.includes("linux")) ?? "", "bin/codex");
}

const prompt = "Write the proof.";
const agents = {
  claude: {
    file: join(packages, "@anthropic-ai/claude-code-linux-x64/claude"),
    args: ["-p", prompt, "--allowedTools", "Bash", "--output-format", "json"],
    variables: { DISABLE_AUTOUPDATER: "1" },
    look({ printed, bodies }) {
      assert.equal(JSON.parse(printed).result, kDone);
      assert.ok(bodies.every(({ messages }) => !JSON.stringify(messages).includes("x-anthropic-billing-header")));
    },
  },
  codex: { file: codexProgram(), args: ["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", prompt] },
  opencode: { file: join(packages, "opencode-linux-x64/bin/opencode"), args: ["run", prompt], variables: { OPENCODE_DISABLE_AUTOUPDATE: "1" } },
  qwen: { file: join(packages, ".bin/qwen"), args: ["-y", "-p", prompt] },
  pi: { file: join(packages, ".bin/pi"), args: ["-p", prompt] },
};

for (const [name, { file, args, variables = {}, look = ({ printed }) => assert.ok(printed.includes(kDone), printed) }] of Object.entries(agents)) {
  const skip = !(packages && file && existsSync(file)) && "it isn't in CORRAL_AGENTS";
  test(`${name} finishes a turn with a call of a tool`, { skip }, async () => {
    look(
      await turn((url, folder) => {
        const bin = join(folder, "bin");
        mkdirSync(bin);
        symlinkSync(file, join(bin, name));
        return { program: [program, "launch", name, "--url", url, "--", ...args], variables: { PATH: `${bin}:${process.env.PATH}`, ...variables } };
      }),
    );
  });
}
