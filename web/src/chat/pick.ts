// The models of a type to choose from: those in memory first.
import type { Model, ModelType, Residency } from "../lib/types";
import { stateOf } from "../models/state";

export interface Offer {
  model: Model;
  word: string;
}

const kLoaded = new Set(["ready", "busy", "downsized"]);

export function modelsOf(models: readonly Model[], residency: Residency, type: ModelType): { loaded: Offer[]; others: Offer[] } {
  const all = models
    .filter((model) => model.type === type && model.alias_of === undefined)
    .map((model) => ({ model, word: stateOf(model, residency).word as string }))
    .sort((a, b) => a.model.id.localeCompare(b.model.id));
  return { loaded: all.filter(({ word }) => kLoaded.has(word)), others: all.filter(({ word }) => !kLoaded.has(word)) };
}
