// What this browser keeps of chats: settings, drafts and measurements, which no conversation has, and titles for a server
// whose list cannot be read. The messages are at the server only.
import { kNoSettings, type Settings, type Stats } from "./types";

export interface ChatRecord {
  id: string;
  title: string;
  model: string;
  used: number; // epoch ms
  draft: string;
  settings: Settings;
  stats: Record<string, Stats>; // by the ID of the last item of an answer
}

export type KeptText = Pick<Storage, "getItem" | "setItem">;

const kMostRecords = 500;
const kMostStats = 100; // of one chat

function isRecord(value: unknown): value is ChatRecord {
  const record = value as Partial<ChatRecord> | null;
  return typeof record?.id === "string" && typeof record.title === "string" && typeof record.used === "number";
}

export function readRecords(storage: KeptText | undefined, name: string): ChatRecord[] {
  try {
    const all = JSON.parse(storage?.getItem(name) ?? "[]") as unknown;
    if (!Array.isArray(all)) return [];
    return all
      .filter(isRecord)
      .map((record) => ({ ...record, model: record.model ?? "", draft: record.draft ?? "", settings: { ...kNoSettings, ...record.settings }, stats: record.stats ?? {} }))
      .sort((a, b) => b.used - a.used);
  } catch {
    return [];
  }
}

// Other tabs change the list too, so a change starts from what is stored. Returns the new list.
export function changeRecords(storage: KeptText | undefined, name: string, change: (all: ChatRecord[]) => ChatRecord[]): ChatRecord[] {
  const all = change(readRecords(storage, name))
    .sort((a, b) => b.used - a.used)
    .slice(0, kMostRecords);
  try {
    storage?.setItem(name, JSON.stringify(all));
  } catch {
    // Storage is switched off or full: the list is in this page only.
  }
  return all;
}

export const withRecord = (all: ChatRecord[], record: ChatRecord): ChatRecord[] => [record, ...all.filter(({ id }) => id !== record.id)];

export function withStats(stats: Record<string, Stats>, id: string, one: Stats): Record<string, Stats> {
  return Object.fromEntries([...Object.entries(stats).filter(([other]) => other !== id), [id, one] as const].slice(-kMostStats));
}
