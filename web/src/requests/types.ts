// Answers of the API about requests. "?" and null mark what some requests don't have.

// An entry of GET requests.
export interface Running {
  id: string;
  kind: "inference" | "load";
  model: string;
  path: string;
  stream: boolean;
  status: "running" | "queued";
  node?: string; // the node that works on it, of a mesh
  since: number; // epoch ms
  age_ms: number;
  waited_ms: number; // for its model, so far or in total
  key?: string; // identifier
  dialect?: string;
  client?: string;
  output_tokens?: number; // streams only
  first_token_ms?: number;
}

// An entry of GET activity.
export interface Finished {
  number: number;
  id: string;
  ended: number; // epoch ms
  model: string; // may be empty
  key: string;
  key_name: string;
  dialect: string;
  path: string;
  client: string;
  prompt_tokens: number | null;
  cached_tokens: number | null;
  output_tokens: number | null;
  first_token_ms: number | null; // streams only
  duration_ms: number;
  status: number;
  code: string; // "ok", "cancelled", or of an error
  node?: string;
  node_name?: string;
}

export interface Activity {
  activity: Finished[];
  lost?: number; // only for keys with the scope admin
  next?: number; // older rows have lower numbers
}

// GET activity/{id}/capture. A body is null if it was too long, or of an unknown format.
export interface Bodies {
  request: unknown;
  request_bytes: number;
  answer: unknown;
  answer_bytes: number;
  answer_type: string;
}

// GET stats: sums since the start of the server.
export interface Totals {
  request_count_total: number;
  prompt_tokens_total: number;
  cache_tokens_total: number;
  output_tokens_total: number;
}
