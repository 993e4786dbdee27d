import { expect, test } from "vitest";
import { clock, resultClass, speed, took } from "./text";

test("times and speeds have units", () => {
  expect(took(421)).toBe("421 ms");
  expect(took(4_210)).toBe("4.2 s");
  expect(took(9_960)).toBe("10 s");
  expect(took(200_000)).toBe("3 min 20 s");
  expect(speed(12.34)).toBe("12.3 tokens/s");
  expect(speed(1234.5)).toBe("1,235 tokens/s");
});

test("a time of another day has its date", () => {
  const at = new Date(2026, 1, 3, 4, 5, 6).getTime();
  expect(clock(at, at + 1000)).toBe("04:05:06");
  expect(clock(at, at + 86_400_000)).toBe("2026-02-03 04:05:06");
});

test("results have a kind", () => {
  expect(resultClass(200, "ok")).toBe("ready");
  expect(resultClass(200, "cancelled")).toBe("warn");
  expect(resultClass(404, "model_not_found")).toBe("warn");
  expect(resultClass(200, "failed")).toBe("failed");
});
