// Calls of the public API. The key is in memory, and in sessionStorage if the user wants that; never in an address.

const kStored = "corral.key";

// The page's files are in console/assets/ of the server, whatever path a proxy puts before.
const here: string = import.meta.url;
export const root: string = import.meta.env.DEV ? `${location.origin}/` : new URL("../../", here).href;

export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
  get needsKey(): boolean {
    return this.status === 401;
  }
  get lacksScope(): boolean {
    return this.code === "insufficient_scope";
  }
}

function stored(): string {
  try {
    return sessionStorage.getItem(kStored) ?? "";
  } catch {
    return ""; // storage is switched off
  }
}

let key = stored();

export const hasKey = (): boolean => key !== "";

export function setKey(next: string, keep: boolean): void {
  key = next;
  try {
    if (keep && next !== "") sessionStorage.setItem(kStored, next);
    else sessionStorage.removeItem(kStored);
  } catch {
    // The key is in memory only.
  }
}

async function failure(response: Response): Promise<ApiError> {
  const text = await response.text().catch(() => "");
  try {
    const { error } = JSON.parse(text) as { error: { message: string; code: string } };
    return new ApiError(response.status, error.code, error.message);
  } catch {
    return new ApiError(response.status, "", `The server answered with the status ${response.status}: ${text.slice(0, 300)}`);
  }
}

async function send(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  if (key !== "") headers.set("Authorization", `Bearer ${key}`);
  if (init.body != null) headers.set("Content-Type", "application/json");
  let response: Response;
  try {
    response = await fetch(root + path, { ...init, headers, credentials: "omit", cache: "no-store", redirect: "error" });
  } catch (error) {
    if ((error as Error).name === "TimeoutError") throw new ApiError(0, "timeout", "The server has not answered in time. Try again.");
    if (init.signal?.aborted) throw error;
    throw new ApiError(0, "unreachable", "The server cannot be reached.");
  }
  if (!response.ok) throw await failure(response);
  return response;
}

// `signal` ends the wait: AbortSignal.timeout(10_000) after ten seconds.
export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await (await send(path, { signal })).json()) as T;
}
export async function post<T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> {
  return (await (await send(path, { method: "POST", body: JSON.stringify(body), signal })).json()) as T;
}
export async function remove(path: string, signal?: AbortSignal): Promise<void> {
  await send(path, { method: "DELETE", signal });
}

export interface ServerSentEvent {
  name: string;
  data: string;
}

// Splits a stream of text into events; comments are dropped.
export class EventSplitter {
  private rest = "";
  push(text: string): ServerSentEvent[] {
    const blocks = (this.rest + text).split("\n\n");
    this.rest = blocks.pop() ?? "";
    return blocks.flatMap((block) => {
      let name = "message";
      const data: string[] = [];
      for (const line of block.split("\n")) {
        if (line.startsWith("event: ")) name = line.slice(7);
        if (line.startsWith("data: ")) data.push(line.slice(6));
      }
      return data.length > 0 ? [{ name, data: data.join("\n") }] : [];
    });
  }
}

// Reads events until the server or the signal ends them; with a body, of a POST. EventSource can't send a key.
export async function events(path: string, signal: AbortSignal, on: (event: ServerSentEvent) => void, body?: unknown): Promise<void> {
  const call: RequestInit = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
  const response = await send(path, { ...call, signal, headers: { Accept: "text/event-stream" } });
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  const splitter = new EventSplitter();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    for (const event of splitter.push(value)) on(event);
  }
}

export const idPath = (id: string): string => id.split("/").map(encodeURIComponent).join("/");
