// The body of a request from the settings of a chat.
import type { Item, Settings } from "./types";

// JSON that the user has typed: an object or an array, as `wanted` says. Empty: nothing is wrong.
export function jsonProblem(text: string, wanted: "object" | "array"): string {
  if (text.trim() === "") return "";
  try {
    const value: unknown = JSON.parse(text);
    const is = Array.isArray(value) ? "array" : typeof value === "object" && value !== null ? "object" : "other";
    return is === wanted ? "" : `This is valid JSON, but not an ${wanted}.`;
  } catch (error) {
    return `This is no valid JSON: ${(error as Error).message}.`;
  }
}

export function settingsProblem(settings: Settings): string {
  const { temperature, maxTokens, schema, tools } = settings;
  if (temperature !== null && !(temperature >= 0 && temperature <= 2)) return "The temperature must be between 0 and 2.";
  if (maxTokens !== null && !(Number.isInteger(maxTokens) && maxTokens >= 1)) return "The longest answer must be a whole number of at least 1 token.";
  const schemaProblem = jsonProblem(schema, "object");
  if (schemaProblem) return `JSON schema: ${schemaProblem}`;
  const toolsProblem = jsonProblem(tools, "array");
  return toolsProblem ? `Tools: ${toolsProblem}` : "";
}

export type Source = { conversation: string } | { input: readonly Item[] };

export function bodyOf(model: string, settings: Settings, source: Source, contextSize = 0): Record<string, unknown> {
  const { instructions, temperature, maxTokens, schema, tools } = settings;
  const body: Record<string, unknown> = { model, ...source, stream: true, store: false };
  if (instructions.trim() !== "") body.instructions = instructions;
  if (temperature !== null) body.temperature = temperature;
  if (maxTokens !== null) body.max_output_tokens = maxTokens;
  if (schema.trim() !== "") body.text = { format: { type: "json_schema", name: "answer", schema: JSON.parse(schema) as unknown } };
  if (tools.trim() !== "") body.tools = JSON.parse(tools) as unknown;
  if (contextSize > 0) body.ctx_size = contextSize;
  return body;
}
