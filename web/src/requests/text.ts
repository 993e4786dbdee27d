// Times, speeds and error codes in words.
import { duration } from "../lib/format";

// "421 ms", "4.2 s", "3 min 20 s"
export function took(milliseconds: number): string {
  if (milliseconds < 1000) return `${Math.max(0, Math.round(milliseconds))} ms`;
  if (milliseconds < 9_950) return `${(milliseconds / 1000).toFixed(1)} s`;
  return duration(milliseconds);
}

export const speed = (perSecond: number): string => `${perSecond.toLocaleString("en", { maximumFractionDigits: perSecond < 100 ? 1 : 0 })} tokens/s`;

// The time of today alone, else with its day; of this browser's time zone.
export function clock(time: number, now: number): string {
  const two = (value: number) => String(value).padStart(2, "0");
  const at = new Date(time);
  const of = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
  if (at.toDateString() === new Date(now).toDateString()) return of;
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${of}`;
}

const kCodes: Record<string, string> = {
  cancelled: "the client left, or the request was cancelled",
  failed: "the answer ended with an error",
  invalid_value: "a field of the request has a wrong value",
  invalid_type: "a field of the request has a wrong type",
  missing_required_parameter: "a required field is missing",
  unsupported_value: "a field has a value that this server does not support",
  invalid_request: "the request is malformed",
  context_length_exceeded: "the prompt is longer than the context of the model",
  input_too_long: "an input is longer than the model allows",
  wrong_model_type: "the model is of another type",
  media_not_supported: "the model does not accept this kind of content",
  chat_template_error: "the template of the model rejected the messages",
  model_not_found: "no model has this name",
  model_not_loaded: "the model is not in memory",
  model_load_error: "the model failed to load",
  model_cooling_down: "the model failed repeatedly, and is not loaded for a while",
  insufficient_memory: "the model does not fit in memory",
  slots_pinned_error: "pinned models hold all slots of its type",
  queue_full: "too many requests waited",
  too_many_requests: "the key had too many requests at once",
  insufficient_scope: "the key lacks a scope",
  backend_died: "the process of the model ended",
  worker_failed: "the engine failed while it worked on the request",
  request_ended_backend: "the same request had ended processes before, so it was rejected",
  backend_unreachable: "the process of the model could not be reached",
  backend_not_installed: "the backend of the model is not installed",
  backend_timeout: "the backend did not answer in time",
  shutting_down: "the server stopped",
  server_stopping: "the server stopped",
  body_too_large: "the body is larger than the limit",
  no_capacity: "no machine of the mesh had capacity for it",
  node_gone: "the machine that worked on it became unreachable",
};
export const reasonOf = (code: string): string => kCodes[code] ?? "";

// The state of a result, as a class of the page's words.
export function resultClass(status: number, code: string): string {
  if (code === "ok") return "ready";
  return code === "cancelled" || status < 500 && status >= 400 ? "warn" : "failed";
}
