import { expect, test } from "vitest";
import type { Model, Residency } from "../lib/types";
import { columnsOf, filtered, rowsOf } from "./matrix";
import type { MeshNode } from "./types";

const state = { all_models_loaded: [{ model_name: "small", status: "ready" }], stopping: [], loading: null } as unknown as Residency;
const here = (as: string) => ({ id: "1", name: "attic", self: true, as, state: "unloaded" });
const there = (as: string, word = "unloaded") => ({ id: "2", name: "cellar", self: false, as, state: word });
const model = (id: string, nodes: Model["nodes"]): Model => ({ id, recipe: "llamacpp", labels: [], status: { value: "unloaded" }, nodes });
const models = [model("small", [here("small"), there("tiny")]), model("big", [there("big", "loading")]), { ...model("short", []), alias_of: "small" }];
const node = (id: string, serving?: MeshNode["serving"]) => ({ id, name: id === "1" ? "attic" : "cellar", self: id === "1", routable: true, serving }) as MeshNode;
const words = (nodes: MeshNode[]) => rowsOf(models, columnsOf(nodes, models), nodes, state).map(({ cells }) => cells.map(({ word }) => word));

test("each machine is a column; what it serves is newer than the list of models", () => {
  expect(words([])).toEqual([["in memory", "on disk"], ["", "loading"]]);
  const serving = [{ model: "tiny", state: "draining" }] as MeshNode["serving"];
  expect(words([node("1"), node("2", serving)])).toEqual([["in memory", "unloading"], ["", "on disk"]]);
});

test("a model may have another name at a machine", () => {
  const [row] = rowsOf(models, columnsOf([], models), [], state);
  expect(row!.cells.map(({ as }) => as)).toEqual(["", "tiny"]);
});

test("what a machine that is down has is unknown", () => {
  const columns = columnsOf([node("1"), { ...node("2"), routable: false }], models);
  expect(columns.map(({ down }) => down)).toEqual([false, true]);
});

test("the filter", () => {
  const rows = rowsOf(models, columnsOf([], models), [], state);
  const ids = (text: string, which: Parameters<typeof filtered>[2]) => filtered(rows, text, which).map((row) => row.model.id);
  expect(ids("", "all")).toEqual(["small", "big"]);
  expect(ids("MA", "all")).toEqual(["small"]);
  expect(ids("", "missing here")).toEqual(["big"]);
  expect(ids("", "served")).toEqual(["small", "big"]);
  expect(ids("", "on several machines")).toEqual(["small"]);
});
