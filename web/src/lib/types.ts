// The answers of the API that the page uses, as far as it uses them. By hand: /openapi.json describes requests only.
// "?" marks members that some servers or some models don't have.

export type ModelType = "llm" | "embedding" | "reranking" | "transcription" | "image" | "tts";
export type InstanceStatus = "queued" | "loading" | "ready" | "in_use" | "downsizing" | "downsized" | "draining" | "evicting" | "gone" | "failed";
export type Stay = "none" | "in_use" | "pinned" | "auto_evict_off" | "external" | "leaving";
export type OptionValue = string | number | boolean | null | unknown[];

// An entry of all_models_loaded and stopping.
export interface Instance {
  model_name: string;
  type: ModelType;
  device: string;
  recipe: string;
  recipe_options: Record<string, OptionValue>;
  status: InstanceStatus;
  active_requests: number;
  pinned: boolean;
  lent: boolean;
  last_use: number; // epoch ms
  load_duration_ms: number;
  memory_bytes: number;
  max_context_window: number;
  leaving?: string; // stop reason
  stays?: Stay;
  downsize_at?: number | null; // epoch ms
  evict_at?: number | null;
  eviction_score?: number;
}

export interface Loading {
  model: string;
  type: ModelType;
  progress: number; // 0..1
  since: number; // epoch ms
  waiters: number;
  attempt: number;
  aborting: boolean;
}

export interface Queued {
  model: string;
  type: ModelType;
  position: number;
  waiting_ms: number;
  waiters: number;
  checking: boolean;
  waiting_for: string[];
}

export interface Failure {
  model: string;
  under_requests: boolean;
  in_a_row: number;
  retry_in_ms: number;
  cause: string;
}

// GET health, and the data of the event "snapshot".
export interface Residency {
  time?: number; // epoch ms; snapshots only
  version?: string; // health only
  all_models_loaded: Instance[];
  stopping: Instance[];
  max_models: Partial<Record<ModelType, number>>; // -1: no limit
  loading: Loading | null;
  load_queue: Queued[];
  failures?: Failure[];
  shares: { model: string; host: string; booked_bytes: number; status: string }[];
  mesh?: { status: string; nodes: { name: string; self: boolean; routable: boolean }[] };
  // Health only.
  configuration_problem?: string | null;
  backend_problems?: string[];
  model_problem_count?: number;
  model_problems?: { path: string; message: string }[]; // the first ones
}

// Data of events.
export interface ServerEvent {
  time: number;
  model: string;
  from: InstanceStatus;
  status: InstanceStatus;
  reason?: string;
  cause?: string;
  active_requests: number;
  pinned: boolean;
  stays?: Stay;
  downsize_at?: number | null;
  evict_at?: number | null;
}
export interface LoadEvent {
  time: number;
  model: string;
  type: ModelType;
  stage: "started" | "progress" | "finished" | "failed" | "aborted";
  attempt: number;
  progress: number;
  reason?: string;
  cause?: string;
  code?: string;
}

// GET models.
export interface Model {
  id: string;
  alias_of?: string;
  name?: string;
  description?: string;
  recipe: string;
  type?: ModelType;
  downloaded?: boolean;
  size_bytes?: number;
  context_length?: number; // tokens
  max_context_length?: number;
  architecture?: string;
  quantization?: string;
  parameters?: number;
  labels: string[];
  aliases?: string[];
  tags?: string[];
  status: { value: string; mesh?: string };
  nodes?: { id: string; name: string; self: boolean; as?: string; state?: string; on_disk?: boolean }[];
}

// GET models/{id}/options.
export interface Options {
  model_name: string;
  recipe: string;
  saved: Record<string, OptionValue>;
  effective: Record<string, OptionValue>;
  sources: Record<string, string>;
  context_length: number;
  max_context_length: number;
  warnings: string[];
  pinned: boolean;
  loaded: boolean;
  needs_reload: boolean;
  problem: string | null;
}

// GET memory.
export interface NextReclaim {
  next: { model_name: string; action: "evict" | "downsize"; reason: string } | null;
  obstacle: "pinned" | "other_programs" | null;
}
export interface PoolModel {
  model_name: string;
  loading: boolean;
  weights_bytes: number;
  kv_bytes: number;
  compute_bytes: number;
  process_bytes: number;
  reclaimable_bytes: number;
}
export interface Pool extends NextReclaim {
  id: string;
  name: string;
  kind: "ram" | "gpu" | "shared";
  total_bytes: number;
  available_bytes: number;
  other_bytes: number;
  free_bytes: number;
  models: PoolModel[];
}
export interface Slots extends NextReclaim {
  type: ModelType;
  taken: number;
  limit: number; // -1: no limit
}
export interface Memory {
  time: number;
  auto_evict_threshold_pct: number; // 0..1
  pools: Pool[];
  slots: Slots[];
}
