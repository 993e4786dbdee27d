import { expect, test } from "vitest";
import { matchesKnown, meaningOf, nameToPull } from "./names";

const kind = (text: string) => meaningOf(text).kind;

test("words are searched for", () => {
  for (const text of ["qwen3", "qwen3 8b", "org/repo and more", "  llama  "]) expect(kind(text)).toBe("words");
  expect(meaningOf("  llama ").text).toBe("llama");
});

test("a repository shows its variants", () => {
  for (const text of ["org/repo", "org/repo/", "hf.co/org/repo", "https://huggingface.co/org/repo", "https://www.huggingface.co/org/repo/tree/main", "hf://org/repo", "https://huggingface.co/org/repo?library=gguf"])
    expect([text, kind(text)]).toEqual([text, "repository"]);
});

test("a variant, a file and a model of Ollama's registry are ready to download", () => {
  for (const text of [
    "org/repo:Q4_K_M", "hf.co/org/repo:Q8_0", "org/repo/x.gguf", "https://huggingface.co/org/repo/resolve/main/x.gguf", "https://huggingface.co/org/repo/blob/main/x.gguf",
    "https://huggingface.co/org/repo/tree/main/Q4_K_M", "https://huggingface.co/org/repo/tree/main?show_file_info=x.gguf", "https://huggingface.co/org/repo/tree/refs/pr/1",
    "https://example.com/x.gguf", "ollama.com/library/x:tag", "ollama.com/library/x", "registry.ollama.ai/library/x", "ollama://library/x",
  ])
    expect([text, kind(text)]).toEqual([text, "model"]);
});

test("known models are found by each of their words", () => {
  const model = { id: "qwen3-8b", checkpoint: "Qwen/Qwen3-8B-GGUF:Q4_K_M", type: "llm", size_bytes: 1, labels: ["chat"], downloaded: false };
  expect(matchesKnown(model, "QWEN chat")).toBe(true);
  expect(matchesKnown(model, "qwen coding")).toBe(false);
});

test("another revision than main is downloaded by its address", () => {
  expect(nameToPull("hf.co/org/repo:Q8_0", "org/repo:Q8_0")).toBe("org/repo:Q8_0");
  expect(nameToPull("https://hf.co/org/repo/resolve/main/x.gguf", "org/repo:x")).toBe("org/repo:x");
  for (const asked of ["https://hf.co/org/repo/resolve/main2/x.gguf", "https://hf.co/org/repo/tree/refs/pr/1"]) expect(nameToPull(asked, "org/repo:x")).toBe(asked);
});
