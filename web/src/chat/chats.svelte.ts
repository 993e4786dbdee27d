// The chats of this browser, and the one that is open. One for the whole console.
import { SvelteMap } from "svelte/reactivity";
import { root } from "../lib/api";
import type { Live } from "../lib/live.svelte";
import { instanceOf } from "../models/state";
import { Chat } from "./chat.svelte";
import { removeConversation } from "./conversations";
import { changeRecords, readRecords, withRecord, type ChatRecord } from "./records";
import { kNoSettings } from "./types";

const path = new URL(root).pathname; // several servers may share a host
const kChats = `corral.chats:${path}`;
const kPageId = "page-"; // starts the IDs of chats that the server doesn't store
const isPageId = (id: string): boolean => id.startsWith(kPageId);
const kNewDraft = `corral.chats.new:${path}`;

export class Chats {
  records = $state.raw<ChatRecord[]>(readRecords(globalThis.localStorage, kChats));
  chat = $state.raw<Chat>(null!);
  private readonly running = new SvelteMap<string, Chat>(); // that generate, or are in this page only

  private pageChats = 0;

  constructor(private readonly live: Live) {
    this.chat = this.fresh();
    live.listen(({ name, data }) => {
      if (name !== "load") return;
      const { model, stage } = JSON.parse(data) as { model: string; stage: string };
      if (stage === "finished") for (const chat of [this.chat, ...this.running.values()]) chat.loaded(this.named(model, chat));
    });
  }

  // Of this page and of this browser, newest first.
  get list(): { id: string; title: string; pageOnly: boolean; busy: boolean }[] {
    const inPage = [...this.running.values()].filter(({ id }) => isPageId(id)).toReversed();
    const busy = (id: string) => this.running.get(id)?.phase === "generating";
    return [
      ...inPage.map(({ id, title }) => ({ id, title, pageOnly: true, busy: busy(id) })),
      ...this.records.map(({ id, title }) => ({ id, title, pageOnly: false, busy: busy(id) })),
    ];
  }
  // Shows this chat; an empty ID: a new one.
  show(id: string): void {
    if (id === this.chat.id) return;
    this.leave();
    const known = this.running.get(id);
    const record = this.records.find((one) => one.id === id) ?? { id, title: "", model: "", used: 0, draft: "", settings: kNoSettings, stats: {} };
    this.chat = known ?? (id === "" || isPageId(id) ? this.fresh() : new Chat(this, record));
    if (this.chat.id !== "" && !known) void this.chat.read();
  }
  startNew(draft = "", from?: Chat): void {
    this.leave();
    this.chat = this.fresh();
    if (from) [this.chat.settings, this.chat.model] = [{ ...from.settings }, from.model];
    if (draft) this.chat.draft = draft;
  }
  reread(): void {
    this.records = readRecords(globalThis.localStorage, kChats);
  }
  // Returns why it failed.
  async rename(id: string, title: string): Promise<string | undefined> {
    const record = this.records.find((one) => one.id === id);
    const chat = this.chat.id === id ? this.chat : (this.running.get(id) ?? (record ? new Chat(this, record) : undefined));
    if (!chat) return undefined;
    if (chat.busy) return "The chat is busy: rename it when its answer is complete.";
    const used = record?.used ?? Date.now();
    const done = await chat.rename(title);
    if (done) this.keep(chat, used); // a new title doesn't move it to the top
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
    this.running.get(id)?.stop();
    this.running.delete(id);
    if (this.chat.id === id) this.chat = this.fresh();
    this.records = changeRecords(globalThis.localStorage, kChats, (all) => all.filter((record) => record.id !== id));
  }
  keepDraft(): void {
    if (this.chat.id !== "") return this.keep(this.chat, this.records.find(({ id }) => id === this.chat.id)?.used ?? Date.now());
    try {
      localStorage.setItem(kNewDraft, this.chat.draft);
    } catch {
      // The draft is in this page only.
    }
  }
  get unsaved(): boolean {
    return [this.chat, ...this.running.values()].some((chat) => chat.phase === "generating" || chat.pageOnly !== "");
  }

  // ---- surroundings of a chat

  contextOf(model: string): number {
    return this.live.residency ? (instanceOf(this.live.residency, this.nameOf(model))?.max_context_window ?? 0) : 0;
  }
  created(chat: Chat): void {
    if (chat.pageOnly !== "") chat.id = `${kPageId}${++this.pageChats}`;
    this.running.set(chat.id, chat);
    this.keep(chat, Date.now());
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
    this.keep(chat, chat.phase === "reading" && old ? old.used : Date.now());
  }

  private keep(chat: Chat, used: number): void {
    if (isPageId(chat.id)) return;
    const record = chat.record(used);
    this.records = changeRecords(globalThis.localStorage, kChats, (all) => withRecord(all, record));
  }
  private leave(): void {
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
