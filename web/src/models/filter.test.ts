import { expect, test } from "vitest";
import { matches, storedFilter, storeFilter } from "./filter";
import type { Model } from "../lib/types";

const llama: Model = { id: "org/Llama-3-8B:Q4_K_M", recipe: "llamacpp", type: "llm", labels: ["chat"], aliases: ["small"], quantization: "Q4_K_M", status: { value: "unloaded" } };

test("every word of the filter must be in a name or a fact", () => {
  const with_text = (text: string) => matches(llama, "on disk", { text, type: "", word: "" });
  expect(["", "llama", "LLAMA q4", "small", "chat 8b"].map(with_text)).toEqual([true, true, true, true, true]);
  expect(["qwen", "llama q8"].map(with_text)).toEqual([false, false]);
  expect(matches(llama, "on disk", { text: "", type: "embedding", word: "" })).toBe(false);
  expect(matches(llama, "on disk", { text: "", type: "llm", word: "ready" })).toBe(false);
});

test("the filter persists, and a broken store is no filter", () => {
  const kept = new Map<string, string>();
  const storage = { getItem: (name: string) => kept.get(name) ?? null, setItem: (name: string, value: string) => void kept.set(name, value) };
  storeFilter(storage, { text: "a", type: "llm", word: "busy" });
  expect(storedFilter(storage)).toEqual({ text: "a", type: "llm", word: "busy" });
  for (const broken of ["{", "null", '{"text":5}']) expect(storedFilter({ getItem: () => broken }).text).toBe("");
  expect(storedFilter(undefined)).toEqual({ text: "", type: "", word: "" });
});
