import { expect, test } from "vitest";
import { distinct } from "./distinct";
import type { Model } from "./types";

test("a name that is listed twice is one model, with its facts here and its nodes", () => {
  const nodes = [{ id: "b", name: "box", self: false }];
  const here: Model = { id: "a", recipe: "llamacpp", labels: [], status: { value: "unloaded" }, size_bytes: 5 };
  const there: Model = { ...here, size_bytes: undefined, nodes };
  expect(distinct([here, { ...here, id: "c" }, there])).toEqual([
    { ...here, nodes },
    { ...here, id: "c" },
  ]);
});
