// Models with files on this disk, and texts on the verification of their files.
import { bytes, counted } from "../lib/format";
import type { Model } from "../lib/types";
import type { CheckedFile, Estimate, Verified } from "./types";

export type Order = "size" | "name";

// The list without models of other nodes. Aliases are names without files.
export function onDisk(models: Model[], words: string, order: Order): Model[] {
  const parts = words.toLowerCase().split(/\s+/);
  const here = models.filter(({ id, alias_of, downloaded, nodes }) => {
    if (alias_of !== undefined || downloaded === false || (nodes && nodes.length > 0 && !nodes.some(({ self }) => self))) return false;
    return parts.every((part) => id.toLowerCase().includes(part));
  });
  return here.toSorted((a, b) => (order === "size" ? (b.size_bytes ?? 0) - (a.size_bytes ?? 0) : 0) || a.id.localeCompare(b.id));
}

const kStates: Record<CheckedFile["state"], string> = {
  right: "correct",
  damaged: "damaged",
  changed: "changed",
  first_look: "first verification: its hash is stored for the next one",
  unsettled: "written to during the verification",
  unreadable: "unreadable",
};
export const fileState = (file: CheckedFile): string => kStates[file.state] ?? file.state;

export const isBad = ({ state }: CheckedFile): boolean => state === "damaged" || state === "unreadable";
// Those with something to tell, the bad ones first.
export function remarkable({ models }: Verified): { model: string; file: CheckedFile }[] {
  const all = models.flatMap(({ model_name, files }) => files.map((file) => ({ model: model_name, file })));
  return all.filter(({ file }) => file.state !== "right" && file.state !== "first_look").sort((a, b) => Number(isBad(b.file)) - Number(isBad(a.file)));
}

export function verifiedText({ models, files, damaged, unreadable }: Verified): string {
  const first = models.flatMap((one) => one.files).filter(({ state }) => state === "first_look").length;
  const parts = [`${counted(files, "file")} verified`];
  parts.push(damaged > 0 ? `${damaged} damaged` : "none damaged");
  if (unreadable > 0) parts.push(`${unreadable} unreadable`);
  if (first > 0) parts.push(`${first} for the first time: their hashes are stored for the next verification`);
  return parts.join(", ");
}

export function estimateText({ memory }: Estimate): string {
  const on = memory.devices.map(({ device, weights, kv, compute }) => `${device}: weights ${bytes(weights)}, KV cache ${bytes(kv)}, compute buffers ${bytes(compute)}`);
  return `${bytes(memory.total)} when it is loaded (${[...on, `process ${bytes(memory.process)}`].join("; ")})`;
}
