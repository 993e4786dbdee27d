// Conversations at the server. Their metadata has the title and the model.
import { get, post, del } from "../lib/api";
import type { Conversation, ConversationList, Item, ItemList } from "./types";

const kItemsAtOnce = 20; // the limit of one request
const kItemsOfPage = 100;
const kChatsOfPage = 50;

const path = (id: string): string => `v1/conversations/${encodeURIComponent(id)}`;

export async function createConversation(title: string, model: string): Promise<Conversation> {
  return post("v1/conversations", { metadata: { title, model } });
}
export const readConversation = (id: string): Promise<Conversation> => get(path(id));
// One page, newest change first; an empty ID: the first page.
export const listConversations = (after: string): Promise<ConversationList> => get(`v1/conversations?limit=${kChatsOfPage}${after && `&after=${encodeURIComponent(after)}`}`);
// Other clients may have stored metadata too, which stay.
export async function nameConversation(id: string, title: string): Promise<void> {
  const { metadata } = await readConversation(id);
  await post(path(id), { metadata: { ...metadata, title } });
}
export const removeConversation = (id: string): Promise<void> => del(path(id));

export async function readItems(id: string): Promise<Item[]> {
  const items: Item[] = [];
  for (let after = ""; ; ) {
    const page = await get<ItemList>(`${path(id)}/items?order=asc&limit=${kItemsOfPage}${after && `&after=${encodeURIComponent(after)}`}`);
    items.push(...page.data);
    if (!page.has_more || page.last_id === null) return items;
    after = page.last_id;
  }
}

// Returns the items with their IDs.
export async function addItems(id: string, items: readonly Item[]): Promise<Item[]> {
  const added: Item[] = [];
  for (let at = 0; at < items.length; at += kItemsAtOnce) added.push(...(await post<ItemList>(`${path(id)}/items`, { items: items.slice(at, at + kItemsAtOnce) })).data);
  return added;
}
// The last one first, so that what remains after an error is still a conversation.
export async function removeItems(id: string, items: readonly Item[]): Promise<void> {
  for (const item of items.toReversed()) if (item.id) await del(`${path(id)}/items/${encodeURIComponent(item.id)}`);
}
