// The chats of the server and of this page, and the one that is open. One for the whole console.
import { SvelteMap } from "svelte/reactivity";
import { root } from "../lib/api";
import type { Live } from "../lib/live.svelte";
import { instanceOf } from "../models/state";
import { Chat } from "./chat.svelte";
import { removeConversation } from "./conversations";
import { changeRecords, readRecords, withRecord, type ChatRecord } from "./records";
import { StoredChats } from "./stored.svelte";
import { kNoSettings } from "./types";

const path = new URL(root).pathname; // several servers may share a host
const kChats = `corral.chats:${path}`;
const kPageId = "page-"; // starts the IDs of chats that the server doesn't store
const isPageId = (id: string): boolean => id.startsWith(kPageId);
const kTyping = 400; // ms without a letter, until a draft is kept
const kUntitled = "Chat without a title"; // of another client
const kNewDraft = `corral.chats.new:${path}`;

export class Chats {
  records = $state.raw<ChatRecord[]>(readRecords(globalThis.localStorage, kChats));
  chat = $state.raw<Chat>(null!);
  readonly stored = new StoredChats();
  private readonly running = new SvelteMap<string, Chat>(); // that generate, or are in this page only

  private pageChats = 0;
  private late: { chat: Chat; timer: ReturnType<typeof setTimeout> } | null = null; // whose draft is still to be kept

  constructor(private readonly live: Live) {
    this.chat = this.fresh();
    // An answer goes on while another page of the console is shown, but ends with the tab.
    globalThis.addEventListener?.("beforeunload", (event) => {
      this.keepNow();
      if (this.unsaved) event.preventDefault();
    });
    live.listen(({ name, data }) => {
      if (name === "restart") this.reset();
      if (name !== "load") return;
      const { model, stage } = JSON.parse(data) as { model: string; stage: string };
      if (stage === "finished") for (const chat of [this.chat, ...this.running.values()]) chat.loaded(this.named(model, chat));
    });
  }

  // Newest first. If the list of the server cannot be read: the chats of this browser.
  get list(): { id: string; title: string; pageOnly: boolean; busy: boolean }[] {
    const inPage = [...this.running.values()].filter(({ id }) => isPageId(id)).toReversed();
    const busy = (id: string) => this.running.get(id)?.phase === "generating";
    const titles = new Map(this.records.map(({ id, title }) => [id, title]));
    const stored = this.stored.all?.map(({ id, metadata }) => ({ id, title: metadata.title || titles.get(id) || kUntitled }));
    return [
      ...inPage.map(({ id, title }) => ({ id, title, pageOnly: true, busy: busy(id) })),
      ...(stored ?? this.records).map(({ id, title }) => ({ id, title, pageOnly: false, busy: busy(id) })),
    ];
  }
  // Shows this chat; an empty ID: a new one.
  show(id: string): void {
    if (id === this.chat.id) return;
    this.leave();
    const known = this.running.get(id);
    this.chat = known ?? (id === "" || isPageId(id) ? this.fresh() : new Chat(this, this.recordOf(id)));
    if (this.chat.id !== "" && !known) void this.chat.read();
  }
  startNew(draft = "", from?: Chat): void {
    this.leave();
    this.chat = this.fresh();
    if (from) [this.chat.settings, this.chat.model] = [{ ...from.settings }, from.model];
    if (draft) this.chat.draft = draft;
  }
  // Other browsers change the list of the server, other tabs that of the browser.
  readList(): void {
    this.live.want("chats", () => this.stored.read());
  }
  reread(): void {
    this.records = readRecords(globalThis.localStorage, kChats);
  }
  // Returns why it failed.
  async rename(id: string, title: string): Promise<string | undefined> {
    const chat = this.chat.id === id ? this.chat : (this.running.get(id) ?? new Chat(this, this.recordOf(id)));
    if (chat.busy) return "The chat is busy: rename it when its answer is complete.";
    const done = await chat.rename(title);
    if (done) this.moved(chat);
    const problem = done ? undefined : `The chat is not renamed: ${chat.failure?.message ?? ""}`;
    if (chat === this.chat && !done) chat.failure = null;
    return problem;
  }
  async remove(id: string): Promise<void> {
    if (!isPageId(id)) {
      await removeConversation(id).catch((error: { status?: number }) => {
        if (error.status !== 404) throw error;
      });
    }
    this.forget(id);
  }
  forget(id: string): void {
    this.keepNow();
    this.running.get(id)?.stop();
    this.running.delete(id);
    if (this.chat.id === id) this.chat = this.fresh();
    this.stored.remove(id);
    this.records = changeRecords(globalThis.localStorage, kChats, (all) => all.filter((record) => record.id !== id));
  }
  // The records of all chats are written at once, so not for each letter.
  keepDraft(): void {
    if (this.chat.id !== "") {
      clearTimeout(this.late?.timer);
      this.late = { chat: this.chat, timer: setTimeout(() => this.keepNow(), kTyping) };
      return;
    }
    try {
      localStorage.setItem(kNewDraft, this.chat.draft);
    } catch {
      // The draft is in this page only.
    }
  }
  private keepNow(): void {
    if (!this.late) return;
    const { chat, timer } = this.late;
    clearTimeout(timer);
    this.late = null;
    this.keep(chat, this.records.find(({ id }) => id === chat.id)?.used ?? Date.now());
  }
  get unsaved(): boolean {
    return [this.chat, ...this.running.values()].some((chat) => chat.phase === "generating" || chat.phase === "saving" || chat.pageOnly !== "");
  }

