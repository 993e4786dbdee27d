// Which machine has which model, and which serves it.
import type { Instance, Model, Residency } from "../lib/types";
import { kServing } from "./words";
import type { MeshNode } from "./types";

export interface Column {
  id: string;
  name: string;
  self: boolean;
  down: boolean; // what it has is not known
}
export interface Cell {
  column: Column;
  word: "" | "on disk" | "in memory" | "loading" | "unloading";
  as: string; // another name that the model has there; mostly empty
}
export interface Row {
  model: Model;
  cells: Cell[]; // one for each column
  here: boolean; // its files are on this machine
  served: boolean;
}

// Without the right to read the nodes, those that have models are known.
export function columnsOf(nodes: MeshNode[], models: Model[]): Column[] {
  if (nodes.length > 0) return nodes.map(({ id, name, self, routable }) => ({ id, name, self, down: !routable }));
  const all = new Map<string, Column>();
  for (const model of models) for (const { id, name, self } of model.nodes ?? []) all.set(id, { id, name, self, down: false });
  return [...all.values()].sort((a, b) => Number(b.self) - Number(a.self) || a.name.localeCompare(b.name));
}

const kOwn: Partial<Record<Instance["status"], Cell["word"]>> = { loading: "loading", draining: "unloading", evicting: "unloading" };

// The events of this server are newer than what it announces.
function ownWord(name: string, state: Residency): Cell["word"] {
  if (state.loading?.model === name) return "loading";
  const loaded = state.all_models_loaded.find((one) => one.model_name === name);
  if (loaded) return kOwn[loaded.status] ?? "in memory";
  return state.stopping.some((one) => one.model_name === name) ? "unloading" : "on disk";
}

export function rowsOf(models: Model[], columns: Column[], nodes: MeshNode[], state: Residency): Row[] {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  return models
    .filter((model) => model.alias_of === undefined)
    .map((model) => {
      const at = new Map((model.nodes ?? []).map((one) => [one.id, one]));
      const cells = columns.map((column): Cell => {
        const one = at.get(column.id);
        if (!one) return { column, word: "", as: "" };
        const name = one.as ?? model.id;
        const as = name === model.id ? "" : name;
        if (column.self) return { column, word: ownWord(name, state), as };
        const serving = byId.get(column.id)?.serving;
        const known = serving ? serving.find((other) => other.model === name)?.state : one.state;
        return { column, word: (kServing[known ?? ""] as Cell["word"] | undefined) ?? "on disk", as };
      });
      const words = cells.map(({ word }) => word);
      return { model, cells, here: cells.some(({ column, word }) => column.self && word !== ""), served: words.some((word) => word !== "" && word !== "on disk") };
    });
}

export type Which = "all" | "served" | "missing here" | "on several machines";

export function filtered(rows: Row[], text: string, which: Which): Row[] {
  const parts = text.toLowerCase().split(/\s+/);
  return rows.filter((row) => {
    if (which === "served" && !row.served) return false;
    if (which === "missing here" && row.here) return false;
    if (which === "on several machines" && row.cells.filter(({ word }) => word !== "").length < 2) return false;
    const name = row.model.id.toLowerCase();
    return parts.every((part) => name.includes(part));
  });
}
