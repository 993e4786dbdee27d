// The state of each model in one word, and what happens to it next, in words. Pure functions over the API's answers.
import { counted, duration, percent } from "../lib/format";
import type { Failure, Instance, Memory, Model, NextReclaim, Pool, Queued, Residency, Slots } from "../lib/types";

export type Word = "on disk" | "waiting" | "loading" | "ready" | "busy" | "downsized" | "stopping" | "failed" | "downloading" | "elsewhere";

export interface ModelState {
  word: Word;
  text: string; // the word with its number: "loading 43 %", "at machine box"
  detail: string; // why; may be empty
  progress?: number; // of a load, 0..1
  remedy?: string; // of a failure: the way out
}

export const kReasons: Record<string, string> = {
  room: "another load needs its slot",
  npu: "another model needs the NPU",
  memory: "another load needs its memory",
  evict_all: "another load failed and is tried again with all memory free",
  limit: "the limit of its type was lowered",
  idle: "idle for evict_idle_timeout",
  pressure: "memory is scarce",
  reload: "it is loaded again with other options",
  lend: "another machine needs its memory",
  recall: "it was lent to another machine",
  yield: "a load of this machine goes first",
  unload: "unloaded on request",
  cancelled: "no request waits for it",
  deadline: "its load took too long",
  shutdown: "the server stops",
};
export const reason = (code: string): string => kReasons[code] ?? code;

function remedy(failure: Failure): string {
  const text = failure.cause.toLowerCase();
  const retry = failure.retry_in_ms > 0 ? `Requests try it again in ${duration(failure.retry_in_ms)}; a load with other options tries at once.` : "The next request tries it again.";
  if (/memory|alloc/.test(text)) return `Load it with a smaller ctx_size, or unload another model. ${retry}`;
  if (/no such file|not found|missing|cannot open/.test(text)) return `Check the file, then load it again. ${retry}`;
  return `The log of the model has more. ${retry}`;
}

export function instanceOf(state: Residency, name: string): Instance | undefined {
  return state.all_models_loaded.find((one) => one.model_name === name) ?? state.stopping.find((one) => one.model_name === name);
}

// How long a load has waited. `measured`: when the queue said how long, as `now` by the server's clock.
export const waited = (load: Queued, measured: number, now: number): number => load.waiting_ms + Math.max(0, now - measured);
export const waitsFor = (load: Queued): string =>
  load.waiting_for.length > 0 ? `until ${load.waiting_for.join(", ")} ${load.waiting_for.length === 1 ? "has" : "have"} stopped` : load.checking ? "until its files are checked" : "for the loads before it";

export function stateOf(model: Model, state: Residency): ModelState {
  const name = model.alias_of ?? model.id;
  if (state.loading?.model === name) {
    const { progress, attempt, waiters, aborting } = state.loading;
    if (aborting) return { word: "stopping", text: "stopping", detail: "its load is being ended" };
    const tries = attempt > 1 ? `attempt ${attempt}, ` : "";
    return { word: "loading", text: `loading ${percent(progress)}`, detail: `${tries}${counted(waiters, "request waits", "requests wait")}`, progress };
  }
  const loaded = state.all_models_loaded.find((one) => one.model_name === name);
  const queued = state.load_queue.find((one) => one.model === name);
  if (loaded) return loadedState(loaded);
  if (queued) return { word: "waiting", text: "waiting", detail: `place ${queued.position}, ${waitsFor(queued)}` };
  const stopping = state.stopping.find((one) => one.model_name === name);
  if (stopping) return { word: "stopping", text: "stopping", detail: reason(stopping.leaving ?? "") };
  const failure = state.failures?.find((one) => one.model === name);
  if (failure && (!failure.under_requests || failure.retry_in_ms > 0)) {
    const what = failure.under_requests ? "crashed under requests" : "failed to load";
    const often = failure.in_a_row > 1 ? `, ${failure.in_a_row} times in a row` : "";
    return { word: "failed", text: "failed", detail: `${what}${often}: ${failure.cause}`, remedy: remedy(failure) };
  }
  if (model.status.value === "downloading") return { word: "downloading", text: "downloading", detail: "" };
  const nodes = (model.nodes ?? []).filter((node) => !node.self).map((node) => node.name);
  if (nodes.length > 0 && !(model.nodes ?? []).some((node) => node.self))
    return { word: "elsewhere", text: `at machine ${nodes[0]}`, detail: nodes.length > 1 ? `and at ${nodes.slice(1).join(", ")}` : "" };
  if (model.status.value === "failed") return { word: "failed", text: "failed", detail: "the last load failed", remedy: "The log of the model has the reason." };
  return { word: "on disk", text: "on disk", detail: "" };
}

export function loadedState(one: Instance): ModelState {
  if (one.status === "draining") return { word: "stopping", text: "stopping", detail: `finishes ${counted(one.active_requests, "request")}: ${reason(one.leaving ?? "")}` };
  if (one.active_requests > 0) return { word: "busy", text: "busy", detail: counted(one.active_requests, "request") };
  if (one.status === "downsized" || one.status === "downsizing") return { word: "downsized", text: "downsized", detail: "its KV cache is freed, its weights stay; a request restores it" };
  return { word: "ready", text: "ready", detail: "" };
}

// What idleness will do to an instance, and by which rule.
export function idleText(one: Instance, now: number): string {
  const parts: string[] = [];
  if (one.downsize_at != null) parts.push(`downsized in ${duration(one.downsize_at - now)} (downsize_idle_timeout)`);
  if (one.evict_at != null) parts.push(`evicted in ${duration(one.evict_at - now)} (evict_idle_timeout)`);
  if (parts.length > 0) return parts.join(", ");
  switch (one.stays) {
    case "in_use":
      return "stays while requests run";
    case "pinned":
      return "stays: it is pinned";
    case "auto_evict_off":
      return "stays until a load needs its slot or memory (auto_evict is off)";
    case "external":
      return "runs on another server: only unloaded on request";
    case "leaving":
      return reason(one.leaving ?? "");
    case "none":
      return "no timeout is set";
    default:
      return "";
  }
}

function nextText(next: NextReclaim, when: string, none: string): string {
  if (next.obstacle === "pinned") return `${when}, it is refused: pinned models hold everything`;
  if (next.obstacle === "other_programs") return `${when}, it is refused: other programs hold the memory`;
  if (!next.next) return none;
  const what = next.next.action === "downsize" ? "is downsized" : "is evicted";
  return `${when}, ${next.next.model_name} ${what}`;
}

export function slotText(slots: Slots): string {
  const why = slots.next ? ` (least recently used)` : "";
  return nextText(slots, `If another ${slots.type} model loads`, "A slot is free: the next load evicts no model for it") + why;
}

export function poolText(pool: Pool): string {
  const why = !pool.next ? "" : pool.next.action === "downsize" ? " (idle; downsizing comes before evicting)" : " (highest eviction score: idle time divided by load time and weight)";
  return nextText(pool, `If a load needs more than the ${pool.kind === "ram" ? "free memory" : "free memory of this GPU"}`, "No model would be evicted for memory") + why;
}

// Why this model would go next, if it would.
export function nextFor(memory: Memory | null, name: string): string[] {
  if (!memory) return [];
  const words: string[] = [];
  for (const slots of memory.slots) if (slots.next?.model_name === name) words.push(`next to ${slots.next.action} for a slot`);
  for (const pool of memory.pools) if (pool.next?.model_name === name) words.push(`next to ${pool.next.action} for ${pool.name}`);
  return words;
}
