import { expect, test } from "vitest";
import { curlOf } from "./curl";
import { cosine, cosineTable, linesOf } from "./vectors";
import { wavOf } from "./wav";

test("cosine similarity", () => {
  expect(cosine([1, 0], [2, 0])).toBeCloseTo(1);
  expect(cosine([1, 0], [0, 3])).toBe(0);
  expect(cosine([0, 0], [1, 1])).toBe(0);
  expect(cosineTable([[1, 0], [-1, 0]])).toEqual([[1, -1], [-1, 1]]);
  expect(linesOf(" a \n\nb\n")).toEqual(["a", "b"]);
});

test("a command is safe in a shell, and has no key", () => {
  expect(curlOf("http://h/", { path: "v1/embeddings", body: { input: ["it's"] } }, true)).toBe(
    `curl 'http://h/v1/embeddings' \\\n  -H "Authorization: Bearer $CORRAL_API_KEY" \\\n  -H 'Content-Type: application/json' \\\n  -d '{"input":["it'\\''s"]}'`,
  );
  expect(curlOf("http://h/", { path: "p", form: { file: "@a b.wav" }, output: "o" }, false)).toBe(`curl 'http://h/p' \\\n  -F 'file=@a b.wav' \\\n  -o 'o'`);
});

test("WAV has its header and clipped samples", async () => {
  const view = new DataView(await wavOf(Float32Array.of(0, 2, -2), 16000).arrayBuffer());
  expect(view.byteLength).toBe(50);
  expect(view.getUint32(24, true)).toBe(16000);
  expect([view.getInt16(44, true), view.getInt16(46, true), view.getInt16(48, true)]).toEqual([0, 32767, -32767]);
});
