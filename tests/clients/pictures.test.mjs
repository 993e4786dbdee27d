// A picture, sent by the official clients in the five forms of their APIs: the simulated backend gets the same.
import assert from "node:assert/strict";
import Anthropic from "@anthropic-ai/sdk";
import { Ollama } from "ollama";
import OpenAI from "openai";
import { external } from "../support/fake-servers.mjs";

const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";
const url = `data:image/png;base64,${pixel}`;
const says = {
  id: "x",
  object: "chat.completion",
  created: 1,
  model: "m",
  choices: [{ index: 0, message: { role: "assistant", content: "A dot." }, finish_reason: "stop" }],
  usage: { prompt_tokens: 11, completion_tokens: 5, total_tokens: 16 },
};
const seen = [{ type: "text", text: "What is it?" }, { type: "image_url", image_url: { url } }];
const models = '[models.m]\ncmd = "mine --port {port}"\nvision = true\n[models.blind]\ncmd = "mine --port {port}"\nvision = false\n';
const clients = (server) => ({
  openai: new OpenAI({ baseURL: `${server.url}/v1`, apiKey: "none", maxRetries: 0 }),
  anthropic: new Anthropic({ baseURL: server.url, apiKey: "none", maxRetries: 0 }),
  ollama: new Ollama({ host: server.url }),
});
const source = { type: "base64", media_type: "image/png", data: pixel };

external("the picture of each dialect is the same for the backend", async (externals) => {
  externals.program("mine", { says });
  externals.models(models);
  const { openai, anthropic, ollama } = clients(await externals.serve());
  const ways = {
    "chat/completions": () => openai.chat.completions.create({ model: "m", messages: [{ role: "user", content: seen }] }),
    responses: () =>
      openai.responses.create({
        model: "m",
        input: [{ role: "user", content: [{ type: "input_text", text: "What is it?" }, { type: "input_image", detail: "auto", image_url: url }] }],
      }),
    messages: () =>
      anthropic.messages.create({ model: "m", max_tokens: 8, messages: [{ role: "user", content: [{ type: "text", text: "What is it?" }, { type: "image", source }] }] }),
    "api/chat": () => ollama.chat({ model: "m", messages: [{ role: "user", content: "What is it?", images: [pixel] }] }),
    "api/generate": () => ollama.generate({ model: "m", prompt: "What is it?", images: [pixel] }),
  };
  for (const [way, ask] of Object.entries(ways)) {
    const answer = await ask();
    assert.match(JSON.stringify(answer), /A dot\./, way);
    assert.deepEqual(JSON.parse(externals.got("mine")).messages, [{ role: "user", content: seen }], way);
  }
});

external("pictures in results of tools, and several of them, keep their order", async (externals) => {
  externals.program("mine", { says });
  externals.models(models);
  const { anthropic } = clients(await externals.serve());
  const image = { type: "image", source };
  await anthropic.messages.create({
    model: "m",
    max_tokens: 8,
    messages: [
      { role: "user", content: [image, { type: "text", text: "and" }, image] },
      { role: "assistant", content: [{ type: "tool_use", id: "t", name: "look", input: {} }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "t", content: [{ type: "text", text: "Here" }, image] }] },
    ],
  });
  const part = seen[1];
  const { messages } = JSON.parse(externals.got("mine"));
  assert.deepEqual(messages[0].content, [part, { type: "text", text: "and" }, part]);
  assert.deepEqual(messages[2].content, [{ type: "text", text: "Here" }, part]);
});

external("what cannot be read is refused before the model starts", async (externals) => {
  externals.program("mine", { says });
  externals.models(models);
  const server = await externals.serve();
  const { openai } = clients(server);
  const ask = (model, image_url) => openai.chat.completions.create({ model, messages: [{ role: "user", content: [{ type: "image_url", image_url }] }] });
  const refuses = (asking, message) =>
    assert.rejects(asking, (error) => {
      assert.equal(error.status, 400);
      assert.match(error.message, message);
      return true;
    });
  await refuses(ask("blind", { url }), /'messages' has pictures, but 'blind' reads only text: use 'm', or remove the pictures/);
  await refuses(ask("m", { url: "https://example.com/a.png" }), /is the URL "https:\/\/example.com\/a.png", but this server fetches no pictures: .* setting fetch_images/);
  await refuses(ask("m", { url: "data:image/bmp;base64,Qk0=" }), /only PNG, JPEG, WebP and GIF are supported/);
  await refuses(ask("m", { url: `${url.slice(0, -8)}!` }), /'messages\[0\].content\[0\].image_url.url' is not valid base64, it has '!' at position \d+/);
  assert.deepEqual(await server.loaded(), []);
});

external("with fetch_images, no picture comes from this machine", async (externals) => {
  externals.program("mine", { says });
  externals.models(models);
  const server = await externals.serve({}, "--fetch-images");
  const { openai } = clients(server);
  for (const host of ["127.0.0.1", "localhost", "[::1]", "2130706433"]) {
    const image_url = { url: `http://${host}:${new URL(server.url).port}/` };
    await assert.rejects(openai.chat.completions.create({ model: "m", messages: [{ role: "user", content: [{ type: "image_url", image_url }] }] }), /cannot be fetched: its host has no public address outside of this server's networks/);
  }
  assert.deepEqual(await server.loaded(), []);
});
