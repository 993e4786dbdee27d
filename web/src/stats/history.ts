// GET stats/history and what the page makes of it. Pure functions.
import { bytes, counted } from "../lib/format";

export interface Totals {
  requests: number;
  failed_requests: number;
  refused_requests: number;
  cancelled_requests: number;
  input_tokens: number; // with cached ones
  cached_tokens: number;
  output_tokens: number;
  loads: number;
  failed_loads: number;
  aborted_loads: number;
  evictions: number;
  unloads: number;
  crashes: number;
}
export type Column = (number | null)[];
export interface PoolHistory {
  id: string;
  name: string;
  total_bytes: number;
  models_bytes: Column; // null: not measured
  other_bytes: Column;
  free_bytes: Column;
}
// Columns have one value for each row; rows are in the order of their time.
export interface History {
  time: number; // epoch ms, by the server's clock, as all times
  started: number;
  uptime_ms: number;
  interval_ms: number;
  memory_interval_ms: number;
  totals: Totals;
  columns: {
    time: number[];
    running_requests: number[];
    queued_requests: number[];
    load_queue_models: number[];
    load_queue_requests: number[];
    input_tokens_per_second: number[];
    output_tokens_per_second: number[];
    requests: number[];
    failed_requests: number[];
    loads: number[];
    failed_loads: number[];
    evictions: number[];
  };
  pools: PoolHistory[];
}

// True: the server has just started, and its first row comes within one interval. Other pages may have used all
// requests of this minute, so the page that shows nothing yet doesn't wait for the budget.
export const isEmpty = (history: History | null): boolean => history?.columns.time.length === 0;

// In ms. Later there are three more rows each time.
export const rereadAfter = (history: History | null): number => (isEmpty(history) ? 1 : 3) * (history?.interval_ms ?? 10_000);

const kHour = 3_600_000;
const kMinute = 60_000;
const kShortest = 10 * kMinute;

// The time that plots show, in ms: the last hour, or less if the server has recorded less.
export function shownTime({ time, columns }: History): [number, number] {
  const first = columns.time[0] ?? time;
  return [Math.max(time - kHour, Math.min(first, time - kShortest)), time];
}

// Ends a line where rows are missing: the machine was asleep, or the clock was changed.
export function withGaps(times: number[], columns: Column[], interval: number): { times: number[]; columns: Column[] } {
  const gaps = times.flatMap((time, i) => (i > 0 && time - times[i - 1]! > 3 * interval ? [i] : []));
  if (gaps.length === 0) return { times, columns };
  const insert = <T>(values: T[], between: (i: number) => T) => values.flatMap((value, i) => (gaps.includes(i) ? [between(i), value] : [value]));
  return {
    times: insert(times, (i) => times[i - 1]! + interval),
    columns: columns.map((column) => insert<number | null>(column, () => null)),
  };
}

// Sums of each minute of the server's clock; the time is the middle of the minute. Minutes without rows are left out.
export function perMinute(times: number[], columns: number[][]): { times: number[]; columns: number[][] } {
  const minutes = new Map<number, number[]>();
  times.forEach((time, row) => {
    const minute = Math.floor((time - 1) / kMinute);
    const sums = minutes.get(minute) ?? columns.map(() => 0);
    columns.forEach((column, i) => (sums[i]! += column[row] ?? 0));
    minutes.set(minute, sums);
  });
  const all = [...minutes];
  return { times: all.map(([minute]) => (minute + 0.5) * kMinute), columns: columns.map((_, i) => all.map(([, sums]) => sums[i]!)) };
}

// The sum of two columns; null if one is not measured.
export const plus = (a: Column, b: Column): Column => a.map((value, i) => (value == null || b[i] == null ? null : value + b[i]!));

export const requests = (count: number): string => counted(count, "request");
export const models = (count: number): string => counted(count, "model");
export const tokenRate = (rate: number): string => `${rate.toLocaleString("en", { maximumFractionDigits: rate < 10 ? 1 : 0 })} tokens/s`;
export const shownOr = (value: number | null | undefined, show: (value: number) => string): string => (value == null ? "not measured" : show(value));

export const clock = (time: number, seconds = false): string =>
  new Date(time).toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit", ...(seconds ? { second: "2-digit" } : {}) });

// What a plot shows, in words.
export function inWords(label: string, values: Column, show: (value: number) => string): string {
  const known = values.filter((value) => value != null);
  if (known.length === 0) return `${label}: not measured`;
  return `${label}: ${shownOr(values.at(-1), show)} now, at most ${show(Math.max(...known))}`;
}

export interface Figure {
  label: string;
  value: string;
  detail: string;
}
// The numbers since the start.
export function figures({ totals }: History): Figure[] {
  const number = (count: number) => count.toLocaleString("en");
  const list = (parts: [number, string][]) => parts.flatMap(([count, what]) => (count > 0 ? [`${number(count)} ${what}`] : [])).join(", ");
  return [
    { label: "Requests", value: number(totals.requests), detail: list([[totals.failed_requests, "failed"], [totals.refused_requests, "refused"], [totals.cancelled_requests, "cancelled"]]) },
    { label: "Tokens of prompts", value: number(totals.input_tokens), detail: list([[totals.cached_tokens, "of them cached"]]) },
    { label: "Tokens generated", value: number(totals.output_tokens), detail: "" },
    { label: "Loads", value: number(totals.loads), detail: list([[totals.failed_loads, "failed"], [totals.aborted_loads, "aborted"]]) },
    { label: "Evictions", value: number(totals.evictions), detail: list([[totals.unloads, "unloaded on request"], [totals.crashes, totals.crashes === 1 ? "crash" : "crashes"]]) },
  ];
}

export interface TableColumn {
  title: string;
  values: Column;
  show: (value: number) => string;
}
export function tableColumns({ columns, pools }: History): TableColumn[] {
  return [
    { title: "Running", values: columns.running_requests, show: requests },
    { title: "Queued", values: columns.queued_requests, show: requests },
    { title: "Ended", values: columns.requests, show: requests },
    { title: "Failed", values: columns.failed_requests, show: requests },
    { title: "Prompts", values: columns.input_tokens_per_second, show: tokenRate },
    { title: "Generated", values: columns.output_tokens_per_second, show: tokenRate },
    { title: "Load queue", values: columns.load_queue_models, show: models },
    { title: "Waiting for loads", values: columns.load_queue_requests, show: requests },
    { title: "Loads", values: columns.loads, show: models },
    { title: "Failed loads", values: columns.failed_loads, show: models },
    { title: "Evictions", values: columns.evictions, show: models },
    ...pools.flatMap((pool) => [
      { title: `${pool.name} (${pool.id}): models`, values: pool.models_bytes, show: bytes },
      { title: `${pool.name} (${pool.id}): other programs`, values: pool.other_bytes, show: bytes },
    ]),
  ];
}
