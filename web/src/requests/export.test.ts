import { expect, test } from "vitest";
import { csv, csvCell, fileName } from "./export";

test("no cell begins a formula", () => {
  for (const text of ["=1+1", "+1", "-1", "@x", " =1", "\t=1", "\n=1", "|x", "%x", "＝1"]) expect(csvCell(text).replace(/^"/, "")).toMatch(/^'/);
  expect(csvCell('a"=1')).toBe(`"a""'=1"`);
  expect(csvCell("a;=1")).toBe(`"a;'=1"`);
  expect(csvCell("a\n=1")).toBe(`"a\n'=1"`);
  expect(csvCell("OpenAI/Python 1.0, (x)")).toBe('"OpenAI/Python 1.0, (x)"');
  expect(csvCell("unsloth/Qwen3-4B:Q4_K")).toBe("unsloth/Qwen3-4B:Q4_K");
  expect(csvCell(12)).toBe("12");
  expect(csvCell(null)).toBe("");
});

test("a file has a line for each request", () => {
  const text = csv([
    { number: 1, id: "req-1", ended: 0, model: "=a", key: "", key_name: "", dialect: "openai", path: "/v1/x", client: "", prompt_tokens: 1, cached_tokens: null, output_tokens: 21, first_token_ms: 1000, duration_ms: 3000, status: 200, code: "ok" },
  ]);
  const [head, line, end] = text.split("\r\n");
  expect(head!.split(",").length).toBe(line!.split(",").length);
  expect(line).toBe("1,req-1,1970-01-01T00:00:00.000Z,'=a,,,openai,/v1/x,,1,,21,1000,3000,10.00,200,ok,,");
  expect(end).toBe("");
  expect(fileName("requests", "csv", 0)).toBe("corral-requests-1970-01-01T00-00-00.csv");
});
