// Files that look like models and are none.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { models } from "./server.mjs";

// The bytes of a file that our own reader takes for a model and libllama can't load.
export function withoutVocabulary(file) {
  const bytes = readFileSync(join(models, file));
  const at = bytes.indexOf("tokenizer.ggml.model");
  assert.ok(at > 0);
  bytes.write("tokenizer.ggml.modem", at, "latin1");
  return bytes;
}
