// Settings as texts, and back to what the server accepts. Pure functions.
import type { Setting, SettingValue } from "./types";

// One text for a line, also for an editor of one line. Lists of paths have a line for each (isLines).
export function textOf(value: SettingValue): string {
  if (value === null) return "";
  if (!Array.isArray(value)) return String(value);
  return value.join(value.every((one) => typeof one === "number") ? " " : "\n");
}

export const isSwitch = (setting: Setting): boolean => typeof setting.value === "boolean";
export const isPaths = (setting: Setting): boolean => Array.isArray(setting.value) && !setting.value.every((one) => typeof one === "number");
export const isLines = (setting: Setting): boolean => setting.several_lines === true || isPaths(setting);

// The value that the text of an editor means. The server turns texts into numbers.
export function valueOf(setting: Setting, text: string): SettingValue {
  if (isSwitch(setting)) return text === "true";
  if (isPaths(setting)) return text.split("\n").map((line) => line.trim()).filter((line) => line !== "");
  return setting.several_lines ? text : text.trim();
}

// The value after a restart: what an editor starts with.
export const wanted = (setting: Setting): SettingValue => (setting.after_restart !== undefined ? setting.after_restart : setting.value);

export const shown = (text: string): string => (text === "" ? "none" : text === "true" ? "on" : text === "false" ? "off" : text);

export function sourceText(setting: Setting): string {
  switch (setting.source) {
    case "default":
      return "default";
    case "set":
      return "set at run time";
    case "file":
      return `from the file, ${setting.where}`;
    case "environment":
      return `fixed by the variable ${setting.where}`;
    case "flag":
      return `fixed by the flag ${setting.where}`;
  }
}

// Why it can't be changed here; "": it can.
export function fixedBecause(setting: Setting): string {
  if (setting.settable === false) return "This setting can be given only at the start of the server.";
  if (setting.source !== "environment" && setting.source !== "flag") return "";
  return `${setting.where} was given at the start of the server: restart it without ${setting.where} to change the value here.`;
}

export function appliesText(applies: Setting["applies"]): string {
  return { now: "applies at once", next_load: "applies from the next load of a model on", restart: "applies after a restart of the server" }[applies];
}

export const hasSetValue = (setting: Setting): boolean => setting.source === "set" || setting.after_restart !== undefined;

export type Show = "" | "changed" | "restart" | "fixed";

export function matches(name: string, setting: Setting, text: string, show: Show): boolean {
  if (show === "changed" && setting.source === "default" && setting.after_restart === undefined) return false;
  if (show === "restart" && setting.after_restart === undefined) return false;
  if (show === "fixed" && fixedBecause(setting) === "") return false;
  const all = [name, name.replaceAll("_", " "), setting.group, setting.meaning, textOf(setting.value), textOf(wanted(setting)), sourceText(setting)].join("\n").toLowerCase();
  return text.toLowerCase().split(/\s+/).every((part) => all.includes(part));
}

export interface Row {
  name: string;
  setting: Setting;
}
export interface Group {
  title: string;
  rows: Row[];
}

// In the order of the server.
export function grouped(settings: Record<string, Setting>): Group[] {
  const groups = new Map<string, Row[]>();
  for (const [name, setting] of Object.entries(settings)) {
    const title = setting.group ?? "All settings";
    groups.set(title, [...(groups.get(title) ?? []), { name, setting }]);
  }
  return [...groups].map(([title, rows]) => ({ title, rows }));
}
