// Tests of a client against a real server whose engine is played: what no small model says by itself.
import { test } from "node:test";
import { Stage } from "./fake-engines.mjs";

// played(name, acts): a test on a stage of its own, with a client of it.
export const playedWith = (makeClient) => (name, acts) =>
  test(name, async () => {
    const stage = await Stage.startIn({}, ["a"]);
    try {
      await stage.play((its, server) => acts(its, makeClient(server)));
    } catch (error) {
      await stage.abort();
      throw error;
    }
    await stage.stop();
  });

// Of a canonical answer: a delta; its end.
export const event = (request, delta, more = {}) =>
  request.send(JSON.stringify({ id: "chatcmpl-1", choices: [{ index: 0, delta, finish_reason: null, ...more }] }));
export async function finish(request, reason) {
  await event(request, {}, { finish_reason: reason });
  await request.send(JSON.stringify({ choices: [], usage: { prompt_tokens: 20, completion_tokens: 7, prompt_tokens_details: { cached_tokens: 16 } } }));
  await request.send("[DONE]");
  await request.end();
}
