// A model whose layers are computed by several processes: the text is the same, and whoever dies ends what is his.
import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { eventually } from "../support/mesh.mjs";
import { inLab } from "../support/split.mjs";

const prompt = "The horse said that the quick brown fox jumps over the lazy dog, and the farmer wrote it down";
const greedy = { prompt, max_tokens: 48, temperature: 0 };
const said = async (engine, body = greedy) => {
  const answer = await engine.post("/v1/completions", body);
  assert.equal(answer.status, 200, answer.text);
  return answer.body.choices[0].text;
};

test("alone, in two and in three parts it says the same, streams together too", () =>
  inLab(async (lab) => {
    const alone = await lab.engine("tiny-llama", []);
    const expected = await said(alone);
    assert.ok(expected.length > 48);
    const workers = [await lab.worker(), await lab.worker()];
    assert.equal(workers[0].ready.devices.length, 1);
    assert.deepEqual(workers[0].ready.open, [], "every fence stands");
    for (const part of [[workers[0]], workers]) {
      const engine = await lab.engine("tiny-llama", part);
      assert.equal(await said(engine), expected);
      const together = await Promise.all(Array.from({ length: 4 }, () => said(engine)));
      assert.deepEqual(together, Array(4).fill(expected));
      await engine.leave();
    }
  }));

test("embeddings are the same, too", () =>
  inLab(async (lab) => {
    const numbers = async (engine) => {
      const answer = await engine.post("/v1/embeddings", { input: [prompt, "a horse"] });
      assert.equal(answer.status, 200, answer.text);
      return answer.body.data.map((row) => row.embedding);
    };
    const alone = await numbers(await lab.engine("tiny-embed", [], { type: "embedding" }));
    const split = await numbers(await lab.engine("tiny-embed", [await lab.worker()], { type: "embedding" }));
    for (const [row, values] of alone.entries())
      for (const [place, value] of values.entries()) assert.ok(Math.abs(value - split[row][place]) < 1e-4, `${row} ${place}`);
  }));

test("a worker serves the next engine after one that was killed in the middle", () =>
  inLab(async (lab) => {
    const worker = await lab.worker();
    const expected = await said(await lab.engine("tiny-llama", []));
    for (let round = 0; round < 5; ++round) {
      const engine = await lab.engine("tiny-llama", [worker]);
      const began = () => engine.process.kill("SIGKILL");
      await assert.rejects(engine.post("/v1/completions", { ...greedy, max_tokens: 1500, ignore_eos: true, stream: true, began }));
    }
    assert.equal(await said(await lab.engine("tiny-llama", [worker])), expected);
    assert.equal(worker.process.exitCode, null);
  }));

test("an engine whose worker dies ends, and nobody waits for it", () =>
  inLab(async (lab) => {
    const worker = await lab.worker();
    const engine = await lab.engine("tiny-llama", [worker]);
    const began = () => worker.process.kill("SIGKILL");
    await assert.rejects(engine.post("/v1/completions", { ...greedy, max_tokens: 1500, ignore_eos: true, stream: true, began }));
    assert.deepEqual(await engine.ended, { code: null, signal: "SIGABRT" });
  }));

