import { afterEach, beforeEach, expect, test, vi } from "vitest";

let seen = (): void => {}; // the page is shown again
vi.stubGlobal("location", { origin: "http://server" });
vi.stubGlobal("document", { hidden: false, addEventListener: (_: string, call: () => void) => void (seen = call), removeEventListener: () => void (seen = () => {}) });
const { Live } = await import("./live.svelte");
const { get, setKey } = await import("./api");

let paths: string[] = [];
let open = 0; // streams
let refuses = false; // the key
let pings = true;
let tell = (_name: string, _event: object): void => {};
let health: () => Promise<object>;

const refusal = () => new Response('{"error": {"code": "invalid_api_key", "message": "a valid API key is required"}}', { status: 401 });
const bytes = (text: string) => new TextEncoder().encode(text);

function events(signal: AbortSignal): Response {
  let ping: ReturnType<typeof setInterval>;
  return new Response(
    new ReadableStream({
      start(out) {
        open += 1;
        tell = (name, event) => out.enqueue(bytes(`event: ${name}\ndata: ${JSON.stringify({ time: 0, ...event })}\n\n`));
        tell("snapshot", { all_models_loaded: [], stopping: [], load_queue: [] });
        ping = setInterval(() => pings && out.enqueue(bytes(": ping\n\n")), 15_000);
        signal.addEventListener("abort", () => {
          open -= 1;
          clearInterval(ping);
          out.error(new Error("aborted"));
        });
      },
      cancel: () => clearInterval(ping),
    }),
  );
}
async function server(url: string, init: RequestInit): Promise<Response> {
  const path = new URL(url).pathname;
  paths.push(path);
  if (refuses) return refusal();
  if (path === "/v1/events") return events(init.signal!);
  if (path === "/v1/health") return new Response(JSON.stringify(await health()));
  return new Response('{"data": []}');
}

beforeEach(() => {
  vi.useFakeTimers();
  [paths, open, refuses, pings] = [[], 0, false, true];
  health = async () => ({ all_models_loaded: [], stopping: [], load_queue: [], version: "1" });
  vi.stubGlobal("fetch", server);
});
afterEach(() => {
  live.end();
  Object.assign(document, { hidden: false });
  vi.useRealTimers();
});
let live: InstanceType<typeof Live>;
async function started(): Promise<void> {
  live = new Live();
  live.start();
  await vi.advanceTimersByTimeAsync(100);
}
const reads = (what: string) => paths.filter((path) => path === `/v1/${what}`).length;

test("the memory is read while a page shows it, and only then", async () => {
  await started();
  await vi.advanceTimersByTimeAsync(100_000);
  expect([live.connection, reads("memory")]).toEqual(["live", 0]);

  const end = live.watchMemory();
  await vi.advanceTimersByTimeAsync(100_000);
  expect(reads("memory")).toBeGreaterThan(2);

  end();
  const before = reads("memory");
  await vi.advanceTimersByTimeAsync(100_000);
  expect(reads("memory")).toBe(before);
});

test("a hidden page asks nothing, and is current soon after it is shown", async () => {
  await started();
  Object.assign(document, { hidden: true });
  const before = paths.length;
  tell("load", { model: "a", stage: "finished" });
  tell("mesh", { change: "model" });
  await vi.advanceTimersByTimeAsync(300_000);
  expect(paths.length).toBe(before);
  Object.assign(document, { hidden: false });
  seen();
  await vi.advanceTimersByTimeAsync(1000);
  expect(paths.slice(before).sort()).toEqual(["/v1/health", "/v1/models"]);
});

test("a page that stays hidden gives its connection back, and is current again when it is shown", async () => {
  const show = (visible: boolean) => {
    Object.assign(document, { hidden: !visible });
    seen();
  };
  await started();
  show(false);
  await vi.advanceTimersByTimeAsync(30_000);
  show(true);
  await vi.advanceTimersByTimeAsync(100_000);
  expect([open, reads("events")]).toEqual([1, 1]); // a look at another page changes nothing

  show(false);
  await vi.advanceTimersByTimeAsync(100_000);
  expect(open).toBe(0);
  const before = paths.length;
  show(true);
  await vi.advanceTimersByTimeAsync(1000);
  expect([open, live.connection, paths.slice(before).sort()]).toEqual([1, "live", ["/v1/events", "/v1/health", "/v1/models"]]);
});

