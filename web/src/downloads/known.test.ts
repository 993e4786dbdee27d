import { expect, test } from "vitest";
import { estimatedMemory, fits, machineMemory, suggested } from "./known";
import type { Memory, Pool } from "../lib/types";
import type { KnownModel } from "./types";

const kGiB = 2 ** 30;
const model = (id: string, gib: number, labels: string[], type = "llm"): KnownModel => ({ id, checkpoint: `org/${id}:Q4_K_M`, type, size_bytes: gib * kGiB, labels, downloaded: false });
const pool = (kind: Pool["kind"], gib: number): Pool => ({ id: kind, name: kind, kind, total_bytes: gib * kGiB, available_bytes: 0, other_bytes: 0, free_bytes: 0, models: [], next: null, obstacle: null });
const memory = (...pools: Pool[]): Memory => ({ time: 0, auto_evict_threshold_pct: 0.9, pools, slots: [] });

test("memory for one model: the host's, or that of all GPUs", () => {
  expect(machineMemory(null)).toBe(0);
  expect(machineMemory(memory(pool("ram", 16), pool("gpu", 12), pool("gpu", 12), pool("shared", 99)))).toBe(24 * kGiB);
  expect(machineMemory(memory(pool("ram", 64), pool("gpu", 12)))).toBe(64 * kGiB);
});

test("a file needs a tenth and 256 MiB more in memory", () => {
  expect(estimatedMemory(1000)).toBe(1100 + 256 * 2 ** 20);
  expect(fits(model("a", 10, []), 11 * kGiB)).toBe(false);
  expect(fits(model("a", 10, []), 12 * kGiB)).toBe(true);
});

test("the largest for chats, a faster one, and one for code", () => {
  const all = [model("tiny", 0.5, ["chat"]), model("small", 4, ["chat"]), model("large", 9, ["chat"]), model("huge", 40, ["chat"]), model("coder", 5, ["chat", "coding"]), model("embed", 1, ["chat"], "embedding")];
  expect(suggested(all, 16 * kGiB).map(({ id }) => id)).toEqual(["large", "small", "coder"]);
  expect(suggested(all, 2 * kGiB).map(({ id }) => id)).toEqual(["tiny"]);
  expect(suggested(all, 0)).toEqual([]);
});
