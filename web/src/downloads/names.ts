// What a user means by the text in the search field.
import type { KnownModel } from "./types";

export type Meaning =
  | { kind: "words"; text: string } // to search for
  | { kind: "repository"; text: string } // of the hub: its variants are to be shown
  | { kind: "model"; text: string }; // one variant, one file, or a model of Ollama's registry: ready to download

const kHub = /^(?:hf:\/\/|(?:https?:\/\/)?(?:www\.)?(?:huggingface\.co|hf\.co)\/)/i;

export function meaningOf(input: string): Meaning {
  const text = input.trim();
  if (!text.includes("/") || /\s/.test(text)) return { kind: "words", text };
  const below = text.replace(kHub, "");
  if (below === text && /^(?:[a-z]+:\/\/|ollama\.com\/|registry\.ollama\.ai\/)/i.test(text)) return { kind: "model", text };
  const path = below.replace(/[?#].*$/, "").replace(/\/+$/, "");
  if (path.includes(":") || /\.gguf$/i.test(path) || /show_file_info=/.test(below)) return { kind: "model", text };
  // The page of a folder, or of another revision than main.
  const [, , page, revision, folder] = path.split("/");
  return page === "tree" && (folder !== undefined || revision !== "main") ? { kind: "model", text } : { kind: "repository", text };
}

// The name to download for a plan. The plan's own name means the revision main.
export function nameToPull(asked: string, checkpoint: string): string {
  return /\/(?:resolve|blob|raw|tree)\/(?!main(?:[/?#]|$))/.test(asked) ? asked : checkpoint;
}

// Each word occurs in its names, type or labels, as in corral search.
export function matchesKnown(model: KnownModel, words: string): boolean {
  const all = [model.id, model.checkpoint, model.type, ...model.labels].join(" ").toLowerCase();
  return words.toLowerCase().split(/\s+/).every((word) => all.includes(word));
}
