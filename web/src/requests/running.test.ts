import { expect, test } from "vitest";
import type { Residency } from "../lib/types";
import { ageOf, countText, readInterval, speedOf, stateOf, waitedOf } from "./running";
import type { Running } from "./types";

const row = (more: Partial<Running> = {}): Running => ({ id: "r", kind: "inference", model: "a", path: "/v1/chat/completions", stream: true, status: "running", since: 10_000, age_ms: 2_000, waited_ms: 500, output_tokens: 0, ...more });
const state = (more: Partial<Residency> = {}): Residency => ({ all_models_loaded: [], stopping: [], max_models: {}, loading: null, load_queue: [], shares: [], ...more });

test("ages go on between readings", () => {
  expect(ageOf(row(), 15_000)).toBe(5_000);
  expect(ageOf(row(), 9_000)).toBe(2_000);
  expect(waitedOf(row(), 15_000)).toBe(500);
  expect(waitedOf(row({ status: "queued", waited_ms: 2_000 }), 15_000)).toBe(5_000);
});

test("the speed is that between two readings, else the mean", () => {
  const now = row({ age_ms: 6_000, output_tokens: 41, first_token_ms: 2_000 });
  expect(speedOf(now, undefined)).toEqual({ perSecond: 10, mean: true });
  expect(speedOf(now, row({ age_ms: 4_000, output_tokens: 1 }))).toEqual({ perSecond: 20, mean: false });
  expect(speedOf(now, row({ age_ms: 4_000, output_tokens: 0 }))).toEqual({ perSecond: 10, mean: true });
  expect(speedOf(row(), undefined)).toBeNull();
});

test("a request waits for a reason", () => {
  const load = { model: "a", type: "llm" as const, position: 2, waiting_ms: 1, waiters: 1, checking: false, waiting_for: ["b"] };
  const waiting = row({ status: "queued" });
  expect(stateOf(waiting, state({ load_queue: [load] }), undefined)).toMatchObject({ text: "waiting", detail: "place 2 in the load queue, until b has stopped" });
  const loading = { model: "a", type: "llm" as const, progress: 0.4, since: 1, waiters: 1, attempt: 1, aborting: false };
  expect(stateOf(waiting, state({ loading }), undefined).text).toBe("loading 40 %");
  expect(stateOf(waiting, state(), undefined).detail).toBe("for its model");
});

test("events show that a request has ended before the list is read again", () => {
  expect(stateOf(row(), state(), 13_000).text).toBe("ended");
  expect(stateOf(row(), state(), 11_000).detail).toBe("computes the prompt");
  expect(stateOf(row({ node: "n" }), state(), 13_000).text).toBe("running");
  expect(stateOf(row({ status: "queued" }), state(), 13_000).text).toBe("waiting");
});

test("an idle page reads once a minute", () => {
  expect(readInterval(false, false, true)).toBe(60_000);
  expect(readInterval(true, false, true)).toBeLessThan(readInterval(true, true, false));
  expect(countText([])).toBe("Nothing runs or waits");
  expect(countText([row(), row({ status: "queued" }), row({ status: "queued" })])).toBe("1 request runs, 2 requests wait");
});
