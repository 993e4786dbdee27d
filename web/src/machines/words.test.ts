import { expect, test } from "vitest";
import { assignmentText, copyText, foretoldText, isQuiet, joinCommand, lendTexts, linkText, memoryTexts, onlyLocal, servingText, stepText, tokenIn, whyText } from "./words";
import type { Assignment, Copy, MeshNode, ModelPlan, Serving, Why } from "./types";

const node: MeshNode = { id: "5c405cf5d9e5856d", name: "box", self: false, routable: true, link: "up", addresses: [], rtt_ms: 3, since: 1000, last_end: null, bytes_in: 0, bytes_out: 0, requests: 0 };

test("a link is up or down, with since when and why", () => {
  expect(linkText(node, 61_000)).toEqual({ word: "up", look: "ready", detail: "round trip 3 ms, for 1 min" });
  expect(linkText({ ...node, rtt_ms: null, since: 0 }, 61_000).detail).toBe("");
  const down = { ...node, routable: false, link: "waiting", last_end: "the node stops" };
  expect(linkText(down, 61_000)).toEqual({ word: "down", look: "failed", detail: "for 1 min; dialled again soon; the node stops" });
  expect(linkText({ ...node, self: true }, 0).word).toBe("this machine");
});

test("memory has units, and a node without an announcement has none", () => {
  const memory = [{ device: "gpu0", gpu: true, total_bytes: 2 ** 33, free_bytes: 2 ** 32, lent_bytes: 0 }];
  expect(memoryTexts({ ...node, memory })).toEqual(["gpu0: 4.0 GiB of 8.0 GiB free"]);
  expect(lendTexts({ ...node, memory })).toEqual(["gpu0: nothing for the mesh"]);
  expect(memoryTexts(node)).toEqual([]);
});

test("what a node serves", () => {
  const one: Serving = { model: "m", state: "ready", context: 8192, running: 0, waiting: 0, tokens_per_second: 0, idle_ms: 5000, memory_bytes: 0, lent: true };
  expect(servingText(one)).toBe("in memory, context 8,192 tokens, idle for 5 s, loaded for the mesh");
  expect(servingText({ ...one, running: 2, waiting: 1, tokens_per_second: 7.25, lent: false })).toBe("in memory, context 8,192 tokens, 2 requests run, 1 request waits, 7.3 tokens/s");
});

const why: Why = { model: "m", node: "box", here: false, short: null, candidates: [], split: null, allocation: [] };
const split = { host: "b", host_id: "2", shares: [{ node: "a", layers: 4, memory_bytes: 5 }, { node: "b", layers: 5, memory_bytes: 6 }], tokens_per_second: 8.14, load_seconds: 119.6, context: null };

test("why a request goes to a machine", () => {
  expect(whyText(why)).toBe("A request for m would go to box.");
  expect(whyText({ ...why, here: true })).toBe("A request for m would go to box (this machine).");
  expect(whyText({ ...why, node: null, split })).toBe("A request for m would split it over a, b; b would be the host.");
  expect(whyText({ ...why, node: null, short: { text: "too little memory", retry_after: 5 } })).toBe("No machine can serve m now: too little memory. Try again in 5 s.");
});

test("what the plan would do with a model", () => {
  const plan: ModelPlan = { model: "m", assignments: [], unloads: [], unserved: [], unsplit: [], groups: [], foretold: { need_bytes: 2 ** 30, alone: "box", split: null, short: null } };
  expect(foretoldText(plan)).toBe("m needs 1.0 GiB. box can hold it alone; a split would only be slower.");
  const told = { ...plan.foretold!, alone: null };
  expect(foretoldText({ ...plan, foretold: { ...told, split } })).toBe("m needs 1.0 GiB. No machine can hold it alone, so it would be split: 8.1 tokens/s, loads in 120 s.");
  expect(foretoldText({ ...plan, foretold: { ...told, short: { text: "no node has enough" } } })).toContain("It cannot be served: no node has enough.");
  expect(foretoldText({ ...plan, foretold: null })).toBe("");
});

test("lines of the plan", () => {
  const line: Assignment = { node: "box", id: "1", model: "m", part: "alone", fetch: "copy", priority: "told", waits: true, why: "" };
  expect(assignmentText(line)).toBe("the whole model, by order, copies the files first, waits");
  expect(isQuiet({ model: "m", lack: "not_asked", why: "" })).toBe(true);
  expect(isQuiet({ model: "m", lack: "no_memory", why: "" })).toBe(false);
});

test("a copy says what it waits for", () => {
  const copy: Copy = { model: "m", content: "c", state: "copying", done_bytes: 1024, total_bytes: 2048, bytes_per_second: 512, from: "box", by_request: false, problem: null };
  expect(copyText(copy)).toBe("1.0 KiB of 2.0 KiB, 512 B/s from box");
  expect(copyText({ ...copy, from: null })).toBe("1.0 KiB of 2.0 KiB, waits for a machine that sends it");
  expect(copyText({ ...copy, state: "done" })).toBe("2.0 KiB");
});

test("a pasted command is its token", () => {
  expect(tokenIn(joinCommand("corral-join_Ab-1"))).toBe("corral-join_Ab-1");
  expect(tokenIn("  corral-join_A\n  b-1 \n")).toBe("corral-join_Ab-1");
  expect(tokenIn("  ")).toBe("");
});

test("addresses that other machines cannot reach", () => {
  expect(onlyLocal(["127.0.0.1:8100", "[::1]:8100"])).toBe(true);
  expect(onlyLocal(["127.0.0.1:8100", "10.0.0.1:8100"])).toBe(false);
  expect(onlyLocal([])).toBe(false);
});

test("the steps of a join", () => expect(stepText("dial", "10.0.0.1:8100", 6000)).toBe("This machine dials 10.0.0.1:8100 (within 6 s)"));
