// Known models and whether they fit this machine, by the same rules as corral run without a model.
import type { Memory } from "../lib/types";
import type { KnownModel } from "./types";

const kProcessBytes = 256 * 2 ** 20;

// Bytes in memory for files of this size, as in GET pull/variants.
export const estimatedMemory = (bytes: number): number => bytes + Math.floor(bytes / 10) + kProcessBytes;

// The largest memory for one model: the host's, or the sum of all GPUs. 0: unknown.
export function machineMemory(memory: Memory | null): number {
  const sum = (kind: string) => (memory?.pools ?? []).filter((pool) => pool.kind === kind).reduce((all, pool) => all + pool.total_bytes, 0);
  return Math.max(sum("ram"), sum("gpu"));
}

export const fits = (model: KnownModel, memory: number): boolean => estimatedMemory(model.size_bytes) <= memory;

function largest(models: KnownModel[], label: string, room: number, but: KnownModel[]): KnownModel | undefined {
  const suits = (model: KnownModel) =>
    model.type === "llm" && model.labels.includes(label) && !(label === "chat" && model.labels.includes("coding")) && fits(model, room) && !but.includes(model);
  return models.filter(suits).reduce<KnownModel | undefined>((best, model) => (best && best.size_bytes >= model.size_bytes ? best : model), undefined);
}

// The largest model for chats that leaves a quarter of the memory free, a faster one of at most half its size, and the
// largest one for code.
export function suggested(models: KnownModel[], memory: number): KnownModel[] {
  const room = Math.floor(memory / 4) * 3;
  const chosen: KnownModel[] = [];
  const add = (label: string, most: number) => {
    const found = largest(models, label, most, chosen);
    if (found) chosen.push(found);
  };
  add("chat", room);
  if (chosen[0]) add("chat", Math.min(room, estimatedMemory(Math.floor(chosen[0].size_bytes / 2))));
  add("coding", room);
  return chosen;
}
