import { expect, test } from "vitest";
import { activityPath, byKey, byModel, chunksOf, filterOf, filterProblem, newerThan, sinceTime, sumsBy, tokensPerSecond } from "./activity";
import type { Finished } from "./types";

const row = (number: number, more: Partial<Finished> = {}): Finished => ({
  number,
  id: `req-${number}`,
  ended: number * 1000,
  model: "a",
  key: "",
  key_name: "",
  dialect: "openai",
  path: "/v1/chat/completions",
  client: "curl/8",
  prompt_tokens: 10,
  cached_tokens: 4,
  output_tokens: 21,
  first_token_ms: 1000,
  duration_ms: 3000,
  status: 200,
  code: "ok",
  ...more,
});
const down = (from: number, to: number) => Array.from({ length: from - to + 1 }, (_, at) => row(from - at));

test("the filter is that of the address", () => {
  const filter = filterOf(new URLSearchParams("model=a%2Fb&status=4xx&since=24h&other=1"));
  expect(filter).toEqual({ model: "a/b", key: "", status: "4xx", code: "", since: "24h" });
  expect(filterProblem(filter)).toBe("");
  expect(activityPath(filter, 5, 200, 7)).toBe("v1/activity?model=a%2Fb&status=4xx&since=5&before=7&limit=200");
  expect(filterProblem({ ...filter, status: "4x" })).toContain("4x");
  expect(filterProblem({ ...filter, since: "yesterday" })).toContain("yesterday");
});

test("a time is an age or an instant", () => {
  expect(sinceTime("", 1e12)).toBe(0);
  expect(sinceTime("15m", 1e12)).toBe(1e12 - 900_000);
  expect(sinceTime("7d", 1e12)).toBe(1e12 - 7 * 86_400_000);
  expect(sinceTime("1700000000000", 1e12)).toBe(1_700_000_000_000);
  expect(sinceTime("-1h", 1e12)).toBeNull();
});

test("chunks keep their rows when newer ones come, and when older ones come", () => {
  const first = chunksOf(down(100, 1), 0, 40);
  expect(first.map(({ id, at, rows }) => [id, at, rows.length])).toEqual([[0, 0, 40], [1, 40, 40], [2, 80, 20]]);
  const known = down(100, 1);
  const fresh = newerThan(known, down(145, 98));
  expect(fresh.length).toBe(45);
  const next = chunksOf([...fresh, ...known], 45, 40);
  expect(next.map(({ id, at, rows }) => [id, at, rows.length])).toEqual([[-2, 0, 5], [-1, 5, 40], [0, 45, 40], [1, 85, 40], [2, 125, 20]]);
  expect(next[2]!.rows).toEqual(first[0]!.rows);
});

test("the speed is that of the stream after its first token", () => {
  expect(tokensPerSecond(row(1))).toBe(10);
  expect(tokensPerSecond(row(1, { first_token_ms: null }))).toBeNull();
  expect(tokensPerSecond(row(1, { first_token_ms: 3000 }))).toBeNull();
  expect(tokensPerSecond(row(1, { output_tokens: null }))).toBeNull();
});

test("sums by model and by key", () => {
  const rows = [row(5), row(4, { code: "cancelled" }), row(3, { model: "b", key: "k1", key_name: "laptop", code: "backend_died", output_tokens: null }), row(2, { key: "k1", key_name: "laptop" })];
  expect(sumsBy(rows, byModel)).toEqual([
    { id: "a", name: "a", requests: 3, failed: 0, cancelled: 1, prompt: 30, cached: 12, output: 63, speed: 10 },
    { id: "b", name: "b", requests: 1, failed: 1, cancelled: 0, prompt: 10, cached: 4, output: 0, speed: null },
  ]);
  expect(sumsBy(rows, byKey).map(({ id, name, requests }) => [id, name, requests])).toEqual([["", "", 2], ["k1", "laptop", 2]]);
});
