// The filter of the table of models. It stays in this browser.
import type { Model } from "../lib/types";

export interface Filter {
  text: string;
  type: string; // "" : all
  word: string; // of the state; "": all
}

const kStored = "corral.models.filter";
const kNone: Filter = { text: "", type: "", word: "" };

export function storedFilter(storage: Pick<Storage, "getItem"> | undefined): Filter {
  try {
    const stored = JSON.parse(storage?.getItem(kStored) ?? "{}") as Partial<Filter>;
    const text = (value: unknown) => (typeof value === "string" ? value : "");
    return { text: text(stored.text), type: text(stored.type), word: text(stored.word) };
  } catch {
    return { ...kNone };
  }
}
export function storeFilter(storage: Pick<Storage, "setItem"> | undefined, filter: Filter): void {
  try {
    storage?.setItem(kStored, JSON.stringify(filter));
  } catch {
    // The storage is full or switched off: the filter lasts as long as the page.
  }
}

// Every word of the filter is somewhere in the names, tags and facts of the model.
export function matches(model: Model, word: string, filter: Filter): boolean {
  if (filter.type !== "" && model.type !== filter.type) return false;
  if (filter.word !== "" && word !== filter.word) return false;
  const facts = [model.id, model.name, model.alias_of, model.architecture, model.quantization, ...(model.aliases ?? []), ...(model.tags ?? []), ...model.labels];
  const all = facts.filter(Boolean).join("\n").toLowerCase();
  return filter.text.toLowerCase().split(/\s+/).every((part) => all.includes(part));
}
