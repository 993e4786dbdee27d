import { expect, test } from "vitest";
import { answerParts, requestParts } from "./capture";

test("messages are texts, other fields stay JSON", () => {
  const parts = requestParts({ model: "a", system: "be short", messages: [{ role: "user", content: [{ type: "text", text: "hi <b>" }] }, { role: "assistant", content: null, tool_calls: [{ id: "1" }] }] });
  expect(parts.map((part) => part.title)).toEqual(["system", "user", "assistant", "other fields"]);
  expect(parts[1]!.text).toBe("hi <b>");
  expect(parts[2]!.text).toContain('"id": "1"');
  expect(parts[3]!.text).toBe('{\n  "model": "a"\n}');
  expect(requestParts({ input: [{ role: "user", content: "x" }] })[0]).toEqual({ title: "user", text: "x" });
  expect(requestParts({ input: ["x", "y"] })[0]).toEqual({ title: "input", text: "x\ny" });
  expect(requestParts(null)).toEqual([]);
});

test("streams of the dialects become one text", () => {
  const said = (answer: unknown) => answerParts({ answer }).find((part) => part.title === "assistant")?.text;
  expect(said([{ choices: [{ delta: { content: "a" } }] }, { choices: [{ delta: { content: "b" }, finish_reason: "stop" }] }])).toBe("ab");
  expect(said({ choices: [{ message: { role: "assistant", content: "ab" } }] })).toBe("ab");
  expect(said([{ type: "content_block_delta", delta: { type: "text_delta", text: "a" } }, { type: "message_delta", delta: { stop_reason: "end_turn" } }])).toBe("a");
  expect(said({ type: "message", content: [{ type: "text", text: "a" }], stop_reason: "end_turn" })).toBe("a");
  expect(said([{ type: "response.output_text.delta", delta: "a" }])).toBe("a");
  expect(said({ object: "response", output: [{ type: "message", content: [{ type: "output_text", text: "a" }] }] })).toBe("a");
  expect(said([{ message: { content: "a" } }, { message: { content: "b" }, done: true, done_reason: "stop" }])).toBe("ab");
});

test("errors and unknown answers are shown", () => {
  expect(answerParts({ answer: { error: { message: "no", code: "x" } } })).toEqual([{ title: "error", text: "no" }]);
  expect(answerParts({ answer: [{ choices: [{ delta: { content: "a" } }] }, { error: { message: "died" } }] }).map((part) => part.title)).toEqual(["assistant", "error"]);
  expect(answerParts({ answer: { data: [1] } })).toEqual([{ title: "answer", text: '{\n  "data": [\n    1\n  ]\n}' }]);
});
