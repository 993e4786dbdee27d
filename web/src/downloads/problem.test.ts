import { expect, test, vi } from "vitest";
import { ApiError } from "../lib/api";
import { ask, pageIn, problemOf, remedyOf } from "./problem";

vi.hoisted(() => vi.stubGlobal("location", { origin: "http://localhost" }));

test("each frequent failure has a way out", () => {
  for (const code of ["disk_full", "model_gated", "hub_token_refused", "offline", "hub_unreachable", "hub_rate_limited", "wrong_content", "insufficient_scope", "unreachable"])
    expect(remedyOf(code)).toMatch(/\w/);
  expect(remedyOf("other")).toBe("");
});

test("only a download continues where it ended, not a search", () => {
  for (const code of ["hub_unreachable", "hub_failed", "disk_full"]) {
    expect(remedyOf(code)).not.toMatch(/continues|downloaded/);
    expect(remedyOf(code, true)).toBe(`${remedyOf(code)} The download continues where it ended.`);
  }
  expect(remedyOf("model_gated", true)).not.toContain("continues");
});

test("only the page of a gated repository becomes a link, and only an address of the web", () => {
  const gated = (message: string) => pageIn({ message, code: "model_gated" });
  expect(gated("you must accept the conditions of 'a/b' at https://huggingface.co/a/b, then put a token")).toBe("https://huggingface.co/a/b");
  expect(gated("see javascript:alert(1)")).toBe("");
  expect(pageIn({ message: "at https://huggingface.co/a/b", code: "hub_failed" })).toBe("");
});

test("a failure has a message in any case", () => {
  expect(problemOf(new ApiError(503, "offline", "downloads are disabled"))).toEqual({ message: "downloads are disabled", code: "offline" });
  expect(problemOf(new TypeError("network error")).message).toContain("network error");
  expect(problemOf("?").code).toBe("unreachable");
});

test("a stopped call is no timeout", async () => {
  const stop = new AbortController();
  const call = ask((signal) => new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error))), stop.signal);
  stop.abort();
  await expect(call).rejects.toMatchObject({ name: "AbortError" });
});
