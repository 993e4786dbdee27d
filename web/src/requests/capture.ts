// Captured bodies as text for people: messages and answers of the usual dialects. Whatever is unknown stays JSON.
import type { Bodies } from "./types";

export interface Part {
  title: string;
  text: string;
}
type Members = Record<string, unknown>;

export const indented = (value: unknown): string => JSON.stringify(value, null, 2);
const members = (value: unknown): Members => (typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Members) : {});
const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
const text = (value: unknown): string => (typeof value === "string" ? value : "");

// Of a message: a text, or a list of parts.
function content(value: unknown): string {
  if (value == null) return "";
  if (typeof value === "string") return value;
  const parts = list(value).map((part) => {
    const { text: its, thinking } = members(part);
    return typeof its === "string" ? its : typeof thinking === "string" ? thinking : typeof part === "string" ? part : indented(part);
  });
  return Array.isArray(value) ? parts.join("\n") : indented(value);
}

function message(value: unknown): Part {
  const { role, type, content: its, reasoning_content, tool_calls, ...rest } = members(value);
  const known = its !== undefined || reasoning_content !== undefined || tool_calls !== undefined;
  const lines = [content(reasoning_content), content(its), tool_calls ? indented(tool_calls) : "", known ? "" : indented(rest)];
  return { title: text(role) || text(type) || "message", text: lines.filter(Boolean).join("\n\n") };
}

export function requestParts(request: unknown): Part[] {
  if (request === null || typeof request !== "object") return [];
  const { messages, system, instructions, prompt, input, ...rest } = members(request);
  const parts: Part[] = [];
  if (system !== undefined) parts.push({ title: "system", text: content(system) });
  if (instructions !== undefined) parts.push({ title: "instructions", text: content(instructions) });
  for (const one of list(messages)) parts.push(message(one));
  if (prompt !== undefined) parts.push({ title: "prompt", text: content(prompt) });
  if (Array.isArray(input) && input.some((one) => "role" in members(one))) parts.push(...input.map(message));
  else if (input !== undefined) parts.push({ title: "input", text: content(input) });
  parts.push({ title: "other fields", text: indented(rest) });
  return parts;
}

interface Said {
  thought: string;
  said: string;
  calls: unknown[];
  end: string;
}

// One answer, or one event of a stream: of OpenAI, of its Responses, of Anthropic, of Ollama.
function add(all: Said, value: unknown): void {
  const one = members(value);
  const choice = members(list(one.choices)[0]);
  const delta = members(choice.delta ?? choice.message ?? one.message);
  all.thought += text(delta.reasoning_content) || text(delta.thinking);
  all.said += content(delta.content) || text(choice.text) || text(one.response);
  all.calls.push(...list(delta.tool_calls));
  all.end ||= text(choice.finish_reason) || text(one.stop_reason) || text(one.done_reason) || text(members(one.delta).stop_reason);
  if (one.type === "content_block_delta") {
    all.said += text(members(one.delta).text);
    all.thought += text(members(one.delta).thinking);
  }
  if (one.type === "response.output_text.delta") all.said += text(one.delta);
  if (one.type === "message") all.said += content(one.content);
  if (one.object === "response") for (const item of list(one.output)) all.said += content(members(item).content);
}

export function answerParts({ answer }: Pick<Bodies, "answer">): Part[] {
  if (answer === null || typeof answer !== "object") return [];
  const { error } = members(answer);
  if (error !== undefined) return [{ title: "error", text: text(members(error).message) || indented(error) }];
  const all: Said = { thought: "", said: "", calls: [], end: "" };
  for (const one of Array.isArray(answer) ? answer : [answer]) add(all, one);
  const failed = Array.isArray(answer) ? answer.map((one) => members(one).error).find((its) => its !== undefined) : undefined;
  const parts = [
    { title: "reasoning", text: all.thought },
    { title: "assistant", text: all.said },
    { title: "tool calls", text: all.calls.length > 0 ? indented(all.calls) : "" },
    { title: "error", text: failed === undefined ? "" : text(members(failed).message) || indented(failed) },
    { title: "finish reason", text: all.end },
  ].filter((part) => part.text !== "");
  return parts.length > 0 ? parts : [{ title: "answer", text: indented(answer) }];
}
