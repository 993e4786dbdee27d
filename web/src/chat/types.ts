// The answers of the API that the chats use, as far as they use them.

export interface Part {
  type: string;
  text?: string;
  refusal?: string;
  filename?: string;
}

// An item of a conversation, of an input or of an output.
export interface Item {
  id?: string;
  type?: string; // none: a message
  role?: "user" | "assistant" | "system" | "developer";
  status?: string;
  content?: string | Part[];
  summary?: Part[];
  call_id?: string;
  name?: string;
  arguments?: string;
  input?: string;
  output?: string | Part[];
  encrypted_content?: string;
}
export interface ItemList {
  data: Item[];
  last_id: string | null;
  has_more: boolean;
}
export interface Conversation {
  id: string;
  created_at: number; // epoch s
  updated_at?: number; // epoch s
  metadata: { title?: string; model?: string };
}
export interface ConversationList {
  data: Conversation[];
  last_id: string | null;
  has_more: boolean;
}

export interface Usage {
  input_tokens: number;
  output_tokens: number;
  total_tokens: number;
  input_tokens_details?: { cached_tokens?: number };
}
export interface Failure {
  code: string;
  message: string;
}
export interface ResponseDocument {
  status: "queued" | "in_progress" | "completed" | "incomplete" | "failed" | "cancelled";
  error: Failure | null;
  incomplete_details: { reason: string } | null;
  output: Item[];
  usage: Usage | null;
}

// What the user sets for a chat. Empty: the default of the model.
export interface Settings {
  instructions: string;
  temperature: number | null;
  maxTokens: number | null;
  schema: string; // JSON, as it was typed
  tools: string; // JSON, as it was typed
}
export const kNoSettings: Settings = { instructions: "", temperature: null, maxTokens: null, schema: "", tools: "" };

// Measured for one answer.
export interface Stats {
  model: string;
  inputTokens: number;
  outputTokens: number;
  cachedTokens: number;
  loadMs: number; // of the model, within the wait; 0: it was loaded
  firstMs: number; // from the request, or the end of the load, to the first text
  speed: number; // tokens/s after the first text; 0: unknown
  context: number; // tokens; 0: unknown
}
