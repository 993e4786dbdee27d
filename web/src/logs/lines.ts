// Lines of a log: their level, a bounded list of them, and the filter. Pure.
import { pieces, plain, type Piece } from "./ansi";

export type Level = "trace" | "debug" | "info" | "warning" | "error" | "note";
export const kLevels: Level[] = ["trace", "debug", "info", "warning", "error"];

export interface Line {
  number: number; // ascending, unique in the list
  text: string; // without ANSI sequences
  level: Level; // note: of this page, not of the log
  pieces: Piece[];
}

export const kMaxLines = 3000;
export const kMaxCharacters = 2_000_000;

const kServerLine = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ (trace|debug|info|warning|error)\b/;

// Processes have no levels: a line that names an error is shown as one.
export function levelOf(text: string): Level {
  const named = kServerLine.exec(text)?.[1];
  if (named) return named as Level;
  if (/\b(error|fatal|critical)\b/i.test(text)) return "error";
  return /\bwarn(ing)?\b/i.test(text) ? "warning" : "info";
}

export function lineOf(number: number, raw: string): Line {
  const text = plain(raw);
  return { number, text, level: levelOf(text), pieces: pieces(raw) };
}
export function noteOf(number: number, text: string): Line {
  return { number, text, level: "note", pieces: [{ text, colour: "", bold: false }] };
}

// The newest of both, within the bounds.
export function joined(old: Line[], more: Line[]): Line[] {
  const all = [...old, ...more].slice(-kMaxLines);
  let characters = 0;
  let from = all.length;
  while (from > 0 && (characters += all[from - 1]!.text.length) <= kMaxCharacters) from -= 1;
  return from === 0 ? all : all.slice(from);
}

// What is new in the first lines of another connection; null: they don't continue the list.
export function continued(old: Line[], fresh: string[]): string[] | null {
  const last = old.findLast((line) => line.level !== "note");
  if (!last) return fresh;
  const at = fresh.findLastIndex((raw) => plain(raw) === last.text);
  return at < 0 ? null : fresh.slice(at + 1);
}

export interface LogFilter {
  text: string;
  least: Level;
}
export function passes(line: Line, filter: LogFilter): boolean {
  if (line.level === "note") return true;
  return kLevels.indexOf(line.level) >= kLevels.indexOf(filter.least) && line.text.toLowerCase().includes(filter.text.toLowerCase());
}

// The parts of a text, every second of which is a match.
export function marked(text: string, search: string): string[] {
  if (search === "") return [text];
  const parts: string[] = [];
  const [all, wanted] = [text.toLowerCase(), search.toLowerCase()];
  // Some letters get longer in lower case: their places would be wrong.
  if (all.length !== text.length) return [text];
  let from = 0;
  for (let at = all.indexOf(wanted); at >= 0; at = all.indexOf(wanted, from)) {
    parts.push(text.slice(from, at), text.slice(at, at + wanted.length));
    from = at + wanted.length;
  }
  parts.push(text.slice(from));
  return parts;
}
