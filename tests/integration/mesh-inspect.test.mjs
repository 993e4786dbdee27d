// `corral inspect-model` checks the files of other nodes: here sound files and hostile ones.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { withoutVocabulary } from "../support/broken-models.mjs";
import { models, program } from "../support/server.mjs";

test("the process that looks at files takes all models, and refuses what is broken without a fall", () => {
  const env = { ...process.env, MALLOC_CONF: "background_thread:false" };
  const look = (...files) => spawnSync(program, ["inspect-model", ...files], { encoding: "utf8", timeout: 60_000, env });
  const sound = readdirSync(models).filter((name) => name.endsWith(".gguf") && !/split|lora/.test(name));
  for (const name of sound) {
    const { status, signal, stdout } = look(join(models, name));
    assert.equal(status, 0, `${name}: ${signal} ${stdout}`);
    assert.match(stdout, /^locked$/m);
  }
  const parts = [1, 2].map((part) => join(models, `tiny-split-0000${part}-of-00002.gguf`));
  assert.equal(look(...parts).status, 0);
  assert.match(look(parts[0]).stdout, /refused .*2, but there are 1 files/);

  const folder = mkdtempSync(join(tmpdir(), "corral-inspect-"));
  const hostile = (name, change) => {
    const file = join(folder, name);
    const bytes = readFileSync(join(models, "tiny-llama.gguf"));
    writeFileSync(file, change(bytes) ?? bytes);
    const { status, signal, stdout } = look(file);
    assert.ok(status === 65 && signal === null, `${name}: ${status} ${signal} ${stdout}`);
    assert.match(stdout, new RegExp(`^refused .*${name}`, "m"));
  };
  try {
    hostile("empty.gguf", () => Buffer.alloc(0));
    hostile("text.gguf", () => Buffer.from("#!/bin/sh\n"));
    hostile("cut.gguf", (bytes) => bytes.subarray(0, 5000));
    hostile("pairs.gguf", (bytes) => void bytes.writeBigUInt64LE(1n << 60n, 16));
    hostile("tensors.gguf", (bytes) => void bytes.writeBigUInt64LE(1n << 60n, 8));
    hostile("vocabulary.gguf", () => withoutVocabulary("tiny-llama.gguf"));
    // Parameters that libllama gives up on, and such that other tensors would belong to.
    const setNumber = (bytes, key, value) => void bytes.writeUInt32LE(value, bytes.indexOf(key) + key.length + 4);
    hostile("layers.gguf", (bytes) => setNumber(bytes, "llama.block_count", 100_000));
    hostile("missing.gguf", (bytes) => setNumber(bytes, "llama.block_count", 30));
    hostile("shapes.gguf", (bytes) => setNumber(bytes, "llama.feed_forward_length", 48));
    hostile("version.gguf", (bytes) => void bytes.writeUInt32LE(99, 4));
    // Bytes that are turned over anywhere in the header: taken or refused, but nobody falls.
    const whole = readFileSync(join(models, "tiny-llama.gguf"));
    for (let i = 0; i < 40; ++i) {
      const bytes = Buffer.from(whole);
      const at = 24 + ((i * 7919) % 4000);
      bytes[at] ^= 1 << (i % 8);
      writeFileSync(join(folder, "turned.gguf"), bytes);
      const { status, signal, stdout } = look(join(folder, "turned.gguf"));
      assert.ok(signal === null && (status === 0 || status === 65), `byte ${at}: ${status} ${signal} ${stdout}`);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
