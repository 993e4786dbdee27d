import { expect, test } from "vitest";
import { AnswerReader } from "./answer";
import { argumentsOf, lastAnswerStart, openCalls, reasoningOf, textOf, titleOf, turnsOf, userItem } from "./items";
import { blocksOf } from "./markdown";
import { changeRecords, readRecords, withRecord, type ChatRecord } from "./records";
import { bodyOf, jsonProblem, settingsProblem } from "./request";
import { isContextFull, statsOf, statsText } from "./stats";
import { kNoSettings, type Item } from "./types";

const call: Item = { id: "fc_1", type: "function_call", call_id: "c1", name: "get_weather", arguments: '{"city":"Paris"}' };
const event = (name: string, data: object) => ({ name: `response.${name}`, data: JSON.stringify({ type: `response.${name}`, ...data }) });

function streamed(): AnswerReader {
  const reader = new AnswerReader();
  for (const one of [
    event("created", { response: { status: "in_progress", output: [] } }),
    event("output_item.added", { output_index: 0, item: { id: "rs_0", type: "reasoning", status: "in_progress", summary: [], content: [] } }),
    event("reasoning_text.delta", { output_index: 0, delta: "think" }),
    event("output_item.done", { output_index: 0, item: { id: "rs_0", type: "reasoning", status: "completed", content: [{ type: "reasoning_text", text: "think" }] } }),
    event("output_item.added", { output_index: 1, item: { id: "msg_1", type: "message", role: "assistant", status: "in_progress", content: [] } }),
    event("output_text.delta", { output_index: 1, delta: "Hel" }),
    event("output_text.delta", { output_index: 1, delta: "lo" }),
  ])
    reader.push(one);
  return reader;
}

test("an answer grows by its events", () => {
  const { items, ended } = streamed().snapshot();
  expect(ended).toBe("");
  expect(reasoningOf(items[0]!)).toBe("think");
  expect(textOf(items[1]!)).toBe("Hello");
});

test("the end of an answer has its items, usage and reason", () => {
  const reader = streamed();
  const output = [{ id: "msg_1", type: "message", role: "assistant", content: [{ type: "output_text", text: "Hello" }] }];
  reader.push(event("incomplete", { response: { status: "incomplete", error: null, incomplete_details: { reason: "max_output_tokens" }, output, usage: { input_tokens: 3, output_tokens: 2, total_tokens: 5 } } }));
  expect(reader.snapshot()).toMatchObject({ ended: "incomplete", incomplete: "max_output_tokens", items: output, usage: { total_tokens: 5 } });
});

test("a stopped answer keeps its text, but no call that is cut off", () => {
  const reader = streamed();
  reader.push(event("output_item.added", { output_index: 2, item: { type: "function_call", status: "in_progress", name: "f", arguments: "" } }));
  reader.push(event("function_call_arguments.delta", { output_index: 2, delta: '{"a' }));
  expect(reader.partial().map((item) => [item.type, item.status])).toEqual([["reasoning", "completed"], ["message", "incomplete"]]);
  expect(new AnswerReader().partial()).toEqual([]);
});

test("failures have code and message", () => {
  const reader = streamed();
  reader.push(event("failed", { response: { status: "failed", error: { code: "context_length_exceeded", message: "too long" }, incomplete_details: null, output: [], usage: null } }));
  expect(reader.snapshot()).toMatchObject({ ended: "failed", failure: { code: "context_length_exceeded" } });
  expect(textOf(reader.partial()[1]!)).toBe("Hello");
});

test("items become turns, and open calls are found", () => {
  const items: Item[] = [userItem("a"), { type: "message", role: "assistant", content: "b" }, userItem("c"), call];
  expect(turnsOf(items).map(({ user, start, items: own }) => [user, start, own.length])).toEqual([[true, 0, 1], [false, 1, 1], [true, 2, 1], [false, 3, 1]]);
  expect(openCalls(items)).toEqual([call]);
  const answered: Item[] = [...items, { type: "function_call_output", call_id: "c1", output: "rain" }];
  expect(openCalls(answered)).toEqual([]);
  expect(lastAnswerStart(answered)).toBe(5);
  expect(lastAnswerStart(items)).toBe(3);
  expect(argumentsOf(call)).toBe('{\n  "city": "Paris"\n}');
  expect(argumentsOf({ ...call, arguments: "{" })).toBe("{");
});

