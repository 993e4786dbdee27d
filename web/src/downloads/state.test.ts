import { expect, test } from "vitest";
import { announcement, apply, applyUnfinished, fileText, isUnfinished, progressText, rowOf, wordOf, type Row } from "./state";
import type { Download, DownloadStatus } from "./types";

const download = (name: string, status: DownloadStatus, more: Partial<Download> = {}): Download => ({
  id: `model:${name}`, model_name: name, status, file: "x.gguf", file_index: 1, total_files: 1,
  total_download_size: 4 * 2 ** 30, overall_bytes_downloaded: 2 ** 30, ...more,
});
const row = (status: DownloadStatus, more: Partial<Download> = {}, seen = 0): Row => rowOf(download("org/repo:Q8_0", status, more), seen);

test("each download has one word, and 100 % means all bytes", () => {
  expect((["queued", "downloading", "paused", "completed", "cancelled", "error"] as const).map((status) => wordOf(row(status)).text)).toEqual([
    "waiting", "downloading 25 %", "paused", "complete", "cancelled", "failed",
  ]);
  expect(wordOf(row("downloading", { overall_bytes_downloaded: 4 * 2 ** 30 - 1 })).text).toBe("downloading 99 %");
  expect(wordOf(row("downloading", { total_download_size: 0, overall_bytes_downloaded: 0 })).text).toBe("starting");
});

test("progress has size, speed and time; silence is told", () => {
  const moving = row("downloading", { bytes_per_second: 12 * 2 ** 20, seconds_left: 200 });
  expect(progressText(moving, 1000)).toBe("1.0 GiB of 4.0 GiB, 12.0 MiB/s, 3 min 20 s left");
  expect(progressText(moving, 20_000)).toMatch(/no data for 20 s.*connects again/);
  expect(progressText(row("downloading", { bytes_per_second: 0, seconds_left: 0 }), 0)).toMatch(/checking the hashes/);
  expect(progressText(row("downloading", { total_download_size: 0 }), 12_000)).toBe("the server reads the list of files, for 12 s");
  expect(progressText(row("paused"), 0)).toBe("1.0 GiB of 4.0 GiB are on the disk");
  expect(progressText(row("error", { total_download_size: 0 }), 0)).toBe("");
  expect(progressText(row("queued"), 0)).toMatch(/downloads_at_once/);
  expect(progressText(row("completed"), 0)).toBe("4.0 GiB");
});

test("the current file is named", () => {
  expect(fileText(row("downloading", { file_index: 2, total_files: 3 }))).toBe("file 2 of 3: x.gguf");
  expect(fileText(row("paused"))).toBe("x.gguf");
  expect(fileText(row("completed"))).toBe("");
  expect(fileText(row("downloading", { file_index: 0 }))).toBe("");
});

test("progress stays on its own row; a download that starts again is the newest", () => {
  let rows = ["a", "b"].map((name) => rowOf(download(name, "downloading"), 0));
  rows = apply(rows, download("a", "downloading", { overall_bytes_downloaded: 7 }), 5);
  expect(rows.map(({ name, overall_bytes_downloaded, seen }) => [name, overall_bytes_downloaded, seen])).toEqual([["a", 7, 5], ["b", 2 ** 30, 0]]);
  rows = apply(rows, download("c", "queued"), 6);
  rows = apply(rows, download("a", "completed"), 7);
  expect(rows.map(({ name }) => name)).toEqual(["a", "b", "c"]);
  rows = apply(rows, download("a", "queued"), 8);
  expect(rows.map(({ name }) => name)).toEqual(["b", "c", "a"]);
});

test("a snapshot shows which downloads must be read again", () => {
  const rows = [rowOf(download("a", "downloading"), 0), rowOf(download("b", "error"), 0), rowOf(download("c", "completed"), 0)];
  expect(applyUnfinished(rows, [download("a", "paused")], 1).stale).toBe(false);
  expect(applyUnfinished(rows, [], 1).stale).toBe(true);
  expect(applyUnfinished(rows, [download("a", "paused"), download("d", "queued")], 1).rows.map(({ name, status }) => [name, status])).toEqual([
    ["a", "paused"], ["b", "error"], ["c", "completed"], ["d", "queued"],
  ]);
});

test("changes of state are announced, progress is not", () => {
  expect(announcement("downloading", row("downloading"))).toBe("");
  expect(announcement("queued", row("downloading"))).toBe("");
  expect(announcement(undefined, row("queued"))).toMatch(/has started/);
  expect(announcement("paused", row("queued"))).toMatch(/has started/);
  expect(announcement("downloading", row("completed"))).toBe("org/repo:Q8_0 is downloaded");
  expect(announcement("downloading", row("error"))).toMatch(/has failed/);
  expect((["paused", "error"] as const).every(isUnfinished)).toBe(true);
});
