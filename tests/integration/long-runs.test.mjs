// Long runs of equal characters, behind pre-tokenizers that take stack for each character or time for its square. Each
// request gets an answer or a 400 that names the reason, and another answer of the same process goes on.
import assert from "node:assert/strict";
import { test } from "node:test";
import { withPretokenizers } from "../support/mesh.mjs";
import { Server } from "../support/server.mjs";

const names = ["gpt-4o", "deepseek-v3", "deepseek-llm", "tekken", "exaone-moe", "falcon", "superbpe"].map((pre) => `tiny-${pre}`);
const chat = "/v1/chat/completions";
const run = (text, count) => text.repeat(count);
const said = (content) => [{ role: "user", content }];
const call = { id: "c", type: "function", function: { name: "f", arguments: "{}" } };
const told = (content) => [...said("hi"), { role: "assistant", tool_calls: [call] }, { role: "tool", tool_call_id: "c", content }];
const characters = { letters: "A", digits: "7", spaces: " ", "line ends": "\n", "characters of three bytes": "漢" };

// What `asking()` gives while a stream of the model is read before and behind it; the process stays.
async function beside(server, model, asking) {
  const stopping = new AbortController();
  const body = { model, messages: said("hi"), stream: true, max_tokens: 8000, ignore_eos: true, stream_options: { each_token: true } };
  const stream = server.events(chat, body, stopping.signal);
  const next = async () => {
    let event = ":";
    while (event === ":") event = (await stream.next()).value;
    assert.ok(JSON.parse(event).choices, "an event of the other answer");
  };
  await next();
  const { pid } = (await server.loaded()).find(({ model_name: name }) => name === model);
  await asking();
  await next();
  assert.equal((await server.loaded()).find(({ model_name: name }) => name === model)?.pid, pid, "the process is the same one");
  stopping.abort();
  await stream.next().catch(() => {});
}

function refused({ status, body }, codes, param) {
  assert.equal(status, 400, JSON.stringify(body).slice(0, 300));
  assert.ok(codes.includes(body.error.code), JSON.stringify(body));
  assert.equal(body.error.param, param);
  assert.ok(body.error.message.length < 500, body.error.message);
}

test("long runs of equal characters", { timeout: 280_000 }, (context) =>
  withPretokenizers(async (modelsDir) => {
    const server = await Server.launch({ modelsDir }, "--ctx-size", "8192");
    try {
      for (const model of names) {
        await context.test(`${model}: in a message, in a tool's output, to be tokenised`, () =>
          beside(server, model, async () => {
            for (const text of [run("A", 50_000), run("~", 50_000), run("7", 50_000)]) {
              const codes = ["context_length_exceeded", "input_too_long"];
              refused(await server.post(chat, { model, messages: said(text), max_tokens: 1 }), codes, "messages");
              refused(await server.post(chat, { model, messages: told(text), max_tokens: 1 }), codes, "messages");
            }
            const { status, body } = await server.post("/tokenize", { model, content: run("A", 50_000) });
            assert.equal(status, 200, JSON.stringify(body).slice(0, 300));
            assert.ok(body.tokens.length > 0);
          }),
        );
      }
      await context.test("a million of each kind", () =>
        beside(server, "tiny-gpt-4o", async () => {
          for (const [kind, character] of Object.entries(characters)) {
            const text = run(character, 1_000_000);
            const body = { model: "tiny-gpt-4o", messages: said(text), max_tokens: 1 };
            refused(await server.post(chat, body), ["context_length_exceeded"], "messages");
            const embedding = { model: "tiny-gpt-4o-embed", input: text };
            refused(await server.post("/v1/embeddings", embedding), ["context_length_exceeded"], "input");
            const some = run(character, character === "A" ? 1_000_000 : 200_000); // at most 2 MiB can be tokenised
            const asked = await server.post("/tokenize", { model: "tiny-gpt-4o", content: some });
            assert.equal(asked.status, 200, `${kind}: ${JSON.stringify(asked.body).slice(0, 300)}`);
          }
        }),
      );
      await context.test("runs that take the square of their length", () =>
        beside(server, "tiny-superbpe", async () => {
          const model = "tiny-superbpe";
          const codes = ["input_too_long"];
          refused(await server.post("/tokenize", { model, content: run("7", 20_000) }), codes, "content");
          refused(await server.post(chat, { model, messages: said(run("7", 20_000)), max_tokens: 1 }), codes, "messages");
          refused(await server.post("/v1/completions", { model, prompt: run("7", 20_000), max_tokens: 1 }), codes, "prompt");
          const biased = { model, messages: said("hi"), max_tokens: 1, logit_bias: { [run("7", 200)]: 1 } };
          assert.equal((await server.post(chat, biased)).status, 200);
        }),
      );
      await context.test("an embedding of a run that fits", () =>
        beside(server, "tiny-gpt-4o", async () => {
          const { status, body } = await server.post("/v1/embeddings", { model: "tiny-gpt-4o-embed", input: run("A", 500) });
          assert.equal(status, 200, JSON.stringify(body).slice(0, 300));
        }),
      );
      await context.test("brackets in the arguments of a call", () =>
        beside(server, "tiny-gpt-4o", async () => {
          const deep = run("[", 300) + run("]", 300); // deeper than JSON may nest: it is text
          const messages = [...said("hi"), { role: "assistant", tool_calls: [{ ...call, function: { name: "f", arguments: deep } }] }, ...said("hi")];
          const { status, body } = await server.post(chat, { model: "tiny-gpt-4o", messages, max_tokens: 1 });
          assert.equal(status, 200, JSON.stringify(body).slice(0, 300));
        }),
      );
      await context.test("brackets in an answer that goes on", () =>
        beside(server, "tiny-gpt-4o", async () => {
          const tools = [{ type: "function", function: { name: "f", parameters: { type: "object", properties: { a: {} } } } }];
          const begun = '<tool_call>\n{"name": "f", "arguments": {"a": ' + run("[", 6000);
          const messages = [...said("hi"), { role: "assistant", content: begun }];
          const { status, body } = await server.post(chat, { model: "tiny-gpt-4o", messages, tools, max_tokens: 4, continue_final_message: true });
          assert.equal(status, 200, JSON.stringify(body).slice(0, 300));
        }),
      );
    } finally {
      await server.stop();
    }
  }),
);
