// The copy of a model to this machine, as the page follows it.
import { expect, test, vi } from "vitest";
import type { Live } from "../lib/live.svelte";

vi.hoisted(() => vi.stubGlobal("location", { origin: "http://server" }));
const { Machines } = await import("./mesh.svelte");

const live = () => ({ listen: () => () => {}, mayAdmin: false, connection: "live", readModels: vi.fn() }) as unknown as Live;
const copy = (state: string) => JSON.stringify({ model: "a", content: "c", state, done_bytes: 1, total_bytes: 2 });
const stream = (text: string, end: boolean) =>
  vi.stubGlobal("fetch", async (_: string, { signal }: RequestInit) => new Response(new ReadableStream({
    start(out) {
      out.enqueue(new TextEncoder().encode(text));
      if (end) return out.close();
      signal!.addEventListener("abort", () => out.error(new Error("aborted")));
    },
  })));

test("a copy is done only if the server says so", async () => {
  stream(`event: complete\ndata: ${copy("done")}\n\n`, true);
  expect(await new Machines(live()).pull("a")).toBe(true);
  stream(`event: progress\ndata: ${copy("copying")}\n\n`, true);
  await expect(new Machines(live()).pull("a")).rejects.toThrow("ended before the copy did");
});

test("a page that is left says nothing of the end of a copy", async () => {
  stream(`event: progress\ndata: ${copy("copying")}\n\n`, false);
  const machines = new Machines(live());
  const leave = machines.start();
  const pulled = machines.pull("a");
  await vi.waitFor(() => expect(machines.copies.length).toBe(1));
  leave();
  expect(await pulled).toBe(false);
});
