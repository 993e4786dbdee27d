import { expect, test } from "vitest";
import type { Setting } from "./types";
import { fixedBecause, grouped, hasSetValue, isLines, matches, sourceText, textOf, valueOf, wanted } from "./values";

const plain: Setting = { value: 8, source: "default", where: "default", default: "8", applies: "next_load", group: "Running a model", meaning: "Concurrent requests per model; more wait." };

test("values become texts and texts become values", () => {
  expect([8, true, "5m", null, ["/a", "/b"], [5, 2], []].map((value) => textOf(value))).toEqual(["8", "true", "5m", "", "/a\n/b", "5 2", ""]);
  expect(valueOf(plain, " 12 ")).toBe("12");
  expect(valueOf({ ...plain, value: false }, "true")).toBe(true);
  expect(valueOf({ ...plain, value: ["/a"] }, " /a \n\n/b")).toEqual(["/a", "/b"]);
  expect(valueOf({ ...plain, value: [5, 2] }, "5 3")).toBe("5 3");
  expect(valueOf({ ...plain, value: "", several_lines: true }, "a\n b\n")).toBe("a\n b\n");
  expect([plain, { ...plain, value: ["/a"] }, { ...plain, value: [5, 2] }, { ...plain, several_lines: true }].map(isLines)).toEqual([false, true, false, true]);
});

test("a value that waits for a restart is what the editor shows", () => {
  expect(wanted(plain)).toBe(8);
  expect(wanted({ ...plain, after_restart: 4 })).toBe(4);
  expect(wanted({ ...plain, value: true, after_restart: false })).toBe(false);
  expect([plain, { ...plain, source: "set" as const }, { ...plain, after_restart: 4 }].map(hasSetValue)).toEqual([false, true, true]);
});

test("what the start of the server fixes says what to do", () => {
  expect(fixedBecause(plain)).toBe("");
  expect(fixedBecause({ ...plain, source: "flag", where: "--parallel" })).toContain("restart it without --parallel");
  expect(fixedBecause({ ...plain, settable: false })).toContain("at the start");
  expect(sourceText({ ...plain, source: "file", where: "config.toml:3" })).toBe("from the file, config.toml:3");
});

test("the filter looks at names, meanings, values and sources", () => {
  const finds = (text: string) => matches("parallel", plain, text, "");
  expect(["", "PARALLEL", "requests model", "running", "default"].map(finds)).toEqual([true, true, true, true, true]);
  expect(["port", "requests port"].map(finds)).toEqual([false, false]);
  expect(matches("parallel", plain, "", "changed")).toBe(false);
  expect(matches("parallel", { ...plain, source: "set" }, "", "changed")).toBe(true);
  expect(matches("parallel", { ...plain, after_restart: 4 }, "", "restart")).toBe(true);
  expect(matches("parallel", { ...plain, source: "environment", where: "CORRAL_PARALLEL" }, "", "fixed")).toBe(true);
});

test("groups keep the order of the server; older servers have one", () => {
  const groups = grouped({ a: { ...plain, group: "X" }, b: { ...plain, group: "Y" }, c: { ...plain, group: "X" } });
  expect(groups.map(({ title, rows }) => [title, rows.map((row) => row.name)])).toEqual([["X", ["a", "c"]], ["Y", ["b"]]]);
  const { group: _, ...older } = plain;
  expect(grouped({ a: older }).map(({ title }) => title)).toEqual(["All settings"]);
});
