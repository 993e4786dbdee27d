// Items of a conversation as text, and as turns of the page.
import type { Item, Part } from "./types";

function textIn(content: string | Part[] | undefined): string {
  if (typeof content === "string") return content;
  return (content ?? [])
    .map((part) => part.text ?? part.refusal ?? (part.type === "input_image" ? "[image]" : part.type === "input_file" ? `[file ${part.filename ?? ""}]` : ""))
    .join("");
}

export const textOf = (item: Item): string => textIn(item.content);
export const outputOf = (item: Item): string => textIn(item.output);
export const reasoningOf = (item: Item): string => textIn(item.content) || textIn(item.summary);
export const isCall = (item: Item): boolean => item.type === "function_call" || item.type === "custom_tool_call";
export const isCallOutput = (item: Item): boolean => item.type === "function_call_output" || item.type === "custom_tool_call_output";
export const isUser = (item: Item): boolean => (item.type ?? "message") === "message" && item.role === "user";

export const userItem = (text: string): Item => ({ type: "message", role: "user", content: text });
export function outputItem(call: Item, text: string): Item {
  return { type: call.type === "custom_tool_call" ? "custom_tool_call_output" : "function_call_output", call_id: call.call_id, output: text };
}

// Arguments as indented JSON, or as they are.
export function argumentsOf(call: Item): string {
  const text = call.arguments ?? call.input ?? "";
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

// Calls of the last answer that have no result yet.
export function openCalls(items: readonly Item[]): Item[] {
  const answered = new Set(items.filter(isCallOutput).map((item) => item.call_id));
  const last = items.findLastIndex(isUser);
  return items.slice(last + 1).filter((item) => isCall(item) && !answered.has(item.call_id));
}

// A message of the user, or all items between two of these.
export interface Turn {
  user: boolean;
  start: number; // index of the first item
  items: Item[];
}
export function turnsOf(items: readonly Item[]): Turn[] {
  const turns: Turn[] = [];
  items.forEach((item, index) => {
    const user = isUser(item);
    const last = turns.at(-1);
    if (user || !last || last.user) turns.push({ user, start: index, items: [item] });
    else last.items.push(item);
  });
  return turns;
}

// Where the answer starts that another try replaces: after the last message of the user or result of a tool.
export const lastAnswerStart = (items: readonly Item[]): number => items.findLastIndex((item) => isUser(item) || isCallOutput(item)) + 1;

const kLongestTitle = 80;
export function titleOf(text: string): string {
  const line = text.trim().split("\n", 1)[0]!.replaceAll(/\s+/g, " ").trim();
  const letters = [...line];
  return letters.length <= kLongestTitle ? line || "Chat" : `${letters.slice(0, kLongestTitle - 1).join("")}…`;
}
