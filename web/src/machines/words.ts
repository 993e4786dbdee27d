// What the API says about the mesh, in words. Pure functions.
import { bytes, counted, duration, percent, tokens } from "../lib/format";
import type { Assignment, Copy, MeshNode, ModelPlan, PlannedSplit, Serving, Split, Unserved, Why } from "./types";

export interface LinkText {
  word: string;
  look: "ready" | "failed" | "";
  detail: string;
}

// No traffic passes through a third machine: a link is up or down.
export function linkText(node: MeshNode, now: number): LinkText {
  if (node.self) return { word: "this machine", look: "", detail: "" };
  const since = node.since > 0 ? `for ${duration(now - node.since)}` : "";
  if (node.routable) {
    const trip = node.rtt_ms === null ? "" : `round trip ${node.rtt_ms} ms`;
    return { word: "up", look: "ready", detail: [trip, since].filter(Boolean).join(", ") };
  }
  const next = node.link === "dialling" ? "dialled now" : node.link === "waiting" ? "dialled again soon" : "";
  return { word: "down", look: "failed", detail: [since, next, node.last_end].filter(Boolean).join("; ") };
}

export const kRoles: Record<string, string> = {
  member: "serves its own models, lends free memory",
  worker: "its memory and disk are for the mesh",
  client: "only sends requests, lends nothing",
};

export function memoryTexts(node: MeshNode): string[] {
  return (node.memory ?? []).map(({ device, free_bytes, total_bytes }) => `${device}: ${bytes(free_bytes)} of ${bytes(total_bytes)} free`);
}
export function lendTexts(node: MeshNode): string[] {
  return (node.memory ?? []).map(({ device, lent_bytes }) => (lent_bytes > 0 ? `${device}: at most ${bytes(lent_bytes)} for the mesh` : `${device}: nothing for the mesh`));
}

export const kServing: Record<string, string> = { loading: "loading", ready: "in memory", draining: "unloading" };

export function servingText(one: Serving): string {
  const parts = [kServing[one.state] ?? one.state];
  if (one.context > 0) parts.push(`context ${tokens(one.context)}`);
  if (one.running + one.waiting > 0) parts.push(counted(one.running, "request runs", "requests run"));
  if (one.waiting > 0) parts.push(counted(one.waiting, "request waits", "requests wait"));
  if (one.running + one.waiting === 0 && one.state === "ready") parts.push(`idle for ${duration(one.idle_ms)}`);
  if (one.tokens_per_second > 0) parts.push(`${one.tokens_per_second.toFixed(1)} tokens/s`);
  if (one.memory_bytes > 0) parts.push(bytes(one.memory_bytes));
  if (one.lent) parts.push("loaded for the mesh");
  return parts.join(", ");
}

// ---- why and plan of one model

export const kRanks: Record<string, string> = {
  idle: "in memory, free",
  busy: "in memory, busy",
  loading: "loading",
  fits: "can load it",
  evicts: "can load it after an eviction",
  none: "cannot serve it",
};

export function whyText(why: Why): string {
  if (why.split) return `A request for ${why.model} would split it over ${why.split.shares.map(({ node }) => node).join(", ")}; ${why.split.host} would be the host.`;
  if (why.node) return `A request for ${why.model} would go to ${why.node}${why.here ? " (this machine)" : ""}.`;
  const retry = why.short && why.short.retry_after > 0 ? ` Try again in ${why.short.retry_after} s.` : "";
  return `No machine can serve ${why.model} now: ${why.short?.text ?? "the reason is unknown"}.${retry}`;
}

export function splitSpeed(split: PlannedSplit): string {
  const context = split.context ? `, with a context of ${tokens(split.context)}` : "";
  return `${split.tokens_per_second.toFixed(1)} tokens/s, loads in ${Math.round(split.load_seconds)} s${context}`;
}

// What the plan would do with a model that no group of machines holds.
export function foretoldText(plan: ModelPlan): string {
  const told = plan.foretold;
  if (!told || plan.groups.length > 0) return "";
  const needs = `${plan.model} needs ${bytes(told.need_bytes)}`;
  if (told.alone) return `${needs}. ${told.alone} can hold it alone; a split would only be slower.`;
  if (told.split) return `${needs}. No machine can hold it alone, so it would be split: ${splitSpeed(told.split)}.`;
  return told.short ? `${needs}. It cannot be served: ${told.short.text}.` : "";
}

export function groupText(group: ModelPlan["groups"][number]): string {
  const context = group.context ? `, with a context of ${tokens(group.context)}` : "";
  const problem = group.problem ? `; ${group.problem}` : "";
  return `${group.host} hosts it over ${counted(group.shares.length, "machine")}: ${group.running ? "serves" : group.stage}${context}${problem}`;
}

// ---- the plan of all models

const kParts: Record<string, string> = { alone: "the whole model", replica: "a second copy in memory", share: "some layers", standby: "waits for the other machines of its split" };

export function assignmentText(one: Assignment): string {
  const parts = [kParts[one.part] ?? one.part];
  if (one.priority === "told") parts.push("by order");
  if (one.fetch === "copy") parts.push("copies the files first");
  if (one.fetch === "download") parts.push("needs a download first");
  if (one.waits) parts.push("waits");
  return parts.join(", ");
}

// Models that wait for a request are no problem; the others lack something.
const kQuiet = new Set(["not_asked", "told", "resting"]);
export const isQuiet = ({ lack }: Unserved): boolean => kQuiet.has(lack);

// ---- copies, splits, tokens

export function copyText(copy: Copy): string {
  const size = `${bytes(copy.done_bytes)} of ${bytes(copy.total_bytes)}`;
  if (copy.state === "done") return bytes(copy.total_bytes);
  if (copy.state === "failed") return size;
  return copy.from ? `${size}, ${bytes(copy.bytes_per_second)}/s from ${copy.from}` : `${size}, waits for a machine that sends it`;
}

export function splitText(split: Split): string {
  const progress = split.progress === null ? "" : ` ${percent(split.progress)}`;
  const speed = split.predicted_tokens_per_second > 0 ? `, predicted ${split.predicted_tokens_per_second.toFixed(1)} tokens/s` : "";
  return `${split.status}${progress}${split.by_hand ? ", by order" : ""}${speed}`;
}

export const sharesText = (shares: { node: string; layers: number; memory_bytes: number }[]): string =>
  shares.map(({ node, layers, memory_bytes }) => `${node}: ${counted(layers, "layer")}, ${bytes(memory_bytes)}`).join("; ");

const kSteps: Record<string, string> = { dial: "dials", handshake: "makes the connection to", proof: "checks the identity of", admit: "asks to be admitted by", members: "reads the list of machines of" };

export const stepText = (step: string, address: string, limit_ms: number): string => `This machine ${kSteps[step] ?? step} ${address} (within ${duration(limit_ms)})`;

export const joinCommand = (token: string): string => `corral mesh join ${token}`;

// A pasted command counts as its token. Terminals and mail programs insert spaces and line ends.
export const tokenIn = (text: string): string => text.replace(/^\s*(corral\s+mesh\s+join\s+)?/, "").replace(/\s+/g, "");

// Other machines cannot reach an address of the loopback interface.
export const onlyLocal = (addresses: string[]): boolean => addresses.length > 0 && addresses.every((address) => /^(127\.|\[?::1\]?:|localhost:)/.test(address));

// The first digits of an identifier, as everywhere.
export const shortId = (id: string): string => id.slice(0, 12);
