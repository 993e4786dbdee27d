// Cohere's own client against a real server with a real reranker: both versions of its API.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { CohereClient, CohereClientV2, CohereError } from "cohere-ai";
import { Server } from "../support/server.mjs";

let server;
before(async () => (server = await Server.start("--max-loaded-models", "-1")));
after(() => server.stop());

const documents = ["the first of them", "another one", "and a third that is longer than the others"];
const clients = {
  v1: () => new CohereClient({ environment: server.url, token: "none" }),
  v2: () => new CohereClientV2({ environment: server.url, token: "none" }),
};

for (const [version, make] of Object.entries(clients)) {
  test(`documents are ranked, best first, ${version}`, async () => {
    const { results } = await make().rerank({ model: "tiny-rerank", query: "which one", documents }, { maxRetries: 0 });
    assert.deepEqual(results.map(({ index }) => index).sort(), [0, 1, 2]);
    const scores = results.map(({ relevanceScore }) => relevanceScore);
    assert.ok(scores.every(Number.isFinite));
    if (version === "v2") assert.ok(scores.every((score) => score >= 0 && score <= 1), `${scores}`);
    assert.deepEqual(scores, [...scores].sort((a, b) => b - a));
    const best = await make().rerank({ model: "tiny-rerank", query: "which one", documents, topN: 1 }, { maxRetries: 0 });
    assert.deepEqual(best.results.map(({ index }) => index), [results[0].index]);
  });

  test(`errors are the client's own, ${version}`, async () => {
    const ask = (body) => make().rerank({ model: "tiny-rerank", query: "x", documents, ...body }, { maxRetries: 0 });
    await assert.rejects(ask({ model: "no-such-model" }), (error) => error instanceof CohereError && error.statusCode === 404);
    await assert.rejects(ask({ model: "tiny-llama" }), (error) => error instanceof CohereError && error.statusCode === 400);
    // Version 1 has its path in common with other APIs.
    if (version === "v2") await assert.rejects(ask({ model: "no-such-model" }), (error) => /no-such-model/.test(error.body.message) && error.body.error === undefined);
    await assert.rejects(ask({ documents: [] }), (error) => error instanceof CohereError && error.statusCode === 400);
  });

  test(`an abort is told as one, ${version}`, async () => {
    const leaving = new AbortController(); // the client waits on for its own time limit, and the process with it
    const asking = make().rerank({ model: "tiny-rerank", query: "x", documents }, { maxRetries: 0, timeoutInSeconds: 2, abortSignal: leaving.signal });
    leaving.abort();
    await assert.rejects(asking);
  });
}
