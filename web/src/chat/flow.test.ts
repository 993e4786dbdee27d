// A chat with a server that is made of a few functions.
import { beforeEach, expect, test, vi } from "vitest";
import type { Chat as ChatType } from "./chat.svelte";
import { textOf } from "./items";
import type { Item } from "./types";

vi.stubGlobal("location", { origin: "http://server" });
const { Chat } = await import("./chat.svelte");

let stored: Item[] = [];
let bodies: Record<string, unknown>[] = [];
let storing = true;
let broken = (_method: string, _path: string): boolean => false;
let answer = "fine";

const json = (value: unknown, status = 200) => new Response(JSON.stringify(value), { status });
const sse = (name: string, data: object) => `event: response.${name}\ndata: ${JSON.stringify(data)}\n\n`;
const message = (text: string, id: string): Item => ({ id, type: "message", role: "assistant", status: "completed", content: [{ type: "output_text", text }] });
let ids = 0;

function generated(body: Record<string, unknown>, signal: AbortSignal): Response {
  const item = message(answer, `out${++ids}`);
  const added = sse("output_item.added", { output_index: 0, item: { ...item, status: "in_progress", content: [] } }) + sse("output_text.delta", { output_index: 0, delta: answer });
  if (answer === "endless") {
    return new Response(
      new ReadableStream({
        start(out) {
          out.enqueue(new TextEncoder().encode(added));
          signal.addEventListener("abort", () => out.error(new Error("aborted")));
        },
      }),
    );
  }
  if (answer === "cut") return new Response(added);
  if (body.conversation) stored.push(item);
  return new Response(added + sse("completed", { response: { status: "completed", error: null, incomplete_details: null, output: [item], usage: { input_tokens: 5, output_tokens: 2, total_tokens: 7 } } }));
}

async function server(url: string, init: RequestInit): Promise<Response> {
  const path = new URL(url).pathname;
  const method = init.method ?? "GET";
  const body = typeof init.body === "string" ? (JSON.parse(init.body) as Record<string, unknown>) : {};
  if (broken(method, path)) throw new TypeError("no connection");
  if (path === "/v1/responses") return bodies.push(body), generated(body, init.signal!);
  if (!storing) return json({ error: { code: "nothing_kept", message: "this server stores nothing" } }, 400);
  if (path === "/v1/conversations") return json({ id: "conv_1" });
  if (method === "DELETE") stored = stored.filter(({ id }) => id !== path.split("/").at(-1));
  if (method === "POST" && path.endsWith("/items")) {
    const items = (body.items as Item[]).map((item) => ({ ...item, id: `in${++ids}` }));
    stored.push(...items);
    return json({ data: items });
  }
  return path.endsWith("/items") ? json({ data: stored, has_more: false, last_id: null }) : json({ id: "conv_1", metadata: {} });
}

beforeEach(() => {
  [stored, bodies, storing, answer] = [[], [], true, "fine"];
  broken = () => false;
  vi.stubGlobal("fetch", server);
});
function newChat(): ChatType {
  const chat = new Chat({ contextOf: () => 100, created: () => {}, changed: () => {} });
  chat.model = "m";
  return chat;
}
async function say(chat: ChatType, text: string): Promise<void> {
  chat.draft = text;
  await chat.submit();
}
const texts = (items: readonly Item[]) => items.map(textOf);

test("the server stores messages and answers", async () => {
  const chat = newChat();
  await say(chat, "Hello");
  expect(bodies[0]).toMatchObject({ model: "m", conversation: "conv_1", store: false });
  expect(texts(chat.items)).toEqual(["Hello", "fine"]);
  expect(texts(stored)).toEqual(["Hello", "fine"]);
  expect([chat.title, chat.draft, chat.unanswered]).toEqual(["Hello", "", false]);
  expect(Object.values(chat.stats)).toMatchObject([{ inputTokens: 5, context: 100 }]);
});

test("another answer replaces the old one only when it is there", async () => {
  const chat = newChat();
  await say(chat, "Hello");
  broken = (_, path) => path === "/v1/responses";
  await chat.retry();
  expect(chat.failure?.code).toBe("unreachable");
  expect(texts(stored)).toEqual(["Hello", "fine"]);
  broken = () => false;
  answer = "cut";
  await chat.retry();
  expect(chat.failure?.message).toContain("ended before");
  expect([texts(stored), texts(chat.items)]).toEqual([["Hello", "fine"], ["Hello", "fine"]]);
  answer = "better";
  await chat.retry();
  expect(bodies.at(-1)).not.toHaveProperty("conversation");
  expect(texts(stored)).toEqual(["Hello", "better"]);
  expect(texts(chat.items)).toEqual(["Hello", "better"]);
});

test("an answer that is stopped or cut off is stored as far as it came", async () => {
  const chat = newChat();
  answer = "endless";
  chat.draft = "Hello";
  const sent = chat.submit();
  await vi.waitFor(() => expect(chat.answer?.items.length).toBe(1));
  chat.stop();
  await sent;
  expect(stored.map(({ status }) => status)).toEqual([undefined, "incomplete"]);
  expect(chat.failure).toBeNull();
  answer = "cut";
  await say(chat, "More");
  expect(chat.failure?.message).toContain("ended before");
  expect(texts(stored)).toEqual(["Hello", "endless", "More", "cut"]);
});

test("what was typed stays if it cannot be sent", async () => {
  const chat = newChat();
  broken = () => true;
  await say(chat, "Hello");
  expect([chat.draft, chat.items.length, chat.unsent]).toEqual(["Hello", 0, true]);
  broken = () => false;
  await chat.submit();
  expect([chat.draft, chat.unsent]).toEqual(["", false]);
  expect(texts(stored)).toEqual(["Hello", "fine"]);
});

test("an edited message replaces all after it", async () => {
  const chat = newChat();
  await say(chat, "One");
  await say(chat, "Two");
  chat.draft = "half typed";
  await chat.edit(0, "Other");
  expect(texts(stored)).toEqual(["Other", "fine"]);
  expect(texts(chat.items)).toEqual(["Other", "fine"]);
  expect(chat.draft).toBe("half typed");
  broken = (method) => method === "DELETE";
  await chat.edit(0, "Lost?");
  expect(chat.failure?.code).toBe("not_changed");
  expect(chat.draft).toBe("half typed\n\nLost?");
  expect(texts(chat.items)).toEqual(["Other", "fine"]);
});

test("without storage the chat is in the page, and says why", async () => {
  storing = false;
  const chat = newChat();
  await say(chat, "Hello");
  await say(chat, "More");
  expect(chat.pageOnly).toContain("stores nothing");
  expect(texts(bodies[1]!.input as Item[])).toEqual(["Hello", "fine", "More"]);
  expect(texts(chat.items)).toEqual(["Hello", "fine", "More", "fine"]);
});