test("a title is the first line, at most 80 letters", () => {
  expect(titleOf("  What is\tthis?\nMore")).toBe("What is this?");
  expect(titleOf(" \n")).toBe("Chat");
  expect([...titleOf("😀".repeat(200))].length).toBe(80);
});

test("settings are checked before they are sent", () => {
  expect(jsonProblem("", "object")).toBe("");
  expect(jsonProblem("{", "object")).toContain("no valid JSON");
  expect(jsonProblem("[]", "object")).toContain("not an object");
  expect(settingsProblem({ ...kNoSettings, temperature: 3 })).toContain("temperature");
  expect(settingsProblem({ ...kNoSettings, maxTokens: 0.5 })).toContain("whole number");
  expect(settingsProblem({ ...kNoSettings, temperature: 0, maxTokens: 1, schema: "{}", tools: "[]" })).toBe("");
});

test("a body has only what is set", () => {
  expect(bodyOf("m", kNoSettings, { conversation: "conv_1" })).toEqual({ model: "m", conversation: "conv_1", stream: true, store: false });
  expect(bodyOf("m", { instructions: "Be short", temperature: 0, maxTokens: 5, schema: '{"type":"object"}', tools: "[]" }, { input: [] }, 4096)).toMatchObject({
    instructions: "Be short", temperature: 0, max_output_tokens: 5, text: { format: { type: "json_schema", schema: { type: "object" } } }, tools: [], ctx_size: 4096,
  });
});

test("records persist, newest first, and broken ones are dropped", () => {
  const kept = new Map<string, string>();
  const storage = { getItem: (name: string) => kept.get(name) ?? null, setItem: (name: string, value: string) => void kept.set(name, value) };
  const record = (id: string, used: number): ChatRecord => ({ id, title: id, model: "m", used, draft: "", settings: kNoSettings, stats: {} });
  changeRecords(storage, "x", (all) => withRecord(all, record("a", 1)));
  changeRecords(storage, "x", (all) => withRecord(all, record("b", 2)));
  changeRecords(storage, "x", (all) => withRecord(all, record("a", 3)));
  expect(readRecords(storage, "x").map(({ id }) => id)).toEqual(["a", "b"]);
  kept.set("x", '[{"id":5},{"id":"c","title":"t","used":1}]');
  expect(readRecords(storage, "x")).toMatchObject([{ id: "c", draft: "", settings: kNoSettings, stats: {} }]);
  kept.set("x", "{");
  expect(readRecords(storage, "x")).toEqual([]);
});

test("measurements leave out the load, and what is unknown", () => {
  const usage = { input_tokens: 90, output_tokens: 11, total_tokens: 101, input_tokens_details: { cached_tokens: 60 } };
  const stats = statsOf("m", usage, { sent: 1000, loaded: 3000, first: 3250, last: 3750 }, 1000);
  expect(stats).toMatchObject({ loadMs: 2000, firstMs: 250, speed: 20 });
  expect(statsText(stats)).toEqual(["11 tokens, 20 tokens/s", "load of the model 2.0 s", "first text after 250 ms", "prompt 90 tokens, 60 of them cached", "context 101 of 1,000 tokens (10 %)"]);
  expect(isContextFull(stats)).toBe(false);
  expect(isContextFull({ ...stats, context: 102 })).toBe(true);
  expect(statsText(statsOf("m", null, { sent: 0, loaded: 0, first: 0, last: 0 }, 0))).toEqual([]);
});

test("Markdown of a model has no HTML, no images and no scripts", () => {
  const html = blocksOf('<img src=x onerror="alert(1)">\n\n![cat](https://example.com/cat.png)\n\n[x](javascript:alert(1)) **b**').join("");
  expect(html).not.toContain("<img");
  expect(html).toContain("[image: cat] https://example.com/cat.png");
  expect(html).not.toContain('href="javascript');
  expect(html).toContain("<strong>b</strong>");
});

test("a growing text keeps its first blocks", () => {
  const before = blocksOf("# A\n\ntext\n\n```js\nlet a");
  const after = blocksOf("# A\n\ntext\n\n```js\nlet a = 1;\n```\n\nend");
  expect(before.length).toBe(3);
  expect(after.slice(0, 2)).toEqual(before.slice(0, 2));
  expect(after.length).toBe(4);
  expect(blocksOf('{"a":1}')[0]).toContain("language-json");
});
