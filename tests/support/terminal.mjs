// A program on a pseudo terminal, which a test types at.
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

const kHelper = fileURLToPath(new URL("terminal.py", import.meta.url));

export class Terminal {
  constructor(words, { columns = 80, env = {} } = {}) {
    this.text = ""; // everything that was shown
    this.seen = 0; // up to where a test has read
    this.waiting = null;
    const child = spawn("python3", [kHelper, `${columns}`, ...words], {
      stdio: ["pipe", "pipe", "inherit"],
      env: { ...process.env, TERM: "xterm-256color", LANG: "C.UTF-8", NO_COLOR: "", ...env },
    });
    this.child = child;
    this.exit = new Promise((resolve) => child.once("close", resolve));
    child.stdout.setEncoding("utf8").on("data", (piece) => {
      this.text += piece;
      this.waiting?.();
    });
    this.exit.then(() => this.waiting?.());
  }

  type(text) {
    this.child.stdin.write(text);
  }

  // Waits until the output since the last call matches, and returns that part of it.
  async shows(pattern) {
    for (;;) {
      const found = this.text.slice(this.seen).match(pattern);
      if (found) {
        const begin = this.seen;
        this.seen += found.index + found[0].length;
        return this.text.slice(begin, this.seen);
      }
      if (this.child.exitCode !== null) throw new Error(`it ended before it showed ${pattern}:\n${this.text}`);
      await new Promise((resolve) => (this.waiting = resolve));
    }
  }

  kill() {
    this.child.kill("SIGKILL");
  }
}
