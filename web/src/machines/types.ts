// The answers of the API about the mesh, as far as this page uses them.

export type MeshStatus = "none" | "joining" | "member" | "revoked" | "broken";

export interface Share {
  node: string;
  id?: string;
  self?: boolean;
  layers: number;
  memory_bytes: number;
}

// A split that this machine hosts.
export interface Split {
  model: string;
  status: "waiting" | "claiming" | "loading" | "ready" | "draining" | "stopping";
  progress: number | null; // 0..1
  by_hand: boolean;
  predicted_tokens_per_second: number;
  predicted_load_seconds: number;
  shares: Share[];
  problem: string | null;
}

// GET mesh; also the end of a create, a join and a leave.
export interface Mesh {
  status: MeshStatus;
  mesh_id: string | null;
  node: { id: string | null; name: string; role: string };
  listening: string | null;
  addresses: string[];
  members: number;
  routable: number;
  open_tokens: number;
  problem: string | null;
  groups: Split[];
  share: { model: string; host: string; status: string; memory_bytes: number; problem: string | null } | null;
}

export interface Serving {
  model: string; // its name at that node
  state: "loading" | "ready" | "draining";
  context: number; // tokens
  running: number;
  waiting: number;
  tokens_per_second: number; // 0: not measured
  idle_ms: number;
  memory_bytes: number;
  lent: boolean;
}

// GET mesh/nodes. What a node announces is missing until its first announcement.
export interface MeshNode {
  id: string;
  name: string;
  self: boolean;
  routable: boolean;
  link: string; // self, up, dialling, waiting
  addresses: string[];
  rtt_ms: number | null;
  since: number; // epoch ms; 0: unknown
  last_end: string | null;
  bytes_in: number;
  bytes_out: number;
  requests: number;
  role?: string;
  version?: string;
  llamacpp?: string;
  disk_free_bytes?: number;
  models?: number;
  memory?: { device: string; gpu: boolean; total_bytes: number; free_bytes: number; lent_bytes: number }[];
  serving?: Serving[];
}

// GET mesh/why/MODEL.
export interface Why {
  model: string;
  node: string | null;
  here: boolean;
  short: { text: string; retry_after: number } | null;
  candidates: { id: string; name: string; rank: string; text: string }[];
  split: PlannedSplit | null;
  allocation: string[];
}

export interface PlannedSplit {
  host: string;
  host_id: string;
  shares: Share[];
  tokens_per_second: number;
  load_seconds: number;
  context: number | null;
}

export interface Assignment {
  node: string;
  id: string;
  model: string;
  part: string; // alone, replica, share, standby
  fetch: string; // none, copy, download
  priority: string | null;
  waits: boolean;
  why: string;
}
export interface Unserved {
  model: string;
  lack: string;
  why: string;
}

// GET mesh/plan.
export interface Plan {
  known: boolean;
  assignments: Assignment[];
  unloads: { node: string; id: string; model: string; why: string }[];
  unserved: Unserved[];
  unsplit: Unserved[];
}

// GET mesh/plan/MODEL.
export interface ModelPlan extends Omit<Plan, "known"> {
  model: string;
  groups: { host: string; host_id: string; stage: string; running: boolean; shares: Share[]; context: number | null; problem: string | null }[];
  foretold: { need_bytes: number; alone: string | null; split: PlannedSplit | null; short: { text: string } | null } | null;
}

// Of GET mesh/copies, and the events of POST mesh/pull.
export interface Copy {
  model: string;
  content: string;
  state: "waiting" | "copying" | "done" | "failed";
  done_bytes: number;
  total_bytes: number;
  bytes_per_second: number;
  from: string | null;
  by_request: boolean; // ordered by the plan
  problem: string | null;
}

export interface TokenInfo {
  id: string;
  state: "open" | "used" | "withdrawn" | "expired";
  expires: number; // epoch ms
  used_by: string | null;
}
export interface NewToken extends TokenInfo {
  token: string;
  addresses: string[];
}

export interface Finding {
  verdict: "ok" | "warning" | "failed";
  step: string;
  node: string | null;
  text: string;
}

// Data of the event "mesh".
export interface MeshEvent {
  time: number;
  change: "status" | "admitted" | "removed" | "reachable" | "away" | "model" | "copy" | "group" | "share";
  node?: string;
  model?: string;
  status?: string | null;
  cause?: string;
}