// Who computes: the child is its shadow.
const inner = ({ process: { pid } }) => Number(readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8"));
const limitOf = (pid, name) => readFileSync(`/proc/${pid}/limits`, "utf8").match(new RegExp(`${name} +(\\S+)`))[1];
const mostOf = (pid) => 1024 * readFileSync(`/proc/${pid}/status`, "utf8").match(/VmPeak:\s+(\d+) kB/)[1];
const sizeOf = (pid) => 1024 * readFileSync(`/proc/${pid}/status`, "utf8").match(/VmSize:\s+(\d+) kB/)[1];

test("a worker has the memory that was granted and no more", () =>
  inLab(async (lab) => {
    const granted = 256 << 20;
    const worker = await lab.worker("--memory", String(granted), "--cache", lab.folder);
    // What it had before it was locked in, what was granted, an eighth of it, and 2 GiB for itself.
    const bytes = Number(limitOf(inner(worker), "Max address space"));
    const own = sizeOf(inner(await lab.worker()));
    assert.ok(bytes > granted + 2 ** 31, `${bytes}`);
    assert.ok(bytes < own + granted * (9 / 8) + 2 ** 31 + (64 << 20), `${bytes}, of which it had ${own}`);
    assert.equal(limitOf(inner(await lab.worker()), "Max address space"), "unlimited");
    assert.equal(await said(await lab.engine("tiny-llama", [worker])), await said(await lab.engine("tiny-llama", [])));
  }));

test("a load that takes more than was granted doesn't get it from the worker", () =>
  inLab(async (lab) => {
    const worker = await lab.worker("--memory", String(1 << 20));
    const pid = inner(worker);
    // What it would need to compute with is more than was granted, by far: nothing is left to chance at the edge.
    const huge = { ctx_size: 1_572_864, parallel: 1, cache_type_k: "f32", cache_type_v: "f32" };
    await assert.rejects(lab.engine("tiny-llama", [worker], huge), /no context of 1572864 tokens.*failed to allocate/);
    await eventually("it says what it couldn't have", () => /failed to allocate buffer of size \d{10}/.test(worker.output));
    assert.ok(mostOf(pid) <= Number(limitOf(pid, "Max address space")), "nor for a moment");
    const next = await lab.engine("tiny-llama", [worker]);
    assert.ok((await said(next)).length > 0, "it serves whoever asks for less");
  }));

test("what the kernel says of a worker, whatever it says of itself", () =>
  inLab(async (lab) => {
    const cache = join(lab.folder, "weights", "host");
    mkdirSync(cache, { recursive: true });
    const worker = await lab.worker("--cache", cache, "--cache-file", String(1 << 20));
    const pid = inner(worker);
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    const says = (name) => status.match(new RegExp(`^${name}:\\s+(.+)$`, "m"))[1];
    assert.equal(says("Seccomp"), "2");
    assert.equal(says("NoNewPrivs"), "1");
    for (const set of ["CapInh", "CapPrm", "CapEff", "CapAmb"]) assert.equal(Number(`0x${says(set)}`), 0, set);
    assert.equal(says("NSpid").split("\t").at(-1), "1", "the first of its own list");
    for (const space of ["user", "net", "ipc", "uts", "mnt", "pid"])
      assert.notEqual(readlinkSync(`/proc/${pid}/ns/${space}`), readlinkSync(`/proc/self/ns/${space}`), space);
    assert.equal(limitOf(pid, "Max core file size"), "0");
    assert.equal(limitOf(pid, "Max file size"), String(1 << 20));
    assert.ok(Number(limitOf(pid, "Max processes")) < 1000);
    // The cache, and nothing of what stands beside it: neither the folder's sockets nor the disk.
    const within = (path) => readdirSync(`/proc/${pid}/root${path}`);
    const [first] = cache.slice(1).split("/");
    assert.deepEqual(within("/"), [first]);
    assert.deepEqual(within(lab.folder), ["weights"]);
    assert.deepEqual(within(cache), []);
    const alone = inner(await lab.worker());
    assert.deepEqual(readdirSync(`/proc/${alone}/root/`), []);
  }));

test("a worker goes with its parent", () =>
  inLab(async (lab) => {
    const worker = await lab.worker();
    assert.deepEqual(await worker.leave(), { code: 0, signal: null });
  }));

test("words that it doesn't know end it at once", () =>
  inLab(async (lab) => {
    for (const words of [[], ["--socket", "x", "--threads", "0"], ["--thread", "1", "--socket", "x"], ["--memory", "-1", "--socket", "x"]]) {
      const worker = lab.start("rpc-worker", ...words);
      assert.equal((await worker.ended).code, 2);
      assert.match(worker.output, /usage: corral rpc-worker/);
    }
    const nowhere = lab.start("rpc-worker", "--socket", "/nowhere/worker.sock", "--threads", "1");
    assert.match((await nowhere.answer()).failed.message, /nowhere/);
    const devices = lab.start("rpc-worker", "--socket", `${lab.folder}/x.sock`, "--threads", "1", "--devices", "CUDA7");
    assert.match((await devices.answer()).failed.message, /there is no GPU 'CUDA7'/);
  }));
