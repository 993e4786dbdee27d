// The rows that are shown, as a file. The browser makes it; the server is not asked.
import { tokensPerSecond } from "./activity";
import type { Finished } from "./types";

type Cell = string | number | null | undefined;

const kColumns: [string, (row: Finished) => Cell][] = [
  ["number", (row) => row.number],
  ["id", (row) => row.id],
  ["ended", (row) => new Date(row.ended).toISOString()],
  ["model", (row) => row.model],
  ["key", (row) => row.key],
  ["key_name", (row) => row.key_name],
  ["dialect", (row) => row.dialect],
  ["path", (row) => row.path],
  ["client", (row) => row.client],
  ["prompt_tokens", (row) => row.prompt_tokens],
  ["cached_tokens", (row) => row.cached_tokens],
  ["output_tokens", (row) => row.output_tokens],
  ["first_token_ms", (row) => row.first_token_ms],
  ["duration_ms", (row) => row.duration_ms],
  ["tokens_per_second", (row) => tokensPerSecond(row)?.toFixed(2)],
  ["status", (row) => row.status],
  ["code", (row) => row.code],
  ["node", (row) => row.node],
  ["node_name", (row) => row.node_name],
];

const kFormula = "=+\\-@|%＝＋－＠";
const kAtStart = new RegExp(`^[\\s\\0]*[${kFormula}\\t\\r\\n]`);
const kInside = new RegExp(`([,;\\t\\r\\n"][\\s\\0]*)(?=[${kFormula}])`, "g");

// Clients choose names: a spreadsheet would run a cell that begins like a formula, also after spaces, or after what it
// takes for the end of a cell. An apostrophe makes it text.
export function csvCell(value: Cell): string {
  if (typeof value !== "string") return value == null ? "" : String(value);
  const text = (kAtStart.test(value) ? `'${value}` : value).replace(kInside, "$1'");
  return /[",;\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function csv(rows: readonly Finished[]): string {
  const lines = [kColumns.map(([name]) => name), ...rows.map((row) => kColumns.map(([, cell]) => csvCell(cell(row))))];
  return lines.map((line) => line.join(",") + "\r\n").join("");
}

export const json = (rows: readonly Finished[], filter: object): string => JSON.stringify({ filter, activity: rows }, null, 1) + "\n";

// "corral-requests-2026-11-29T02-00-32.csv"
export const fileName = (what: string, ending: string, now: number): string => `corral-${what}-${new Date(now).toISOString().slice(0, 19).replaceAll(":", "-")}.${ending}`;

export function download(name: string, type: string, text: string): void {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  // Some browsers read the address only after the click.
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
