// A model that was just copied to this disk is listed twice for a moment: here, and at the machine that it came from.
import type { Model } from "./types";

export function distinct(models: Model[]): Model[] {
  const byId = new Map<string, Model>();
  for (const model of models) {
    const first = byId.get(model.id);
    byId.set(model.id, first ? { ...first, nodes: first.nodes ?? model.nodes } : model);
  }
  return [...byId.values()];
}
