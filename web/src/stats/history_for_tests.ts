import type { History, Totals } from "./history";

const kNone: Totals = {
  requests: 0, failed_requests: 0, refused_requests: 0, cancelled_requests: 0, input_tokens: 0, cached_tokens: 0, output_tokens: 0,
  loads: 0, failed_loads: 0, aborted_loads: 0, evictions: 0, unloads: 0, crashes: 0,
};

export function history({ time = 10_000_000, rows = 3, totals = {}, name = "RAM" }: { time?: number; rows?: number; totals?: Partial<Totals>; name?: string }): History {
  const column = (value: number) => Array.from({ length: rows }, () => value);
  return {
    time, started: time - 5_000_000, uptime_ms: 5_000_000, interval_ms: 10_000, memory_interval_ms: 30_000,
    totals: { ...kNone, ...totals },
    columns: {
      time: Array.from({ length: rows }, (_, i) => time - 10_000 * (rows - 1 - i)),
      running_requests: column(2), queued_requests: column(1), load_queue_models: column(1), load_queue_requests: column(3),
      input_tokens_per_second: column(120.5), output_tokens_per_second: column(40), requests: column(5), failed_requests: column(0),
      loads: column(1), failed_loads: column(0), evictions: column(1),
    },
    pools: [{ id: "ram", name, total_bytes: 2 ** 34, models_bytes: column(2 ** 32), other_bytes: column(2 ** 31), free_bytes: Array.from({ length: rows }, () => null) }],
  };
}
