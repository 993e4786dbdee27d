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
// The identifier in the key that the page uses; "": none is in it.
export const keyId = (): string => /^corral-([^-]+)-/.exec(key)?.[1] ?? "";

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

const kRefused = "invalid_api_key"; // the code of this server; backends elsewhere have others
let refused = (): void => {};
// `call`: after the server has refused the key of any call, which may have been revoked.
export const onRefusedKey = (call: () => void): void => void (refused = call);

const kLongestRead = 60_000; // ms
const isLate = (error: unknown): boolean => (error as Error).name === "TimeoutError";
const late = (): ApiError => new ApiError(0, "timeout", "The server has not answered in time. Try again.");

function authorize(headers: Headers): void {
  if (key === "") return;
  try {
    headers.set("Authorization", `Bearer ${key}`);
  } catch {
    throw new ApiError(401, kRefused, "The text has characters that no API key has.");
  }
}

// Of a form the browser itself writes the Content-Type.
export async function send(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  authorize(headers);
  if (typeof init.body === "string") headers.set("Content-Type", "application/json");
  let response: Response;
  try {
    response = await fetch(root + path, { ...init, headers, credentials: "omit", cache: "no-store", redirect: "error" });
  } catch (error) {
    if (isLate(error)) throw late();
    if (init.signal?.aborted) throw error;
    throw new ApiError(0, "unreachable", "The server cannot be reached.");
  }
  if (response.ok) return response;
  const error = await failure(response);
  if (error.code === kRefused) refused();
  throw error;
}

async function body<T>(response: Response): Promise<T> {
  try {
    return (await response.json()) as T;
  } catch (error) {
    if (isLate(error)) throw late();
    if ((error as Error).name === "AbortError") throw error;
    throw new ApiError(0, "unreachable", "The answer of the server ended early. Try again.");
  }
}

// `signal` ends the wait: AbortSignal.timeout(10_000) after ten seconds. A page reads nothing forever.
export async function get<T>(path: string, signal = AbortSignal.timeout(kLongestRead)): Promise<T> {
  return body<T>(await send(path, { signal }));
}
export async function post<T>(path: string, value: unknown, signal?: AbortSignal): Promise<T> {
  return body<T>(await send(path, { method: "POST", body: JSON.stringify(value), signal }));
}
export async function del<T>(path: string, signal?: AbortSignal): Promise<T> {
  return body<T>(await send(path, { method: "DELETE", signal }));
}

// The server sends a comment each 15 s to those who follow its events or a log.
export const kLongestSilence = 45_000;

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

// Reads events until the server or the signal ends them; with a body it is a POST. EventSource can't send a key.
// `longestSilence`: as for readEvents.
export async function events(path: string, signal: AbortSignal, on: (event: ServerSentEvent) => void, { body, longestSilence }: { body?: unknown; longestSilence?: number } = {}): Promise<void> {
  const call = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
  await readEvents(await send(path, { ...call, signal, headers: { Accept: "text/event-stream" } }), on, longestSilence);
}
// `longestSilence`: after that many milliseconds without data, comments included, reading ends with an error.
export async function readEvents(response: Response, on: (event: ServerSentEvent) => void, longestSilence = 0): Promise<void> {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  const splitter = new EventSplitter();
  let silent = false;
  try {
    for (;;) {
      const timer = longestSilence > 0 ? setTimeout(() => ((silent = true), void reader.cancel()), longestSilence) : undefined;
      const { done, value } = await reader.read().finally(() => clearTimeout(timer));
      if (silent) throw new ApiError(0, "unreachable", `The server has sent nothing for ${longestSilence / 1000} s.`);
      if (done) return;
      for (const event of splitter.push(value)) on(event);
    }
  } finally {
    reader.cancel().catch(() => {}); // after an error of `on` the connection would stay
  }
}

export const idPath = (id: string): string => id.split("/").map(encodeURIComponent).join("/");