  // ---- surroundings of a chat

  contextOf(model: string): number {
    return this.live.residency ? (instanceOf(this.live.residency, this.nameOf(model))?.max_context_window ?? 0) : 0;
  }
  created(chat: Chat): void {
    if (chat.pageOnly !== "") chat.id = `${kPageId}${++this.pageChats}`;
    this.running.set(chat.id, chat);
    this.moved(chat);
    try {
      localStorage.removeItem(kNewDraft);
    } catch {
      // There is no stored draft.
    }
    if (this.chat === chat) history.replaceState(null, "", `#/chat?id=${encodeURIComponent(chat.id)}`);
  }
  changed(chat: Chat): void {
    if (chat.id === "") return;
    if (!chat.busy && chat !== this.chat && chat.pageOnly === "") this.running.delete(chat.id);
    const old = this.records.find(({ id }) => id === chat.id);
    if (chat.phase === "reading") this.keep(chat, old?.used ?? Date.now());
    else this.moved(chat);
  }

  // Another key sees other conversations: the open one is read with it. Chats of this page only belong to no key.
  private reset(): void {
    this.keepNow();
    this.stored.reset();
    if (this.chat.id === "" || this.chat.busy || this.chat.pageOnly !== "") return;
    this.chat = new Chat(this, this.recordOf(this.chat.id));
    this.chat.unread = true;
  }
  // The server has changed it now.
  private moved(chat: Chat): void {
    this.keep(chat, Date.now());
    if (chat.pageOnly === "") this.stored.put(chat.id, chat.title, chat.model);
  }
  // What is known of a chat; the title at the server counts.
  private recordOf(id: string): ChatRecord {
    const { title, model } = this.stored.find(id)?.metadata ?? {};
    const record = this.records.find((one) => one.id === id) ?? { id, title: "", model: "", used: 0, draft: "", settings: kNoSettings, stats: {} };
    return { ...record, title: title || record.title, model: record.model || (model ?? "") };
  }
  private keep(chat: Chat, used: number): void {
    if (isPageId(chat.id)) return;
    const record = chat.record(used);
    this.records = changeRecords(globalThis.localStorage, kChats, (all) => withRecord(all, record));
  }
  private leave(): void {
    this.keepNow();
    if (this.chat.id === "") return;
    if (this.chat.busy || this.chat.pageOnly) this.running.set(this.chat.id, this.chat);
    else this.running.delete(this.chat.id);
  }
  private fresh(): Chat {
    const chat = new Chat(this);
    chat.model = this.records[0]?.model ?? "";
    try {
      chat.draft = localStorage.getItem(kNewDraft) ?? "";
    } catch {
      // There is no stored draft.
    }
    return chat;
  }
  private nameOf(id: string): string {
    return this.live.models.find((model) => model.id === id)?.alias_of ?? id;
  }
  private named(model: string, chat: Chat): string {
    return this.nameOf(chat.model) === model ? chat.model : "";
  }
}

let all: Chats | undefined;
export const chatsOf = (live: Live): Chats => (all ??= new Chats(live));
