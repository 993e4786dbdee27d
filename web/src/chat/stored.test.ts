// The list of chats, with a server that is made of a few functions.
import { beforeEach, expect, test, vi } from "vitest";
import type { Live } from "../lib/live.svelte";
import type { Conversation } from "./types";

const kept = new Map<string, string>();
vi.stubGlobal("location", { origin: "http://server" });
vi.stubGlobal("history", { replaceState: () => {} });
vi.stubGlobal("localStorage", { getItem: (name: string) => kept.get(name) ?? null, setItem: (name: string, text: string) => void kept.set(name, text), removeItem: (name: string) => void kept.delete(name) });
const { StoredChats } = await import("./stored.svelte");
const { Chats } = await import("./chats.svelte");
const { Chat } = await import("./chat.svelte");

const kLimit = 50;
let stored: Conversation[] = [];
let asked: string[] = [];
let failure: { status: number; code: string; message: string } | null = null;
let meanwhile = (): void => {};
let hear = (_event: { name: string; data: string }): void => {};

const json = (value: unknown, status = 200) => new Response(JSON.stringify(value), { status });
const conversation = (id: string, title?: string): Conversation => ({ id, created_at: 1, updated_at: 1, metadata: title === undefined ? {} : { title } });

async function server(url: string, init: RequestInit): Promise<Response> {
  const { pathname, searchParams, search } = new URL(url);
  asked.push(`${init.method ?? "GET"} ${pathname}${search}`);
  if (failure?.status === 0) throw new TypeError("no connection");
  if (failure) return json({ error: failure }, failure.status);
  const id = pathname.split("/")[3];
  if (init.method === "DELETE") {
    stored = stored.filter((one) => one.id !== id);
    return json({ id, deleted: true });
  }
  if (init.method === "POST") {
    const one = stored.find((other) => other.id === id)!;
    one.metadata = (JSON.parse(init.body as string) as Conversation).metadata;
    return json(one);
  }
  if (id !== undefined) return json(stored.find((one) => one.id === id));
  const from = stored.findIndex((one) => one.id === searchParams.get("after")) + 1;
  const data = stored.slice(from, from + kLimit);
  meanwhile();
  return json({ data, last_id: data.at(-1)?.id ?? null, has_more: stored.length > from + kLimit });
}

beforeEach(() => {
  [stored, asked, failure] = [[], [], null];
  meanwhile = () => {};
  kept.clear();
  vi.stubGlobal("fetch", server);
});
const record = (id: string, title: string, used: number) => ({ id, title, model: "m", used, draft: `draft of ${id}` });
function newChats(records: object[] = []) {
  kept.set("corral.chats:/", JSON.stringify(records));
  return new Chats({ listen: (listener: typeof hear) => void (hear = listener), want: (_: string, read: () => Promise<void>) => void read(), models: [], residency: null } as unknown as Live);
}
const titles = (chats: { list: { title: string }[] }) => chats.list.map(({ title }) => title);

test("pages are read until the user has seen enough", async () => {
  stored = Array.from({ length: 120 }, (_, n) => conversation(`c${n}`, `${n}`));
  const list = new StoredChats();
  await Promise.all([list.read(), list.read()]);
  expect([list.all?.length, list.more, asked]).toEqual([50, true, ["GET /v1/conversations?limit=50"]]);
  await list.showMore();
  expect([list.all?.length, list.more, asked.at(-1)]).toEqual([100, true, "GET /v1/conversations?limit=50&after=c49"]);
  await list.showMore();
  expect([list.all?.length, list.more]).toEqual([120, false]);
});

test("a conversation that moves between two pages is listed once", async () => {
  stored = Array.from({ length: 60 }, (_, n) => conversation(`c${n}`, `${n}`));
  const list = new StoredChats();
  await list.read();
  meanwhile = () => {
    stored = [conversation("new", "new"), ...stored.slice(0, 49).toReversed(), ...stored.slice(49)];
    meanwhile = () => {};
  };
  await list.showMore();
  expect(new Set(list.all?.map(({ id }) => id)).size).toBe(list.all?.length);
});

