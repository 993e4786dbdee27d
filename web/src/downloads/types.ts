// The answers of the API that this page uses, as far as it uses them. "?" marks members that may be missing.

export type DownloadStatus = "queued" | "downloading" | "paused" | "completed" | "cancelled" | "error";
export type DownloadAction = "pause" | "resume" | "cancel" | "remove";

// An entry of GET downloads, and the data of the event "download".
export interface Download {
  id: string; // "model:" and the requested name
  model_name: string;
  status: DownloadStatus;
  file: string;
  file_index: number; // from 1; 0: the hub has not listed the files yet
  total_files: number;
  total_download_size: number;
  overall_bytes_downloaded: number;
  bytes_per_second?: number;
  seconds_left?: number;
  error?: string;
  code?: string;
}

// GET registry/search.
export interface FoundRepository {
  checkpoint: string;
  downloads: number;
  likes: number;
  gated: boolean;
}

// GET pull/variants.
export interface Variant {
  name: string;
  primary_file: string;
  files: string[];
  sharded: boolean;
  size_bytes: number;
  memory_bytes: number;
  fits: boolean;
  here: boolean;
}
export interface Variants {
  checkpoint: string;
  suggested: string | null; // the largest that fits
  usual: string | null; // the one that the repository alone means
  licence?: string;
  gated?: boolean;
  memory_bytes: number;
  free_disk_bytes: number;
  variants: Variant[];
}

// POST pull with dry_run.
export interface Plan {
  model_name: string;
  checkpoint: string;
  licence?: string;
  gated?: boolean;
  files: { path: string; size: number; here: boolean }[];
  bytes_total: number;
  bytes_to_fetch: number;
  disk: { path: string; needed_bytes: number; keep_free_bytes: number; free_bytes: number; fits: boolean };
  memory: { bytes: number; have_bytes: number; fits: boolean; by: string };
}

// A known model without files: an entry of GET models?show_all=true.
export interface KnownModel {
  id: string;
  checkpoint: string;
  type: string;
  size_bytes: number; // estimated
  labels: string[];
  downloaded: boolean;
}

// POST delete.
export interface Removal {
  model_name: string;
  name_of?: string;
  freed_bytes: number;
  files: string[];
  kept: { path: string; needed_by: string[] }[];
}

// POST verify.
export interface CheckedFile {
  path: string;
  state: "right" | "damaged" | "changed" | "first_look" | "unsettled" | "unreadable";
  size: number;
  cause?: string;
  moved_to?: string;
  advice?: string;
}
export interface Verified {
  models: { model_name: string; files: CheckedFile[] }[];
  files: number;
  damaged: number;
  unreadable: number;
}
export interface VerifyProgress {
  model: string;
  file: string;
  bytes_done: number;
  bytes_total: number;
}

// POST estimate.
export interface Estimate {
  model_name: string;
  memory: { devices: { device: string; weights: number; kv: number; compute: number; total: number }[]; process: number; total: number };
}
