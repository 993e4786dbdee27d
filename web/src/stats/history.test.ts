import { expect, test } from "vitest";
import { figures, inWords, perMinute, plus, requests, shownOr, shownTime, tableColumns, tokenRate, withGaps } from "./history";
import { history } from "./history_for_tests";

test("plots show the last hour by the server's clock, or less", () => {
  expect(shownTime(history({ time: 10_000_000, rows: 360 }))).toEqual([6_410_000, 10_000_000]);
  expect(shownTime(history({ time: 10_000_000, rows: 90 }))).toEqual([10_000_000 - 890_000, 10_000_000]);
  expect(shownTime(history({ time: 10_000_000, rows: 3 }))).toEqual([9_400_000, 10_000_000]);
  expect(shownTime(history({ time: 10_000_000, rows: 0 }))).toEqual([9_400_000, 10_000_000]);
});

test("a line ends where rows are missing", () => {
  const times = [0, 10, 20, 100, 110];
  expect(withGaps(times, [[1, 2, 3, 4, 5]], 10)).toEqual({ times: [0, 10, 20, 30, 100, 110], columns: [[1, 2, 3, null, 4, 5]] });
  expect(withGaps([0, 10, 25], [[1, 2, 3]], 10).times).toEqual([0, 10, 25]);
});

test("counts are summed for each minute, and a row at its end belongs to it", () => {
  const { times, columns } = perMinute([10_000, 60_000, 70_000, 200_000], [[1, 2, 4, 8], [0, 0, 1, 0]]);
  expect(times).toEqual([30_000, 90_000, 210_000]);
  expect(columns).toEqual([[3, 4, 8], [0, 1, 0]]);
});

test("what is not measured stays so", () => {
  expect(plus([1, null, 3], [1, 2, null])).toEqual([2, null, null]);
  expect(shownOr(null, String)).toBe("not measured");
  expect(inWords("models", [null, null], String)).toBe("models: not measured");
  expect(inWords("running", [1, 7, 2], requests)).toBe("running: 2 requests now, at most 7 requests");
});

test("numbers have their unit", () => {
  expect([0, 4.25, 42.6, 12_345].map(tokenRate)).toEqual(["0 tokens/s", "4.3 tokens/s", "43 tokens/s", "12,345 tokens/s"]);
  expect(requests(1)).toBe("1 request");
});

test("figures show only what has happened", () => {
  const some = figures(history({ totals: { requests: 1200, failed_requests: 2, loads: 1, evictions: 3, unloads: 1, crashes: 1 } }));
  expect(some[0]).toEqual({ label: "Requests", value: "1,200", detail: "2 failed" });
  expect(some[3]!.detail).toBe("");
  expect(some[4]!.detail).toBe("1 unloaded on request, 1 crash");
});

test("the table has every column of the plots", () => {
  const all = tableColumns(history({ rows: 2 }));
  expect(all.map(({ title }) => title)).toContain("RAM (ram): models");
  expect(new Set(all.map(({ title }) => title)).size).toBe(all.length);
  for (const { values } of all) expect(values).toHaveLength(2);
});
