// Errors that the engine finds name the fields of the client's own body, in each dialect.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Server } from "../support/server.mjs";

let server;
before(async () => (server = await Server.start("--max-loaded-models", "-1")));
after(() => server.stop());

const model = "tiny-llama";
const bogus = { type: "object", properties: { a: { type: "bogus" } } };
const long = "word ".repeat(200_000);
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";
const url = `data:image/png;base64,${pixel}`;
const user = (content) => [{ role: "user", content }];
const foreign = { type: "web_search" };

// Its field at fault is `param`, where the dialect says one, and the message has that name in quotes.
const rows = {
  "/v1/responses": [
    { name: "text.format.schema", input: "x", text: { format: { type: "json_schema", name: "a", schema: bogus } } },
    { name: "input", input: long },
    { name: "input", input: user([{ type: "input_image", image_url: url }]) },
    { name: "tools[1].parameters", input: "x", tools: [foreign, { type: "function", name: "f", parameters: bogus }] },
    {
      name: "tools[0].tools[0].parameters",
      input: "x",
      tools: [{ type: "namespace", name: "n", tools: [{ type: "function", name: "f", parameters: bogus }] }],
    },
  ],
  "/v1/responses/input_tokens": [{ name: "input", input: user([{ type: "input_image", image_url: url }]) }],
  "/v1/messages": [
    { name: "output_config.format.schema", messages: user("x"), output_config: { format: { type: "json_schema", schema: bogus } } },
    { name: "tools[1].input_schema", messages: user("x"), tools: [foreign, { name: "f", input_schema: bogus }] },
    { name: "messages", messages: user(long) },
  ],
  "/api/chat": [
    { name: "format", messages: user("x"), format: bogus },
    { name: "messages", messages: user(long) },
    { name: "tools[0].function.parameters", messages: user("x"), tools: [{ type: "function", function: { name: "f", parameters: bogus } }] },
  ],
  "/api/generate": [
    { name: "format", prompt: "x", format: bogus },
    { name: "format", prompt: "x", format: bogus, raw: true },
    { name: "prompt", prompt: long },
    { name: "prompt", prompt: long, raw: true },
    { name: "images", prompt: "x", images: [pixel] },
  ],
  "/api/embeddings": [{ name: "prompt", model: "tiny-embed", prompt: long }],
};

for (const [path, cases] of Object.entries(rows)) {
  test(`errors of ${path} name the client's fields`, async () => {
    for (const { name, ...more } of cases) {
      const body = JSON.stringify({ model, ...(path === "/v1/messages" ? { max_tokens: 8 } : {}), ...more });
      const headers = { "content-type": "application/json" };
      const answer = await fetch(server.url + path, { method: "POST", headers, body });
      const told = await answer.json();
      assert.equal(answer.status, 400, JSON.stringify(told));
      const { error } = told;
      const message = error.message ?? error;
      assert.ok(message.includes(`'${name}'`), `${name}: ${message}`);
      if (path.startsWith("/v1/responses")) assert.equal(error.param, name);
    }
  });
}
