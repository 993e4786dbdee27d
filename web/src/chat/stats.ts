// What was measured for an answer, as text.
import { percent, tokens } from "../lib/format";
import type { Stats, Usage } from "./types";

export interface Times {
  sent: number; // ms, all by the same clock
  loaded: number; // 0: the model was in memory
  first: number; // 0: no text came
  last: number;
}

// A text that comes in one piece has no speed.
const kShortest = 50; // ms

export function statsOf(model: string, usage: Usage | null, times: Times, context: number): Stats {
  const ready = times.loaded > times.sent ? times.loaded : times.sent;
  const output = usage?.output_tokens ?? 0;
  const time = times.last - times.first;
  return {
    model,
    inputTokens: usage?.input_tokens ?? 0,
    outputTokens: output,
    cachedTokens: usage?.input_tokens_details?.cached_tokens ?? 0,
    loadMs: ready - times.sent,
    firstMs: times.first > 0 ? Math.max(0, times.first - ready) : 0,
    speed: output > 1 && time >= kShortest ? (1000 * (output - 1)) / time : 0,
    context,
  };
}

export function milliseconds(count: number): string {
  if (count < 1000) return `${Math.round(count)} ms`;
  return count < 60_000 ? `${(count / 1000).toFixed(1)} s` : `${Math.round(count / 1000)} s`;
}

export function statsText(stats: Stats): string[] {
  const parts: string[] = [];
  if (stats.outputTokens > 0) parts.push(stats.speed > 0 ? `${tokens(stats.outputTokens)}, ${stats.speed < 10 ? stats.speed.toFixed(1) : Math.round(stats.speed)} tokens/s` : tokens(stats.outputTokens));
  if (stats.loadMs > 0) parts.push(`load of the model ${milliseconds(stats.loadMs)}`);
  if (stats.firstMs > 0) parts.push(`first text after ${milliseconds(stats.firstMs)}`);
  if (stats.inputTokens > 0) parts.push(`prompt ${tokens(stats.inputTokens)}${stats.cachedTokens > 0 ? `, ${stats.cachedTokens.toLocaleString("en")} of them cached` : ""}`);
  const used = stats.inputTokens + stats.outputTokens;
  if (stats.context > 0 && used > 0) parts.push(`context ${used.toLocaleString("en")} of ${tokens(stats.context)} (${percent(used / stats.context)})`);
  return parts;
}

export const contextShare = (stats: Stats): number => (stats.context > 0 ? (stats.inputTokens + stats.outputTokens) / stats.context : 0);
// The last token of a full context may remain free.
export const isContextFull = (stats: Stats): boolean => stats.context > 0 && stats.inputTokens + stats.outputTokens >= stats.context - 1;
