import { render } from "svelte/server";
import { expect, test, vi } from "vitest";
import type { Download } from "./types";

vi.hoisted(() => vi.stubGlobal("location", { origin: "http://localhost" }));
const { default: DownloadList } = await import("./DownloadList.svelte");
const { default: DiskModels } = await import("./DiskModels.svelte");
const { default: KnownModels } = await import("./KnownModels.svelte");
const { rowOf } = await import("./state");

const kEvil = `org/<img src=x onerror="alert(1)">`;
const download = (name: string, more: Partial<Download>): Download => ({
  id: `model:${name}`, model_name: name, status: "downloading", file: "x.gguf", file_index: 1, total_files: 1, total_download_size: 100, overall_bytes_downloaded: 40, ...more,
});
const live = (more = {}) => ({ mayAdmin: true, now: 0, models: [], modelsKnown: true, memory: null, residency: null, ...more });
const list = (downloads: Download[], more = {}) =>
  render(DownloadList as never, { props: { downloads: { rows: downloads.map((one) => rowOf(one, 0)), known: true, problem: null, problems: {}, pending: {}, live: live(more), find: () => undefined } } as never }).body;
const text = (html: string) => html.replaceAll(/<!--.*?-->/g, "").replaceAll(/<[^>]*>/g, " ").replaceAll(/\s+/g, " ");
const buttons = (html: string) => html.match(/<button[\s\S]*?<\/button>/g) ?? [];

test("each download has its state, its numbers and its actions; the newest is the first", () => {
  const shown = text(list([
    download("org/a:Q8_0", { bytes_per_second: 10, seconds_left: 6 }),
    download("org/b:Q8_0", { status: "paused" }),
    download("org/c:Q8_0", { status: "error", error: "not enough disk space for 'org/c'", code: "disk_full" }),
    download("org/d:Q8_0", { status: "completed" }),
  ]));
  for (const part of ["downloading 40 %", "40 B of 100 B, 10 B/s, 6 s left", "Pause Cancel", "Resume Cancel", "failed", "not enough disk space for 'org/c'.", "delete a model under", "Try again", "complete", "Load it on the Models page"])
    expect(shown).toContain(part);
  expect(shown.indexOf("org/d")).toBeLessThan(shown.indexOf("org/a"));
});

test("a gated repository links to its page", () => {
  const html = list([download("a/b", { status: "error", code: "model_gated", error: "you must accept the conditions of 'a/b' at https://hf.test/a/b, then put a token" })]);
  expect(html).toContain(`href="https://hf.test/a/b"`);
});

test("text from the hub never becomes HTML; buttons have names, and none works without the scope", () => {
  const html = list([download(kEvil, { status: "error", error: kEvil, file: kEvil })], { mayAdmin: false });
  expect(html).not.toContain("<img");
  expect(buttons(html).length).toBe(2);
  for (const button of buttons(html)) expect(button).toMatch(/aria-label="[^"]+/);
  for (const button of buttons(html)) expect(button).toContain("disabled");
});

test("models on the disk can be deleted, verified and measured, by admins only", () => {
  const model = { id: "org/a:Q8_0", recipe: "llamacpp", labels: [], size_bytes: 2 ** 20, status: { value: "unloaded" } };
  const html = render(DiskModels as never, { props: { downloads: { live: live({ models: [model], mayAdmin: false }) }, focusTitle: vi.fn() } as never }).body;
  expect(text(html)).toContain("1.0 MiB");
  for (const name of ["Verify files of org/a:Q8_0", "Delete org/a:Q8_0", "Predict the memory of org/a:Q8_0"]) expect(html).toContain(`aria-label="${name}"`);
  for (const button of buttons(html)) expect(button).toContain("disabled");
});

test("known models that fit are suggested", () => {
  const known = [{ id: "small", checkpoint: "org/small:Q8_0", type: "llm", size_bytes: 2 ** 30, labels: ["chat"], downloaded: false }, { id: "huge", checkpoint: "org/huge:Q8_0", type: "llm", size_bytes: 2 ** 40, labels: ["chat"], downloaded: false }];
  const memory = { pools: [{ kind: "ram", total_bytes: 16 * 2 ** 30 }] };
  const shown = text(render(KnownModels as never, { props: { known, downloads: { live: live({ memory }) } } as never }).body);
  expect(shown).toContain("org/small:Q8_0");
  expect(shown).not.toContain("org/huge");
  expect(shown).toContain("Show all 2 known models");
});
