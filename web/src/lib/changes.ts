// Changes of the state of the server by events; `state` is changed in place.
import type { LoadEvent, Residency, ServerEvent } from "./types";

export function applyServer(state: Residency, event: ServerEvent): "same" | "memory" | "reload" {
  const at = state.all_models_loaded.findIndex((one) => one.model_name === event.model);
  const one = state.all_models_loaded[at];
  if (event.status === "gone" || event.status === "failed" || event.status === "evicting") {
    if (one) {
      state.all_models_loaded.splice(at, 1);
      if (event.status === "evicting") state.stopping.push({ ...one, status: "evicting", leaving: event.reason });
    }
    if (event.status !== "evicting") state.stopping = state.stopping.filter((other) => other.model_name !== event.model);
    return event.status === "failed" ? "reload" : "memory";
  }
  if (!one) return event.status === "ready" || event.status === "in_use" ? "reload" : "same";
  const before = one.status;
  one.status = event.status;
  one.active_requests = event.active_requests;
  one.pinned = event.pinned;
  one.leaving = event.reason;
  one.stays = event.stays;
  one.downsize_at = event.downsize_at;
  one.evict_at = event.evict_at;
  if (event.active_requests === 0) one.last_use = Math.max(one.last_use, event.from === "in_use" ? event.time : 0);
  return (before === "downsized") !== (event.status === "downsized") ? "memory" : "same";
}

export function applyLoad(state: Residency, event: LoadEvent): "same" | "reload" {
  if (event.stage === "started" || event.stage === "progress") {
    const known = state.loading?.model === event.model ? state.loading : null;
    state.loading = {
      model: event.model,
      type: event.type,
      progress: event.progress,
      since: known?.since ?? event.time,
      waiters: known?.waiters ?? state.load_queue.find((one) => one.model === event.model)?.waiters ?? 1,
      attempt: event.attempt,
      aborting: false,
    };
    state.failures = state.failures?.filter((one) => one.model !== event.model || one.under_requests);
    return "same";
  }
  if (state.loading?.model === event.model) state.loading = null;
  // The whole entry of the instance, or of its failure, is in health only.
  return "reload";
}

export function applyPin(state: Residency, { model, pinned }: { model: string; pinned: boolean }): "memory" | "reload" {
  const one = state.all_models_loaded.find((other) => other.model_name === model);
  if (!one) return "memory";
  one.pinned = pinned;
  if (!pinned) return "reload"; // what idleness will do to it is in health only
  [one.stays, one.downsize_at, one.evict_at] = ["pinned", null, null];
  return "memory";
}
