import { expect, test } from "vitest";
import { continued, joined, kMaxCharacters, kMaxLines, levelOf, lineOf, marked, noteOf, passes } from "./lines";

const kWarning = "2026-03-01 17:04:05.123 warning [router] load of a failed: error 5";

test("the level is that of the server's line, or of a word of a process", () => {
  expect(levelOf(kWarning)).toBe("warning");
  expect(["Error: no such file", "WARN slow", "llama_load: ok", "errors: 0"].map(levelOf)).toEqual(["error", "warning", "info", "info"]);
});

test("the list is bounded by lines and by characters", () => {
  const many = Array.from({ length: kMaxLines + 10 }, (_, i) => lineOf(i, "x"));
  expect(joined(many.slice(0, 20), many.slice(20)).map((line) => line.number).slice(0, 1)).toEqual([10]);
  const long = Array.from({ length: 10 }, (_, i) => lineOf(i, "y".repeat(kMaxCharacters / 4)));
  expect(joined(long, []).map((line) => line.number)).toEqual([6, 7, 8, 9]);
});

test("another connection goes on where the last one ended", () => {
  const old = [lineOf(0, "a"), lineOf(1, "\x1b[32mb"), noteOf(2, "The connection is lost.")];
  expect(continued(old, ["a", "\x1b[32mb", "c"])).toEqual(["c"]);
  expect(continued(old, ["b"])).toEqual([]);
  expect(continued(old, ["x", "y"])).toBeNull();
  expect(continued([], ["x"])).toEqual(["x"]);
});

test("the filter looks at text and level; notes always pass", () => {
  const warning = lineOf(0, kWarning);
  expect(passes(warning, { text: "ROUTER", least: "warning" })).toBe(true);
  expect(passes(warning, { text: "", least: "error" })).toBe(false);
  expect(passes(warning, { text: "api", least: "trace" })).toBe(false);
  expect(passes(noteOf(0, "x"), { text: "api", least: "error" })).toBe(true);
});

test("every second part is a match", () => {
  expect(marked("Error in error", "error")).toEqual(["", "Error", " in ", "error", ""]);
  expect(marked("none", "x")).toEqual(["none"]);
  expect(marked("none", "")).toEqual(["none"]);
  expect(marked("İx", "x")).toEqual(["İx"]);
});
