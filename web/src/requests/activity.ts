// Finished requests: the filter in the address, pages, sums. Pure functions.
import type { Finished } from "./types";

export interface Filter {
  model: string;
  key: string;
  status: string;
  code: string;
  since: string; // "15m", "24h", "7d", or epoch ms
}
export const kFilters = ["model", "key", "status", "code", "since"] as const;

export function filterOf(query: URLSearchParams): Filter {
  const [model, key, status, code, since] = kFilters.map((name) => (query.get(name) ?? "").trim());
  return { model: model!, key: key!, status: status!, code: code!, since: since! };
}

const kUnits: Record<string, number> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

// Epoch ms; null: not a time.
export function sinceTime(since: string, now: number): number | null {
  if (since === "") return 0;
  const age = /^(\d{1,6})([smhd])$/.exec(since);
  if (age) return Math.max(0, Math.round(now - Number(age[1]) * kUnits[age[2]!]!));
  return /^\d{1,15}$/.test(since) ? Number(since) : null;
}

// What is wrong with the filter; empty: nothing.
export function filterProblem(filter: Filter): string {
  if (filter.status !== "" && !/^[1-9](\d\d|xx)$/.test(filter.status)) return `The status is a number such as 404, or a group such as 4xx, not "${filter.status}".`;
  if (sinceTime(filter.since, Date.now()) === null) return `The time is an age such as 30m, 24h or 7d, not "${filter.since}".`;
  return "";
}

export function activityPath(filter: Filter, since: number, limit: number, before?: number): string {
  const query = new URLSearchParams();
  for (const name of ["model", "key", "status", "code"] as const) if (filter[name] !== "") query.set(name, filter[name]);
  if (since > 0) query.set("since", String(since));
  if (before !== undefined) query.set("before", String(before));
  query.set("limit", String(limit));
  return `v1/activity?${query}`;
}

// Only the rows that are newer than all known ones.
export function newerThan(known: readonly Finished[], rows: Finished[]): Finished[] {
  const last = known[0]?.number ?? -1;
  return rows.filter((row) => row.number > last);
}

export interface Chunk {
  id: number;
  at: number; // index of its first row
  rows: Finished[];
}
// Chunks keep their rows when `prepended` newer rows came before them, so that only new rows are made.
export function chunksOf(rows: readonly Finished[], prepended: number, size: number): Chunk[] {
  const chunks: Chunk[] = [];
  for (let at = 0; at < rows.length; ) {
    const id = Math.floor((at - prepended) / size);
    const end = Math.min(rows.length, (id + 1) * size + prepended);
    chunks.push({ id, at, rows: rows.slice(at, end) });
    at = end;
  }
  return chunks;
}

// Below that, the end of a stream says more about the network than about the model.
const kShortestStream = 50;

// Of the output, after its first token: the wait for the model and the prompt don't count. Null: not known, because
// the answer wasn't streamed or was too short.
export function tokensPerSecond(row: Pick<Finished, "output_tokens" | "first_token_ms" | "duration_ms">): number | null {
  if (row.first_token_ms === null || row.output_tokens === null || row.output_tokens < 2) return null;
  const took = row.duration_ms - row.first_token_ms;
  return took < kShortestStream ? null : ((row.output_tokens - 1) * 1000) / took;
}

export interface Sum {
  id: string; // value of the filter
  name: string;
  requests: number;
  failed: number; // not ok, not cancelled
  cancelled: number;
  prompt: number;
  cached: number;
  output: number;
  speed: number | null; // mean of the streams
}

export function sumsBy(rows: readonly Finished[], group: (row: Finished) => { id: string; name: string }): Sum[] {
  const all = new Map<string, Sum & { streamed: number; took: number }>();
  for (const row of rows) {
    const { id, name } = group(row);
    let sum = all.get(id);
    if (!sum) all.set(id, (sum = { id, name, requests: 0, failed: 0, cancelled: 0, prompt: 0, cached: 0, output: 0, speed: null, streamed: 0, took: 0 }));
    sum.requests += 1;
    if (row.code === "cancelled") sum.cancelled += 1;
    else if (row.code !== "ok") sum.failed += 1;
    sum.prompt += row.prompt_tokens ?? 0;
    sum.cached += row.cached_tokens ?? 0;
    sum.output += row.output_tokens ?? 0;
    if (tokensPerSecond(row) !== null) {
      sum.streamed += row.output_tokens! - 1;
      sum.took += row.duration_ms - row.first_token_ms!;
    }
  }
  const sums = [...all.values()].map(({ streamed, took, ...sum }) => ({ ...sum, speed: took > 0 ? (streamed * 1000) / took : null }));
  return sums.sort((a, b) => b.requests - a.requests || a.name.localeCompare(b.name));
}

export const byModel = (row: Finished) => ({ id: row.model, name: row.model });
export const byKey = (row: Finished) => ({ id: row.key, name: row.key_name || row.key });
