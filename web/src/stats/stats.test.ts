// The page, rendered to text.
import { render } from "svelte/server";
import { expect, test, vi } from "vitest";
import { isEmpty, rereadAfter } from "./history";
import { history } from "./history_for_tests";
import StatsPage from "./StatsPage.svelte";
import StatsView from "./StatsView.svelte";

vi.mock("../lib/api", () => ({ get: vi.fn() })); // it asks the browser for its address

const view = (data: ReturnType<typeof history>) => render(StatsView as never, { props: { history: data, now: data.time } as never }).body;
const text = (html: string) => html.replaceAll(/<!--.*?-->/g, "").replaceAll(/<[^>]*>/g, " ").replaceAll(/\s+/g, " ");

test("shows the numbers since the start, and each plot in words", () => {
  const html = view(history({ totals: { requests: 12, output_tokens: 3456 } }));
  const shown = text(html);
  for (const part of ["Running for 1 h 23 min", "Requests 12", "Tokens generated 3,456", "running 2 requests", "generated 40 tokens/s", "models 4.0 GiB", "ram, 16.0 GiB"])
    expect(shown).toContain(part);
  expect(html).toContain('aria-label="Requests. running: 2 requests now, at most 2 requests. queued: 1 request now, at most 1 request."');
});

test("says so if there are no rows yet", () => {
  expect(text(view(history({ rows: 0 })))).toContain("The first values come within 10 s.");
  const props = { live: { now: 0 } };
  expect(text(render(StatsPage as never, { props: props as never }).body)).toContain("Reading the statistics");
});

test("reads again when the first row is there, then every three rows", () => {
  expect(rereadAfter(history({ rows: 0 }))).toBe(10_000);
  expect(rereadAfter(history({ rows: 1 }))).toBe(30_000);
  expect(rereadAfter(null)).toBe(30_000);
  expect([history({ rows: 0 }), history({ rows: 1 }), null].map(isEmpty)).toEqual([true, false, false]);
});

test("names of devices never become HTML", () => {
  const html = view(history({ name: '<img src=x onerror="alert(1)">' }));
  expect(html).not.toContain("<img");
});
