// The pages of the console, in the order of the navigation. The first one is shown if the address names none, and is
// part of the first script; the others are read when they are shown.
import type { Component } from "svelte";
import type { Live } from "./lib/live.svelte";
import type { Route } from "./lib/route";
import ModelsPage from "./models/ModelsPage.svelte";

export interface Page {
  id: string; // in the address: #/models
  title: string;
  load: () => Promise<{ default: Component<{ live: Live; route: Route }> }>;
}

export const kPages: Page[] = [
  { id: "models", title: "Models", load: async () => ({ default: ModelsPage }) },
  { id: "requests", title: "Requests", load: () => import("./requests/RequestsPage.svelte") },
  { id: "chat", title: "Chat", load: () => import("./chat/ChatPage.svelte") },
  { id: "try", title: "Try", load: () => import("./trial/TrialPage.svelte") },
  { id: "downloads", title: "Downloads", load: () => import("./downloads/DownloadsPage.svelte") },
  { id: "machines", title: "Machines", load: () => import("./machines/MachinesPage.svelte") },
  { id: "stats", title: "Statistics", load: () => import("./stats/StatsPage.svelte") },
  { id: "settings", title: "Settings", load: () => import("./settings/SettingsPage.svelte") },
  { id: "logs", title: "Logs", load: () => import("./logs/LogsPage.svelte") },
];
