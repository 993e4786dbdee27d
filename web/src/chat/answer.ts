// Puts together an answer from its events.
import type { ServerSentEvent } from "../lib/api";
import type { Failure, Item, Part, ResponseDocument, Usage } from "./types";

export interface Answer {
  items: Item[];
  ended: "" | "completed" | "incomplete" | "failed"; // "": it is being generated
  incomplete: string; // why
  failure: Failure | null;
  usage: Usage | null;
}
export const kNoAnswer: Answer = { items: [], ended: "", incomplete: "", failure: null, usage: null };

interface EventData {
  output_index: number;
  item?: Item;
  delta?: string;
  response?: ResponseDocument;
  error?: Failure;
  message?: string;
  code?: string;
}

const isText = (type: string): boolean => type.endsWith("_text.delta");

export class AnswerReader {
  private readonly items: Item[] = [];
  private readonly texts: string[] = [];
  private rest: Omit<Answer, "items"> = kNoAnswer;
  begun = false; // there is text, or a call

  push({ name, data }: ServerSentEvent): void {
    if (data === "[DONE]") return;
    const event = JSON.parse(data) as EventData;
    if (name === "response.output_item.added" || name === "response.output_item.done") {
      this.items[event.output_index] = event.item!;
      if (event.item!.type !== "message") this.begun = true;
    } else if (name.endsWith(".delta")) {
      this.begun = true;
      this.texts[event.output_index] = (this.texts[event.output_index] ?? "") + (event.delta ?? "");
      const item = this.items[event.output_index];
      if (item && isText(name)) item.content = name.startsWith("response.reasoning") ? [{ type: "reasoning_text" }] : [{ type: "output_text" }];
    } else if (name === "error") {
      const { code, message } = event.error ?? { code: event.code ?? "", message: event.message ?? data };
      this.rest = { ...this.rest, ended: "failed", failure: { code, message } };
    } else if (event.response) {
      this.end(event.response);
    }
  }

  // The answer so far; of an unfinished item, with the text that has come.
  snapshot(): Answer {
    const items = this.items.map((item, index) => (item.status === "in_progress" ? withText(item, this.texts[index] ?? "") : item));
    return { ...this.rest, items: items.filter(Boolean) };
  }

  // For an answer that was stopped: no calls whose arguments are cut off, no items without text.
  partial(): Item[] {
    return this.snapshot()
      .items.filter((item) => item.status !== "in_progress" || (Array.isArray(item.content) && item.content.some((part) => part.text)))
      .map((item) => (item.status === "in_progress" ? { ...item, status: "incomplete" } : item));
  }

  private end(response: ResponseDocument): void {
    const { status, error, incomplete_details, output, usage } = response;
    if (status !== "completed" && status !== "incomplete" && status !== "failed") return;
    if (status !== "failed") this.items.splice(0, this.items.length, ...output);
    this.rest = { ended: status, incomplete: incomplete_details?.reason ?? "", failure: error, usage };
  }
}

function withText(item: Item, text: string): Item {
  if (item.type === "function_call") return { ...item, arguments: text };
  if (item.type === "custom_tool_call") return { ...item, input: text };
  const parts: Part[] = Array.isArray(item.content) && item.content.length > 0 ? item.content : [{ type: item.type === "reasoning" ? "reasoning_text" : "output_text" }];
  return { ...item, content: [{ ...parts[0]!, text }] };
}
