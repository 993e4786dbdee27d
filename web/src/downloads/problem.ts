// Failures of calls and of downloads: the reason, and what the user can do on this page afterwards. The server's message
// already says what to do on its machine.
import { ApiError } from "../lib/api";

export interface Problem {
  message: string;
  code: string;
}

const kLongestWait = 90_000; // ms; the server itself asks the hub for a shorter time

const kRemedies: Record<string, string> = {
  disk_full: "To free space here: delete a model under “On this disk”. Then try again.",
  disk_failed: "Check the folder on the server's machine and its permissions, then try again.",
  model_gated: "Then try again: the server reads the token file at each download.",
  hub_token_refused: "Then try again: the server reads the token file at each download.",
  offline: "Then try again.",
  hub_unreachable: "Check the network of the server's machine, and its proxy (https_proxy). Then try again.",
  hub_failed: "The hub has a problem: try again later.",
  hub_malformed: "The answer is not that of a hub: check the proxy and HF_ENDPOINT of the server, then try again.",
  hub_rate_limited: "Wait some minutes, then try again. A token allows more requests.",
  wrong_content: "Try again. If it fails again, the files in the repository are damaged: choose another variant.",
  model_not_found: "Check the name, or search for it.",
  revision_not_found: "Check the name, or search for it.",
  bad_model_source: "Check the name, or search for words of it.",
  model_busy: "Cancel its requests or wait for their end, then try again.",
  insufficient_scope: "Use a key with the scope “admin”.",
  unreachable: "Check that the server runs and that this machine reaches it.",
  timeout: "Try again; the log of the server has more.",
};
// After these, another try keeps what is on the disk.
const kContinued = new Set(["disk_full", "disk_failed", "offline", "hub_unreachable", "hub_failed", "hub_rate_limited"]);

// `download`: the failure is that of a download, not of a question to the hub.
export function remedyOf(code: string, download = false): string {
  const remedy = kRemedies[code] ?? "";
  return download && kContinued.has(code) ? `${remedy} The download continues where it ended.` : remedy;
}

export function problemOf(error: unknown): Problem {
  if (error instanceof ApiError) return { message: error.message, code: error.code };
  return { message: error instanceof Error && error.message !== "" ? `The answer ended early: ${error.message}.` : "The answer ended early.", code: "unreachable" };
}

// The page of the hub that a message names, such as that with the conditions of a gated repository.
export function pageIn({ message, code }: Problem): string {
  if (code !== "model_gated") return "";
  const found = /https?:\/\/[^\s,;']+/.exec(message)?.[0] ?? "";
  return URL.canParse(found) ? found : "";
}

// A call that ends by itself if the server doesn't answer. `stop` ends it earlier.
export async function ask<T>(call: (signal: AbortSignal) => Promise<T>, stop?: AbortSignal): Promise<T> {
  const limit = AbortSignal.timeout(kLongestWait);
  try {
    return await call(stop ? AbortSignal.any([stop, limit]) : limit);
  } catch (error) {
    if (limit.aborted && !stop?.aborted) throw new ApiError(0, "timeout", `The server has not answered for ${kLongestWait / 1000} s.`);
    throw error;
  }
}
