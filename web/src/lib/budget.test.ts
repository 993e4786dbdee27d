import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Budget } from "./budget";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

test("at most so many requests a minute, and one for many calls", async () => {
  const read: string[] = [];
  const budget = new Budget(3, async (what) => void read.push(what));
  for (let i = 0; i < 50; ++i) budget.want("memory");
  budget.want("health");
  await vi.advanceTimersByTimeAsync(1000);
  expect(read).toEqual(["memory", "health"]);
  for (let i = 0; i < 59; ++i) {
    budget.want("memory");
    await vi.advanceTimersByTimeAsync(1000);
  }
  expect(read.length).toBeLessThanOrEqual(4);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(read.at(-1)).toBe("memory");
  budget.end();
  const before = read.length;
  budget.want("health");
  await vi.advanceTimersByTimeAsync(120_000);
  expect(read.length).toBe(before);
});

test("nothing is read until it may be", async () => {
  const read: string[] = [];
  let may = false;
  const budget = new Budget(3, async (what) => void read.push(what), () => may);
  budget.want("memory");
  await vi.advanceTimersByTimeAsync(1000);
  expect(read).toEqual([]);
  may = true;
  budget.resume();
  await vi.advanceTimersByTimeAsync(1000);
  expect(read).toEqual(["memory"]);
});
