// The parts of the page, rendered to text: with all states, and with names that are HTML.
import { render } from "svelte/server";
import { expect, test, vi } from "vitest";
import type { Instance, Memory, Model, Residency } from "../lib/types";
import { parseRoute } from "../lib/route";
import KeyForm from "../parts/KeyForm.svelte";
import ModelsPage from "./ModelsPage.svelte";

const kEvil = '<img src=x onerror="alert(1)">';

const instance = (name: string, more: Partial<Instance> = {}): Instance => ({
  model_name: name, type: "llm", device: "gpu", recipe: "llamacpp", recipe_options: { auto_evict: true }, status: "ready", active_requests: 0, pinned: false, lent: false,
  last_use: 0, load_duration_ms: 10, memory_bytes: 1, max_context_window: 4096, stays: "none", downsize_at: null, evict_at: 60_000, ...more,
});
const model = (id: string, more: Partial<Model> = {}): Model => ({ id, recipe: "llamacpp", type: "llm", size_bytes: 2 ** 30, context_length: 4096, labels: ["chat"], aliases: [], status: { value: "unloaded" }, ...more });
const residency: Residency = {
  all_models_loaded: [instance("busy-one", { status: "in_use", active_requests: 3, stays: "in_use", evict_at: null }), instance("idle-one"), instance(kEvil, { pinned: true, stays: "pinned", evict_at: null })],
  stopping: [instance("leaves", { status: "evicting", leaving: "room" })],
  max_models: { llm: 3 },
  loading: { model: "comes", type: "llm", progress: 0.25, since: 0, waiters: 2, attempt: 1, aborting: false },
  load_queue: [{ model: "waits", type: "llm", position: 1, waiting_ms: 3000, waiters: 1, checking: false, waiting_for: ["busy-one"] }],
  failures: [{ model: "broken", under_requests: false, in_a_row: 1, retry_in_ms: 0, cause: kEvil }],
  shares: [],
};
const memory: Memory = {
  time: 0,
  auto_evict_threshold_pct: 0.9,
  pools: [{
    id: "ram", name: "RAM", kind: "ram", total_bytes: 16 * 2 ** 30, available_bytes: 8 * 2 ** 30, other_bytes: 4 * 2 ** 30, free_bytes: 8 * 2 ** 30, obstacle: null,
    next: { model_name: "idle-one", action: "downsize", reason: "memory" },
    models: [{ model_name: "idle-one", loading: false, weights_bytes: 2 ** 30, kv_bytes: 2 ** 29, compute_bytes: 0, process_bytes: 2 ** 26, reclaimable_bytes: 0 }],
  }],
  slots: [{ type: "llm", taken: 3, limit: 3, next: { model_name: "idle-one", action: "evict", reason: "room" }, obstacle: null }],
};

function page(more: object = {}): string {
  const models = ["busy-one", "idle-one", "comes", "waits", "broken", "leaves", "other"].map((id) => model(id));
  models.push(model(kEvil), model("far", { nodes: [{ id: "n1", name: "box", self: false }] }));
  const live = { residency, models, modelsKnown: true, memory, memoryProblem: "", mayAdmin: true, now: 10_000, queueAt: 3000, options: vi.fn(), ...more };
  return render(ModelsPage as never, { props: { live, route: parseRoute("#/models") } as never }).body;
}
const text = (html: string) => html.replaceAll(/<!--.*?-->/g, "").replaceAll(/<[^>]*>/g, " ").replaceAll(/\s+/g, " ");

test("shows problems of the configuration, and files that cannot be used", () => {
  const health = { configuration_problem: "config.toml:3:5: not valid", backend_problems: [kEvil], model_problem_count: 3, model_problems: [{ path: "/m/a.gguf", message: "'/m/a.gguf': is truncated" }] };
  const html = page({ health });
  expect(html).not.toContain(kEvil);
  for (const part of ["config.toml:3:5: not valid", "3 files and folders cannot be used", "/m/a.gguf is truncated", "And 2 more"]) expect(text(html)).toContain(part);
});

test("shows devices, what is next, models in memory and all models", () => {
  const shown = text(page());
  for (const part of [
    "16.0 GiB, 8.0 GiB free", "weights 1.0 GiB", "other programs 4.0 GiB", "If another llm model loads, idle-one is evicted",
    "3 requests", "evicted in 50 s (evict_idle_timeout)", "next to evict for a slot", "loading 25 %", "for 10 s, 1 request, until busy-one has stopped", "at machine box", "another load needs its slot",
  ])
    expect(shown).toContain(part);
});

test("text from models never becomes HTML", () => {
  const html = page();
  expect(html).not.toContain("<img");
  expect(html).toContain("&lt;img");
});

test("every button has a name, and none works without the scope", () => {
  const buttons = (html: string) => html.match(/<button[\s\S]*?<\/button>/g) ?? [];
  for (const button of buttons(page())) expect(button).toMatch(/aria-label="[^"]+"|>[^<]*\w/);
  const loads = buttons(page({ mayAdmin: false })).filter((button) => /(Load|Unload|Pin|Unpin) /.test(button));
  expect(loads.length).toBeGreaterThan(5);
  for (const button of loads) expect(button).toContain("disabled");
});

test("says so if nothing is known", () => {
  expect(text(page({ memory: null, memoryProblem: "no" }))).toContain("The memory is not shown: no");
  expect(text(page({ models: [], modelsKnown: true }))).toContain("corral pull");
  expect(text(page({ models: [], modelsKnown: false }))).toContain("Reading the list");
  expect(render(KeyForm as never, { props: { problem: "wrong key", useKey: vi.fn() } as never }).body).toContain("The key is not accepted: wrong key");
});