test("a page that was opened in the background gives its connection back, too", async () => {
  Object.assign(document, { hidden: true });
  await started();
  await vi.advanceTimersByTimeAsync(100_000);
  expect([reads("events"), open]).toEqual([1, 0]);
});

test("after a lost connection, what a restarted server may have changed is read again", async () => {
  await started();
  expect([live.version, reads("models"), reads("health")]).toEqual(["1", 1, 1]);
  health = async () => ({ all_models_loaded: [], stopping: [], load_queue: [], version: "2" });
  pings = false;
  await vi.advanceTimersByTimeAsync(40_000);
  expect(live.connection).toBe("live");
  await vi.advanceTimersByTimeAsync(22_000); // a silent stream is a lost one
  expect([live.connection, live.version, reads("events"), reads("models"), reads("health")]).toEqual(["live", "2", 2, 2, 2]);
});

test("snapshots for a slow reader are within the budget", async () => {
  await started();
  live.watchMemory();
  const before = paths.length;
  for (let i = 0; i < 100; ++i) {
    tell("snapshot", { all_models_loaded: [], stopping: [], load_queue: [] });
    await vi.advanceTimersByTimeAsync(500);
  }
  expect(paths.length - before).toBeLessThanOrEqual(5);
});

test("an answer that is older than events does not undo them", async () => {
  await started();
  const loaded = (status: string) => ({ all_models_loaded: [{ model_name: "a", status, active_requests: 1, last_use: 0 }], stopping: [], load_queue: [] });
  let answer = (_: object): void => {};
  tell("snapshot", loaded("in_use"));
  health = () => new Promise((resolve) => (answer = resolve));
  tell("load", { model: "b", stage: "finished" });
  await vi.advanceTimersByTimeAsync(1000);
  tell("server", { model: "a", from: "in_use", status: "ready", active_requests: 0 });
  await vi.advanceTimersByTimeAsync(1000);
  answer(loaded("in_use"));
  await vi.advanceTimersByTimeAsync(1000);
  expect(live.residency?.all_models_loaded).toMatchObject([{ status: "ready", active_requests: 0 }]);
});

test("a key that was revoked is noticed by any call, and another one shows nothing of it", async () => {
  setKey("corral-old", false);
  await started();
  const heard: string[] = [];
  live.listen(({ name }) => heard.push(name));
  refuses = true;
  await get("v1/downloads").catch(() => {});
  await vi.advanceTimersByTimeAsync(100);
  expect([live.connection, live.problem]).toEqual(["needs a key", "a valid API key is required"]);
  expect(live.residency).not.toBeNull();

  live.restart();
  expect([live.residency, live.models, live.version]).toEqual([null, [], ""]);
  refuses = false;
  live.restart();
  await vi.advanceTimersByTimeAsync(100);
  expect([live.connection, live.version, heard]).toEqual(["live", "1", ["restart", "restart", "snapshot"]]);
});

test("a text that is no key is refused, not sent", async () => {
  setKey("ключ", false);
  await started();
  expect([live.connection, paths]).toEqual(["needs a key", []]);
  setKey("", false);
});

test("an answer that is cut off is an error in words", async () => {
  await started();
  vi.stubGlobal("fetch", async () => new Response('{"data": ['));
  await expect(get("v1/downloads")).rejects.toMatchObject({ code: "unreachable", message: "The answer of the server ended early. Try again." });
  vi.stubGlobal("fetch", async () => Promise.reject(new DOMException("late", "TimeoutError")));
  await expect(get("v1/downloads")).rejects.toMatchObject({ code: "timeout" });
});
