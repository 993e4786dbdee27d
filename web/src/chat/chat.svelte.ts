// One chat: its items, and what is done with them. It outlives the page, so an answer goes on while another page is shown.
import { ApiError } from "../lib/api";
import type { Answer } from "./answer";
import { addItems, createConversation, nameConversation, readConversation, readItems, removeItems } from "./conversations";
import { generate, type Generated } from "./generate";
import { isUser, lastAnswerStart, openCalls, outputItem, textOf, titleOf, userItem } from "./items";
import { bodyOf, settingsProblem } from "./request";
import { withStats, type ChatRecord } from "./records";
import { isContextFull, statsOf } from "./stats";
import { kNoSettings, type Failure, type Item, type Settings, type Stats } from "./types";

// What a chat needs from the page around it.
export interface Surroundings {
  contextOf(model: string): number; // tokens; 0: not in memory
  created(chat: Chat): void; // it has an ID now
  changed(chat: Chat): void; // its record is to be kept
}

// The server stores no conversations: by its setting, by its build, or because its disk fails.
const storesNothing = (error: unknown): boolean =>
  error instanceof ApiError && error.status > 0 && (error.code === "nothing_kept" || error.status === 404 || error.status === 405 || error.status === 503 || error.status === 507);

export class Chat {
  id = $state(""); // of the conversation; empty: there is none yet
  title = $state("");
  model = $state("");
  draft = $state("");
  settings = $state<Settings>({ ...kNoSettings });
  items = $state.raw<Item[]>([]);
  stats = $state.raw<Record<string, Stats>>({});
  phase = $state<"idle" | "reading" | "saving" | "generating">("idle");
  answer = $state.raw<Answer | null>(null); // that is being generated
  start = $state(0); // index of the items that it replaces
  failure = $state.raw<Failure | null>(null);
  unsent = $state(false); // the failure is that of the draft, which was not sent
  unread = $state(false); // the conversation could not be read
  pageOnly = $state(""); // why the server doesn't store this chat; empty: it does
  note = $state(""); // on the last answer
  full = $state(false); // the last answer has filled the context
  said = $state(""); // for the live region

  private end = new AbortController();
  private loadedAt = 0;

  constructor(
    private readonly around: Surroundings,
    record?: ChatRecord,
  ) {
    if (!record) return;
    ({ id: this.id, title: this.title, model: this.model, draft: this.draft, stats: this.stats } = record);
    this.settings = { ...record.settings };
  }
  record(used: number): ChatRecord {
    return { id: this.id, title: this.title, model: this.model, used, draft: this.draft, settings: { ...this.settings }, stats: this.stats };
  }
  get busy(): boolean {
    return this.phase !== "idle";
  }
  get open(): Item[] {
    return this.answer ? [] : openCalls(this.items);
  }
  // Whether the last message still has no answer.
  get unanswered(): boolean {
    return this.items.length > 0 && this.open.length === 0 && lastAnswerStart(this.items) === this.items.length;
  }

  // ---- actions

  read(): Promise<boolean> {
    return this.run("reading", async () => {
      this.unread = true;
      const [conversation, items] = await Promise.all([readConversation(this.id), readItems(this.id)]);
      this.items = items;
      this.unread = false;
      const first = items.find(isUser);
      this.title = conversation.metadata.title || this.title || titleOf(first ? textOf(first) : "");
      this.model ||= conversation.metadata.model ?? "";
      this.around.changed(this);
    });
  }

