// The conversations at the server, newest change first, as far as the page shows them. Own changes are applied here at
// once; the list is read again when the page is shown, because other browsers change it too.
import { ApiError } from "../lib/api";
import { listConversations } from "./conversations";
import type { Conversation } from "./types";

export class StoredChats {
  all = $state.raw<Conversation[] | null>(null); // null: the server has not returned the list
  more = $state(false); // the server has older ones
  problem = $state(""); // why it cannot be read; empty also if the server stores nothing

  private pages = 1;
  private changes = 0; // own ones
  private reading: Promise<void> | undefined;

  read(): Promise<void> {
    return (this.reading ??= this.readPages().finally(() => (this.reading = undefined)));
  }
  // All pages again: a position is lost when its conversation changes.
  async showMore(): Promise<void> {
    await this.reading;
    this.pages += 1;
    await this.read();
  }
  // The list belongs to a key.
  reset(): void {
    this.changes += 1;
    [this.all, this.more, this.problem, this.pages] = [null, false, "", 1];
  }
  find(id: string): Conversation | undefined {
    return this.all?.find((one) => one.id === id);
  }

  // It is the newest now.
  put(id: string, title: string, model: string): void {
    this.changes += 1;
    const now = Math.floor(Date.now() / 1000);
    const old = this.find(id) ?? { id, created_at: now, metadata: {} };
    const next = { ...old, updated_at: now, metadata: { ...old.metadata, title, model } };
    this.all = this.all && [next, ...this.all.filter((one) => one.id !== id)];
  }
  remove(id: string): void {
    this.changes += 1;
    this.all = this.all && this.all.filter((one) => one.id !== id);
  }

  private async readPages(): Promise<void> {
    try {
      for (let changes = -1; changes !== this.changes; ) {
        changes = this.changes;
        const { all, more } = await this.pagesNow();
        if (changes === this.changes) [this.all, this.more, this.problem] = [all, more, ""];
      }
    } catch (error) {
      if (!(error instanceof ApiError) || error.status === 0) return; // the page shows that the server is away
      [this.all, this.more, this.problem] = [null, false, error.code === "nothing_kept" ? "" : error.message];
    }
  }
  private async pagesNow(): Promise<{ all: Conversation[]; more: boolean }> {
    const byId = new Map<string, Conversation>(); // one that changes meanwhile may be in two pages
    let more = true;
    for (let page = 0, after = ""; page < this.pages && more; page += 1) {
      const list = await listConversations(after);
      for (const one of list.data) byId.set(one.id, one);
      more = list.has_more && list.last_id !== null;
      after = list.last_id ?? "";
    }
    return { all: [...byId.values()], more };
  }
}
