import { expect, test } from "vitest";
import { pieces, plain } from "./ansi";

test("colours become names, whether ESC was kept or replaced", () => {
  for (const esc of ["\x1b", "\ufffd"]) {
    expect(pieces(`a${esc}[32mgreen${esc}[0m b${esc}[1;91mloud${esc}[22m soft${esc}[39mend`)).toEqual([
      { text: "a", colour: "", bold: false },
      { text: "green", colour: "green", bold: false },
      { text: " b", colour: "", bold: false },
      { text: "loud", colour: "red", bold: true },
      { text: " soft", colour: "red", bold: false },
      { text: "end", colour: "", bold: false },
    ]);
  }
});

test("an empty parameter resets, and other palettes keep the colour of the text", () => {
  expect(pieces("\x1b[31mx\x1b[my").map((one) => one.colour)).toEqual(["red", ""]);
  expect(pieces("\x1b[38;5;12mx\x1b[38;5;200my\x1b[38;2;1;31;3mz\x1b[48;5;31mw").map((one) => one.colour)).toEqual(["blue", "", "", ""]);
});

test("sequences without a colour disappear", () => {
  expect(plain("\x1b[2K\x1b[1Gload\x1b]0;title\x07ing\ufffd[?25l")).toBe("loading");
  expect(plain("plain [32m and \ufffd stay")).toBe("plain [32m and \ufffd stay");
  expect(plain("\x1b[31m")).toBe("");
  expect(pieces("")).toEqual([]);
});
