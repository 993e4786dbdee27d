// The parts of the pages, rendered to text: texts of models and clients never become HTML.
import { render } from "svelte/server";
import { expect, test } from "vitest";
import type { Residency } from "../lib/types";
import AnswerView from "./AnswerView.svelte";
import { largerContext } from "./context";
import ModelPicker from "./ModelPicker.svelte";
import { modelsOf } from "./pick";
import UserMessage from "./UserMessage.svelte";

const kEvil = '<img src=x onerror="alert(1)">';
const model = (id: string, more: object = {}) => ({ id, recipe: "llamacpp", type: "llm" as const, context_length: 4096, max_context_length: 6000, labels: [], status: { value: "unloaded" }, ...more });
const loaded = (name: string) => ({ model_name: name, type: "llm", status: "ready", active_requests: 0, max_context_window: 4096, recipe_options: {} });
const residency = { all_models_loaded: [loaded("z-loaded")], stopping: [], max_models: {}, loading: null, load_queue: [], shares: [] } as unknown as Residency;
const html = (component: unknown, props: object) => render(component as never, { props: props as never }).body;

test("models in memory come first, without aliases and other types", () => {
  const models = [model("a"), model("z-loaded"), model("alias", { alias_of: "a" }), model("embed", { type: "embedding" })];
  const { loaded: first, others } = modelsOf(models, residency, "llm");
  expect(first).toMatchObject([{ model: { id: "z-loaded" }, word: "ready" }]);
  expect(others.map((one) => one.model.id)).toEqual(["a"]);
});

test("a larger context is at most what the model was trained for", () => {
  expect(largerContext([model("z-loaded")], residency, "z-loaded")).toEqual({ now: 4096, larger: 6000 });
  expect(largerContext([model("z-loaded", { max_context_length: 4096 })], residency, "z-loaded").larger).toBe(0);
});

test("messages, calls and results are text", () => {
  const items = [{ type: "function_call", name: kEvil, arguments: kEvil }, { type: "function_call_output", output: kEvil }, { role: "system", content: kEvil }];
  const shown = html(AnswerView, { items }) + html(UserMessage, { text: kEvil, disabled: false, edit: async () => {} });
  expect(shown).not.toContain("<img");
  expect(shown).toContain("tool call");
});

test("a server without models of the type says so", () => {
  const live = { models: [model("a")], modelsKnown: true, residency };
  expect(html(ModelPicker, { live, type: "tts", value: "" })).toContain("no model of the type");
});
