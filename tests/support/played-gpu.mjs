// Stages of fake-engines.mjs on a machine with a GPU.
import { existsSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { onStage } from "./fake-engines.mjs";

// A GPU whose memory is what a file says, told by a program in the place of nvidia-smi.
class PlayedGpu {
  folder = mkdtempSync(join(tmpdir(), "corral-gpu-"));
  constructor(used) {
    this.use(used);
    writeFileSync(join(this.folder, "nvidia-smi"), `#!/bin/sh\nexec cat '${join(this.folder, "memory")}'\n`, { mode: 0o755 });
  }
  // MiB of 1,500.
  use(used) {
    const written = join(this.folder, "next");
    writeFileSync(written, `0, Played GPU, 1500, ${used}, ${1500 - used}\n`);
    renameSync(written, join(this.folder, "memory"));
  }
  get variables() {
    return { PATH: `${this.folder}:${process.env.PATH}` };
  }
}

// A real driver would be asked first.
const skip = existsSync("/proc/driver/nvidia/version") && "this machine has an NVIDIA driver";
export function stageWithGpu(name, models, flags, acts) {
  test(name, { skip }, async () => {
    const gpu = new PlayedGpu(100);
    try {
      await onStage(gpu.variables, models, flags, (its, server) => acts(its, server, gpu));
    } finally {
      rmSync(gpu.folder, { recursive: true });
    }
  });
}