  // The draft: a message, or the result of the first open call.
  async submit(): Promise<void> {
    const text = this.draft;
    const problem = settingsProblem(this.settings);
    if (this.busy || text.trim() === "" || this.model === "") return;
    if (problem) {
      this.failure = { code: "settings", message: problem };
      return;
    }
    const [call] = this.open;
    const kept = await this.run("saving", async () => {
      this.items = [...this.items, await this.save(call ? outputItem(call, text) : userItem(text))];
      this.draft = "";
    });
    this.unsent = !kept;
    if (kept && this.open.length === 0) await this.generate(this.items.length);
    this.around.changed(this);
  }
  async retry(contextSize = 0): Promise<void> {
    if (!this.busy) await this.generate(lastAnswerStart(this.items), contextSize);
  }
  // Everything from this message on is replaced by the new text.
  async edit(index: number, text: string): Promise<void> {
    if (this.busy || text.trim() === "") return;
    // Before anything is deleted.
    const problem = this.model === "" ? "Choose a model first." : settingsProblem(this.settings);
    if (problem) {
      this.failure = { code: "settings", message: problem };
      return;
    }
    const old = this.draft;
    const removed = await this.run("saving", async () => {
      if (this.isStored) await removeItems(this.id, this.items.slice(index));
      this.items = this.items.slice(0, index);
    });
    this.draft = text;
    if (removed) {
      await this.submit();
    } else {
      // Some of the messages may be deleted.
      const why = this.failure?.message ?? "";
      if (await this.read()) this.failure = { code: "not_changed", message: `The message is not changed: ${why}` };
    }
    if (old) this.draft = this.draft ? `${old}\n\n${this.draft}` : old;
  }
  stop(): void {
    this.end.abort();
  }
  rename(title: string): Promise<boolean> {
    return this.run("saving", async () => {
      const next = titleOf(title);
      if (this.isStored) await nameConversation(this.id, next);
      this.title = next;
    });
  }
  keepInPage(): void {
    this.pageOnly = "You have chosen to go on without storing.";
    this.failure = null;
  }
  // A load of its model has finished.
  loaded(model: string): void {
    if (this.phase === "generating" && model === this.model) this.loadedAt = performance.now();
  }

  // ---- steps

  private get isStored(): boolean {
    return this.id !== "" && this.pageOnly === "";
  }
  private async save(item: Item): Promise<Item> {
    if (this.title === "") this.title = titleOf(textOf(item));
    if (this.id === "" && this.pageOnly === "") {
      try {
        this.id = (await createConversation(this.title, this.model)).id;
      } catch (error) {
        if (!storesNothing(error)) throw error;
        this.pageOnly = (error as Error).message;
      }
      this.around.created(this);
    }
    return this.isStored ? (await addItems(this.id, [item]))[0]! : item;
  }

  private async generate(start: number, contextSize = 0): Promise<void> {
    this.end = new AbortController();
    [this.start, this.loadedAt, this.failure, this.note, this.full, this.unsent] = [start, 0, null, "", false, false];
    [this.phase, this.said] = ["generating", "The answer is being generated"];
    this.answer = { items: [], ended: "", incomplete: "", failure: null, usage: null };
    // With `conversation` the server adds the answer; an answer that replaces another one is added here.
    const byServer = this.isStored && start === this.items.length;
    const source = byServer ? { conversation: this.id } : { input: this.items.slice(0, start) };
    const result = await generate(bodyOf(this.model, this.settings, source, contextSize), this.end.signal, (answer) => (this.answer = answer));
    result.times.loaded = this.loadedAt;
    await this.keep(result, byServer);
    this.answer = null;
    this.phase = "idle";
    this.around.changed(this);
  }

  private async keep(result: Generated, byServer: boolean): Promise<void> {
    const { answer, stopped } = result;
    const whole = answer.ended === "completed" || answer.ended === "incomplete";
    this.failure = answer.failure;
    this.note = result.warnings;
    this.said = stopped ? "Stopped" : whole ? "The answer is complete" : "The answer failed";
    // What was there stays, also if the answer that should replace it was cut off.
    if (result.items.length === 0 || (!whole && !stopped && this.start < this.items.length)) return;
    let items = result.items;
    try {
      if (this.isStored && !(byServer && whole)) {
        const added = await addItems(this.id, items.map(({ id: _, ...item }) => item));
        await removeItems(this.id, this.items.slice(this.start));
        items = added;
      }
    } catch (error) {
      this.failure = { code: "not_stored", message: `The answer is not stored: ${(error as Error).message}` };
    }
    this.items = [...this.items.slice(0, this.start), ...items];
    const last = items.at(-1)?.id;
    if (last === undefined || !answer.usage) return;
    const stats = statsOf(this.model, answer.usage, result.times, this.around.contextOf(this.model));
    this.stats = withStats(this.stats, last, stats);
    this.full = answer.incomplete === "max_output_tokens" && isContextFull(stats);
    if (answer.incomplete === "max_output_tokens" && !this.full) this.note = `The answer ends at the limit of ${this.settings.maxTokens ?? stats.outputTokens} tokens. ${this.note}`;
  }

  private async run(phase: "reading" | "saving", steps: () => Promise<void>): Promise<boolean> {
    if (this.busy) return false;
    this.phase = phase;
    [this.failure, this.unsent] = [null, false];
    try {
      await steps();
      return true;
    } catch (error) {
      this.failure = error instanceof ApiError ? error : { code: "", message: (error as Error).message };
      return false;
    } finally {
      this.phase = "idle";
    }
  }
}
