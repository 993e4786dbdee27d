// A larger context for a model whose context is full.
import type { Model, Residency } from "../lib/types";
import { instanceOf } from "../models/state";

// `larger`: double the context now, at most what the model was trained for; 0: there is no larger one.
export function largerContext(models: readonly Model[], residency: Residency, id: string): { now: number; larger: number } {
  const model = models.find((one) => one.id === id);
  const now = instanceOf(residency, model?.alias_of ?? id)?.max_context_window || model?.context_length || 0;
  const most = model?.max_context_length ?? 0;
  return { now, larger: now > 0 && most > now ? Math.min(most, 2 * now) : 0 };
}
