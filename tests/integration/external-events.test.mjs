// Programs of other projects that end the lines of their events as Python's servers do: each event passes when it is
// there, not with the end of the stream.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { external } from "../support/fake-servers.mjs";

const kWords = ["one", "two", "three", "four"];
const event = (data, end) => `data: ${data}${end}${end}`;
const delta = (word) => JSON.stringify({ choices: [{ index: 0, delta: { content: word }, finish_reason: null }] });

// A server that sends each event when `next` is called, with its last byte cut off, which comes with the next one.
async function running(end) {
  let next;
  const server = createServer(async (request, response) => {
    for await (const piece of request) void piece;
    if (request.method === "GET") return response.end("{}");
    response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" });
    let rest = "";
    for (const data of [...kWords.map(delta), "[DONE]"]) {
      const text = rest + event(data, end);
      rest = end === "\r\n" ? text.at(-1) : "";
      const wanted = new Promise((resolve) => (next = resolve));
      response.write(text.slice(0, text.length - rest.length));
      if (data !== "[DONE]") await wanted;
    }
    response.end(rest);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { url: `http://127.0.0.1:${server.address().port}`, next: () => next(), stop: () => (server.close(), server.closeAllConnections()) };
}

for (const [name, end] of [["CR LF", "\r\n"], ["CR", "\r"], ["LF", "\n"]]) {
  external(`events whose lines end with ${name} pass one by one`, async (externals) => {
    const other = await running(end);
    try {
      externals.models(`[models.far]\nrecipe = "lmstudio"\ncheckpoint = "x"\nurl = "${other.url}"\n`);
      const server = await externals.serve();
      for (const [path, more] of [["/v1/chat/completions", {}], ["/v1/messages", { max_tokens: 9 }]]) {
        let text = "", heard = 0;
        const response = await server.fetch(path, { method: "POST", body: JSON.stringify({ model: "far", stream: true, messages: [{ role: "user", content: "hi" }], ...more }) });
        assert.equal(response.status, 200);
        for await (const piece of response.body) {
          text += Buffer.from(piece);
          for (; heard < kWords.length && text.includes(`"${kWords[heard]}"`); ++heard) other.next();
        }
        assert.equal(heard, kWords.length, text);
        assert.ok(!text.includes("\r") && !text.includes('"error"'), text);
      }
    } finally {
      other.stop();
    }
  });
}
