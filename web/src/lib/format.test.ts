import { expect, test } from "vitest";
import { bytes, counted, duration, parameters, percent, tokens } from "./format";

test("bytes have binary units and few digits", () => {
  expect([0, 900, 1024, 1536, 150 * 1024, 12.5 * 2 ** 30, 2 ** 50].map(bytes)).toEqual([
    "0 B", "900 B", "1.0 KiB", "1.5 KiB", "150 KiB", "12.5 GiB", "1024 TiB",
  ]);
});

test("durations have their two largest units", () => {
  expect([0, 400, 45_000, 60_000, 200_000, 7_500_000, 356_400_000].map(duration)).toEqual([
    "0 s", "0 s", "45 s", "1 min", "3 min 20 s", "2 h 5 min", "4 d 3 h",
  ]);
});

test("every number has its unit", () => {
  expect(percent(0.426)).toBe("43 %");
  expect(percent(1.7)).toBe("100 %");
  expect(tokens(131072)).toBe("131,072 tokens");
  expect(counted(1, "request")).toBe("1 request");
  expect(counted(3, "request")).toBe("3 requests");
  expect(parameters(8_030_000_000)).toBe("8.0 B parameters");
});
