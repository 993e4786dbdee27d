import { expect, test } from "vitest";
import { estimateText, fileState, onDisk, remarkable, verifiedText } from "./disk";
import type { Model } from "../lib/types";
import type { CheckedFile, Verified } from "./types";

const model = (id: string, size_bytes: number, more: Partial<Model> = {}): Model => ({ id, recipe: "llamacpp", labels: [], size_bytes, status: { value: "unloaded" }, ...more });
const file = (path: string, state: CheckedFile["state"]): CheckedFile => ({ path, state, size: 1 });

test("models of this disk only, the largest first", () => {
  const far = { id: "n", name: "box", self: false };
  const all = [model("a", 1), model("b", 3), model("alias", 3, { alias_of: "b" }), model("far", 9, { nodes: [far] }), model("both", 2, { nodes: [far, { ...far, self: true }] }), model("known", 5, { downloaded: false })];
  expect(onDisk(all, "", "size").map(({ id }) => id)).toEqual(["b", "both", "a"]);
  expect(onDisk(all, "", "name").map(({ id }) => id)).toEqual(["a", "b", "both"]);
  expect(onDisk(all, "B O", "name").map(({ id }) => id)).toEqual(["both"]);
});

test("a verification tells what is wrong first, and nothing of correct files", () => {
  const result: Verified = { models: [{ model_name: "a", files: [file("1", "right"), file("2", "changed"), file("3", "damaged")] }, { model_name: "b", files: [file("4", "first_look")] }], files: 4, damaged: 1, unreadable: 0 };
  expect(remarkable(result).map((one) => one.file.path)).toEqual(["3", "2"]);
  expect(verifiedText(result)).toBe("4 files verified, 1 damaged, 1 for the first time: their hashes are stored for the next verification");
  expect(fileState(file("1", "right"))).toBe("correct");
});

test("an estimate has each part with its unit", () => {
  const memory = { devices: [{ device: "cpu", weights: 2 ** 30, kv: 2 ** 20, compute: 0, total: 1 }], process: 1024, total: 2 ** 31 };
  expect(estimateText({ model_name: "a", memory })).toBe("2.0 GiB when it is loaded (cpu: weights 1.0 GiB, KV cache 1.0 MiB, compute buffers 0 B; process 1.0 KiB)");
});
