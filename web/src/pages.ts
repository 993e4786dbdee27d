// The pages of the console, in the order of the navigation. The first one is shown if the address names none.
import type { Component } from "svelte";
import ChatPage from "./chat/ChatPage.svelte";
import DownloadsPage from "./downloads/DownloadsPage.svelte";
import type { Live } from "./lib/live.svelte";
import type { Route } from "./lib/route";
import LogsPage from "./logs/LogsPage.svelte";
import ModelsPage from "./models/ModelsPage.svelte";
import RequestsPage from "./requests/RequestsPage.svelte";
import SettingsPage from "./settings/SettingsPage.svelte";
import TrialPage from "./trial/TrialPage.svelte";

export interface Page {
  id: string; // in the address: #/models
  title: string;
  page: Component<{ live: Live; route: Route }>;
}

export const kPages: Page[] = [
  { id: "models", title: "Models", page: ModelsPage },
  { id: "requests", title: "Requests", page: RequestsPage },
  { id: "chat", title: "Chat", page: ChatPage },
  { id: "try", title: "Try", page: TrialPage },
  { id: "downloads", title: "Downloads", page: DownloadsPage },
  { id: "settings", title: "Settings", page: SettingsPage },
  { id: "logs", title: "Logs", page: LogsPage },
];
