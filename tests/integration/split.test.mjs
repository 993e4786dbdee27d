// A model whose layers are computed by several processes: the text is the same, and whoever dies ends what is his.
import assert from "node:assert/strict";
import { test } from "node:test";
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

test("a worker goes with its parent", () =>
  inLab(async (lab) => {
    const worker = await lab.worker();
    assert.deepEqual(await worker.leave(), { code: 0, signal: null });
  }));

test("words that it doesn't know end it at once", () =>
  inLab(async (lab) => {
    for (const words of [[], ["--socket", "x", "--threads", "0"], ["--thread", "1", "--socket", "x"]]) {
      const worker = lab.start("rpc-worker", ...words);
      assert.equal((await worker.ended).code, 2);
      assert.match(worker.output, /usage: corral rpc-worker/);
    }
    const nowhere = lab.start("rpc-worker", "--socket", "/nowhere/worker.sock", "--threads", "1");
    assert.match((await nowhere.answer()).failed.message, /nowhere/);
    const devices = lab.start("rpc-worker", "--socket", `${lab.folder}/x.sock`, "--threads", "1", "--devices", "CUDA7");
    assert.match((await devices.answer()).failed.message, /there is no GPU 'CUDA7'/);
  }));
