// Requests that run or wait: their state in words and their speed. Pure functions.
import { counted, percent } from "../lib/format";
import type { Residency } from "../lib/types";
import { waitsFor } from "../models/state";
import type { Running } from "./types";

// Rows and events have the server's time; so has `now`.
export const seenAt = (row: Running): number => row.since + row.age_ms;
export const ageOf = (row: Running, now: number): number => Math.max(row.age_ms, now - row.since);
export const waitedOf = (row: Running, now: number): number => (row.status === "queued" ? Math.max(row.waited_ms, row.waited_ms + now - seenAt(row)) : row.waited_ms);

export interface RunningState {
  word: string; // class
  text: string;
  detail: string;
}

// `idleSince`: when the last request to its model ended, by the events.
export function stateOf(row: Running, state: Residency, idleSince: number | undefined): RunningState {
  if (state.loading?.model === row.model && (row.status === "queued" || row.kind === "load"))
    return { word: "loading", text: state.loading.aborting ? "load ends" : `loading ${percent(state.loading.progress)}`, detail: row.kind === "load" ? "an order to load" : "waits for this load" };
  if (row.status === "queued") {
    const load = state.load_queue.find((one) => one.model === row.model);
    return { word: "waiting", text: "waiting", detail: load ? `place ${load.position} in the load queue, ${waitsFor(load)}` : "for its model" };
  }
  if (row.kind === "load") return { word: "loading", text: "loading", detail: "an order to load" };
  if (!row.node && idleSince !== undefined && idleSince > seenAt(row)) return { word: "", text: "ended", detail: "its result is below after the next reading" };
  if (!row.stream) return { word: "busy", text: "running", detail: "not streamed: its tokens are known at its end" };
  return row.first_token_ms === undefined ? { word: "busy", text: "running", detail: "computes the prompt" } : { word: "busy", text: "running", detail: "" };
}

// Of two readings, else the mean since the first token. Null: not known yet.
export function speedOf(row: Running, before: Running | undefined): { perSecond: number; mean: boolean } | null {
  const count = row.output_tokens ?? 0;
  if (before?.output_tokens !== undefined && before.output_tokens > 0 && seenAt(row) > seenAt(before))
    return { perSecond: Math.max(0, ((count - before.output_tokens) * 1000) / (seenAt(row) - seenAt(before))), mean: false };
  if (row.first_token_ms === undefined || count < 2) return null;
  const took = row.age_ms - row.first_token_ms;
  return took < 50 ? null : { perSecond: ((count - 1) * 1000) / took, mean: true };
}

// Of all models of this machine, by the events: also requests that the list doesn't have yet.
export const activeCount = (state: Residency): number => [...state.all_models_loaded, ...state.stopping].reduce((sum, one) => sum + one.active_requests, 0);

export function countText(rows: readonly Running[]): string {
  const running = rows.filter((row) => row.status === "running").length;
  const waiting = rows.length - running;
  if (rows.length === 0) return "Nothing runs or waits";
  return [running > 0 ? `${counted(running, "request")} ${running === 1 ? "runs" : "run"}` : "", waiting > 0 ? `${counted(waiting, "request")} ${waiting === 1 ? "waits" : "wait"}` : ""].filter(Boolean).join(", ");
}

const kAfterChange = 6_000, kWhileBusy = 15_000, kIdle = 60_000;

// When the list is to be read again, after its last reading. Live's budget limits all reads of the page.
export function readInterval(changed: boolean, busy: boolean, empty: boolean): number {
  if (changed) return empty ? 1_000 : kAfterChange;
  return busy ? kWhileBusy : kIdle;
}
