import { expect, test } from "vitest";
import { applyLoad, applyServer } from "../lib/changes";
import { idleText, nextFor, poolText, slotText, stateOf } from "./state";
import type { Instance, Memory, Model, Residency } from "../lib/types";

const model = (id: string, more: Partial<Model> = {}): Model => ({ id, recipe: "llamacpp", labels: [], status: { value: "unloaded" }, ...more });
const instance = (name: string, more: Partial<Instance> = {}): Instance => ({
  model_name: name, type: "llm", device: "cpu", recipe: "llamacpp", recipe_options: {}, status: "ready", active_requests: 0, pinned: false, lent: false,
  last_use: 1000, load_duration_ms: 10, memory_bytes: 1, max_context_window: 512, ...more,
});
const residency = (more: Partial<Residency> = {}): Residency => ({
  all_models_loaded: [], stopping: [], max_models: { llm: 1 }, loading: null, load_queue: [], failures: [], shares: [], ...more,
});

test("each model has one word for its state", () => {
  const state = residency({
    all_models_loaded: [instance("ready"), instance("busy", { status: "in_use", active_requests: 2 }), instance("small", { status: "downsized" }), instance("drains", { status: "draining", active_requests: 1, leaving: "room" })],
    stopping: [instance("going", { status: "evicting", leaving: "idle" })],
    loading: { model: "comes", type: "llm", progress: 0.43, since: 0, waiters: 1, attempt: 1, aborting: false },
    load_queue: [{ model: "waits", type: "llm", position: 1, waiting_ms: 5, waiters: 1, checking: false, waiting_for: ["busy"] }],
    failures: [{ model: "broken", under_requests: false, in_a_row: 2, retry_in_ms: 9000, cause: "out of memory" }],
  });
  const text = (id: string, more: Partial<Model> = {}) => stateOf(model(id, more), state).text;
  expect(["ready", "busy", "small", "drains", "going", "comes", "waits", "broken", "other"].map((id) => text(id))).toEqual([
    "ready", "busy", "downsized", "stopping", "stopping", "loading 43 %", "waiting", "failed", "on disk",
  ]);
  expect(text("alias", { alias_of: "busy" })).toBe("busy");
  expect(text("far", { nodes: [{ id: "n", name: "box", self: false }] })).toBe("at machine box");
  expect(stateOf(model("waits"), state).detail).toBe("place 1, until busy has stopped");
});

test("a failure shows its reason and the way out", () => {
  const state = residency({ failures: [{ model: "a", under_requests: false, in_a_row: 2, retry_in_ms: 9000, cause: "out of memory" }] });
  const { detail, remedy } = stateOf(model("a"), state);
  expect(detail).toBe("failed to load, 2 times in a row: out of memory");
  expect(remedy).toMatch(/smaller ctx_size.*in 9 s/);
});

test("what idleness does is said with time and rule", () => {
  expect(idleText(instance("a", { downsize_at: 61_000, evict_at: 301_000, stays: "none" }), 1000)).toBe("downsized in 1 min (downsize_idle_timeout), evicted in 5 min (evict_idle_timeout)");
  expect(idleText(instance("a", { stays: "pinned" }), 0)).toMatch(/pinned/);
  expect(idleText(instance("a"), 0)).toBe("");
});

test("who is next is said with the reason", () => {
  const memory: Memory = {
    time: 0,
    auto_evict_threshold_pct: 0.9,
    pools: [{ id: "ram", name: "RAM", kind: "ram", total_bytes: 1, available_bytes: 1, other_bytes: 0, free_bytes: 1, models: [], next: { model_name: "a", action: "downsize", reason: "memory" }, obstacle: null }],
    slots: [{ type: "llm", taken: 1, limit: 1, next: { model_name: "a", action: "evict", reason: "room" }, obstacle: null }],
  };
  expect(slotText(memory.slots[0]!)).toBe("If another llm model loads, a is evicted (least recently used)");
  expect(slotText({ ...memory.slots[0]!, next: null, obstacle: "pinned" })).toMatch(/refused: pinned/);
  expect(poolText(memory.pools[0]!)).toMatch(/^If a load needs more than the free memory, a is downsized/);
  expect(nextFor(memory, "a")).toEqual(["next to evict for a slot", "next to downsize for RAM"]);
  expect(nextFor(memory, "b")).toEqual([]);
});

test("events change the state, and say what else must be read", () => {
  const state = residency({ all_models_loaded: [instance("a")] });
  const base = { time: 2000, model: "a", pinned: false };
  expect(applyServer(state, { ...base, from: "ready", status: "in_use", active_requests: 1 })).toBe("same");
  expect(state.all_models_loaded[0]!.active_requests).toBe(1);
  expect(applyServer(state, { ...base, from: "in_use", status: "ready", active_requests: 0, evict_at: 9000 })).toBe("same");
  expect(state.all_models_loaded[0]).toMatchObject({ last_use: 2000, evict_at: 9000 });
  expect(applyServer(state, { ...base, from: "downsizing", status: "downsized", active_requests: 0 })).toBe("memory");
  expect(applyServer(state, { ...base, from: "ready", status: "evicting", active_requests: 0, reason: "room" })).toBe("memory");
  expect(state.stopping.map((one) => one.leaving)).toEqual(["room"]);
  expect(applyServer(state, { ...base, from: "evicting", status: "gone", active_requests: 0 })).toBe("memory");
  expect(state.stopping).toEqual([]);

  const load = { time: 0, model: "b", type: "llm" as const, attempt: 1 };
  expect(applyLoad(state, { ...load, stage: "started", progress: 0 })).toBe("same");
  expect(applyLoad(state, { ...load, stage: "progress", progress: 0.5 })).toBe("same");
  expect(state.loading?.progress).toBe(0.5);
  expect(applyLoad(state, { ...load, stage: "failed", progress: 0.5, cause: "no" })).toBe("reload");
  expect(state.loading).toBeNull();
});
