// The pages of the console, in the order of the navigation. The first one is shown if the address names none.
import type { Component } from "svelte";
import type { Live } from "./lib/live.svelte";
import type { Route } from "./lib/route";
import ModelsPage from "./models/ModelsPage.svelte";
import StatsPage from "./stats/StatsPage.svelte";

export interface Page {
  id: string; // in the address: #/models
  title: string;
  page: Component<{ live: Live; route: Route }>;
}

export const kPages: Page[] = [
  { id: "models", title: "Models", page: ModelsPage },
  { id: "stats", title: "Statistics", page: StatsPage },
];
