// The state of downloads in words, and its changes by events. Pure functions.
import { bytes, duration, percent } from "../lib/format";
import type { Download, DownloadStatus } from "./types";

export interface Row extends Download {
  name: string; // the requested name: the argument of calls
  seen: number; // epoch ms of the server: when the last data or state arrived
}

const kPrefix = "model:";
const kQuiet = 8000; // ms without an event, until the user is told; events come each second while data arrives

export const rowOf = (download: Download, seen: number): Row => ({ ...download, name: download.id.slice(kPrefix.length), seen });

export const isMoving = (status: DownloadStatus): boolean => status === "queued" || status === "downloading";
export const isUnfinished = (status: DownloadStatus): boolean => isMoving(status) || status === "paused" || status === "error";

// Replaces the download, or adds it: one that starts again is the newest.
export function apply(rows: Row[], download: Download, time: number): Row[] {
  const row = rowOf(download, time);
  const at = rows.findIndex((one) => one.id === row.id);
  if (at < 0) return [...rows, row];
  if (!isUnfinished(rows[at]!.status) && isUnfinished(row.status)) return [...rows.toSpliced(at, 1), row];
  return rows.with(at, row);
}

// After a new connection: the unfinished downloads. `stale`: others have ended meanwhile, or were removed.
export function applyUnfinished(rows: Row[], unfinished: Download[], time: number): { rows: Row[]; stale: boolean } {
  const ids = new Set(unfinished.map(({ id }) => id));
  // A snapshot has no failed downloads.
  const stale = rows.some(({ id, status }) => isUnfinished(status) && status !== "error" && !ids.has(id));
  return { rows: unfinished.reduce((all, one) => apply(all, one, time), rows), stale };
}

export interface Words {
  word: string; // class
  text: string;
}
export function wordOf({ status, overall_bytes_downloaded, total_download_size }: Row): Words {
  switch (status) {
    case "queued":
      return { word: "waiting", text: "waiting" };
    case "downloading":
      return { word: "downloading", text: total_download_size > 0 ? `downloading ${percentOf(overall_bytes_downloaded, total_download_size)}` : "starting" };
    case "paused":
      return { word: "warn", text: "paused" };
    case "completed":
      return { word: "ready", text: "complete" };
    case "cancelled":
      return { word: "cancelled", text: "cancelled" };
    case "error":
      return { word: "failed", text: "failed" };
  }
}

// 100 % only for all bytes.
export const percentOf = (done: number, total: number): string => percent(total > 0 ? Math.floor((100 * done) / total) / 100 : 0);

export function progressText(row: Row, now: number): string {
  const { status, overall_bytes_downloaded: done, total_download_size: total } = row;
  if (status === "completed") return bytes(total);
  if (status === "cancelled") return "its partial files are removed";
  const part = total > 0 ? `${bytes(done)} of ${bytes(total)}` : "";
  if (status === "queued") return [part, "starts when another download has ended (downloads_at_once)"].filter(Boolean).join(", ");
  if (status === "paused" || status === "error") return part && `${part} are on the disk`;
  if (total === 0) return `the server reads the list of files${now - row.seen > kQuiet ? `, for ${duration(now - row.seen)}` : ""}`;
  if (now - row.seen > kQuiet) return `${part}, no data for ${duration(now - row.seen)}: the server connects again, and reports an error if that fails`;
  const parts = [part];
  if (row.bytes_per_second !== undefined) parts.push(`${bytes(row.bytes_per_second)}/s`);
  if (row.seconds_left !== undefined) parts.push(row.seconds_left > 0 ? `${duration(row.seconds_left * 1000)} left` : "checking the hashes");
  return parts.join(", ");
}

export function fileText({ status, file, file_index, total_files }: Row): string {
  if (!isUnfinished(status) || file_index === 0) return "";
  return total_files > 1 ? `file ${file_index} of ${total_files}: ${file}` : file;
}

// For the live region: changes of state only, never progress.
export function announcement(before: DownloadStatus | undefined, row: Row): string {
  if (before === row.status) return "";
  if (row.status === "completed") return `${row.name} is downloaded`;
  if (row.status === "error") return `The download of ${row.name} has failed`;
  if (row.status === "paused") return `The download of ${row.name} is paused`;
  if (row.status === "cancelled") return `The download of ${row.name} is cancelled`;
  return before === undefined || !isMoving(before) ? `The download of ${row.name} has started` : "";
}