test("a change of this page counts more than a list that was read before it", async () => {
  stored = [conversation("a", "A"), conversation("b", "B")];
  const list = new StoredChats();
  await list.read();
  meanwhile = () => {
    meanwhile = () => {};
    stored = [conversation("b", "B")];
    list.remove("a");
  };
  await list.read();
  expect(list.all?.map(({ id }) => id)).toEqual(["b"]);
  list.put("c", "C", "m");
  expect(list.all).toMatchObject([{ id: "c", metadata: { title: "C", model: "m" } }, { id: "b" }]);
});

test("the chats of the server are listed, with the drafts of this browser", async () => {
  stored = [conversation("b", "B"), conversation("c"), conversation("a", "new title")];
  const chats = newChats([record("gone", "Gone", 9), record("a", "old title", 5)]);
  expect(titles(chats)).toEqual(["Gone", "old title"]);
  chats.readList();
  await vi.waitFor(() => expect(chats.stored.all).not.toBeNull());
  expect(titles(chats)).toEqual(["B", "Chat without a title", "new title"]);
  chats.show("a");
  expect([chats.chat.title, chats.chat.draft, chats.chat.model]).toEqual(["new title", "draft of a", "m"]);
});

test("a server that stores nothing leaves the list to this browser", async () => {
  failure = { status: 400, code: "nothing_kept", message: "this server stores nothing" };
  const chats = newChats([record("a", "A", 1)]);
  await chats.stored.read();
  expect([titles(chats), chats.stored.problem]).toEqual([["A"], ""]);
  failure = { status: 503, code: "store_unavailable", message: "storage is not available" };
  await chats.stored.read();
  expect([titles(chats), chats.stored.problem]).toEqual([["A"], "storage is not available"]);
});

test("a server that is away leaves the list as it was", async () => {
  stored = [conversation("a", "A")];
  const chats = newChats();
  await chats.stored.read();
  failure = { status: 0, code: "", message: "" };
  await chats.stored.read();
  expect([titles(chats), chats.stored.problem]).toEqual([["A"], ""]);
});

test("new, renamed and deleted chats change the list at once", async () => {
  stored = [conversation("a", "A"), { ...conversation("b", "B"), metadata: { title: "B", app: "other" } } as Conversation];
  const chats = newChats();
  await chats.stored.read();
  expect(await chats.rename("b", "Best")).toBeUndefined();
  expect(titles(chats)).toEqual(["Best", "A"]);
  expect(stored[1]!.metadata).toEqual({ title: "Best", app: "other" });
  const made = new Chat(chats, { ...record("n", "New", 0), settings: chats.chat.settings, stats: {} });
  chats.created(made);
  expect(titles(chats)).toEqual(["New", "Best", "A"]);
  await chats.remove("b");
  expect(titles(chats)).toEqual(["New", "A"]);
  expect(asked.filter((one) => one.includes("limit"))).toEqual(["GET /v1/conversations?limit=50"]);
});

test("with another key nothing of the chats of the last one stays", async () => {
  stored = [conversation("a", "A")];
  const chats = newChats();
  await chats.stored.read();
  chats.show("a");
  await vi.waitFor(() => expect(chats.chat.busy).toBe(false));
  chats.chat.items = [{ type: "message", role: "user", content: "secret" }];
  hear({ name: "restart", data: "{}" });
  expect([chats.stored.all, chats.chat.id, chats.chat.items, chats.chat.unread]).toEqual([null, "a", [], true]);
  stored = [];
  await chats.stored.read();
  expect(chats.stored.all).toEqual([]);
});

test("a draft is kept soon after the last letter, and before another chat is shown", async () => {
  vi.useFakeTimers();
  stored = [conversation("a", "A"), conversation("b", "B")];
  const chats = newChats([record("a", "A", 1)]);
  const draft = () => (JSON.parse(kept.get("corral.chats:/")!) as { id: string; draft: string }[]).find(({ id }) => id === "a")?.draft;
  chats.show("a");
  await vi.advanceTimersByTimeAsync(1);
  for (const text of ["h", "he"]) {
    chats.chat.draft = text;
    chats.keepDraft();
  }
  expect(draft()).toBe("draft of a");
  await vi.advanceTimersByTimeAsync(500);
  expect(draft()).toBe("he");
  chats.chat.draft = "hello";
  chats.keepDraft();
  chats.show("b");
  expect(draft()).toBe("hello");
  vi.useRealTimers();
});
