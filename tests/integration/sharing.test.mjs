// Keys that share a server, with real processes: turns, what may wait, how many requests each may have at once.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { endings, standing } from "../support/endings.mjs";
import { Server } from "../support/server.mjs";

let server;
const keys = {};
before(async () => {
  server = await Server.start("--api-key", "owner", "--no-warm-spare", "--max-loaded-models", "-1");
  const terms = { many: {}, one: {}, slow: { priority: "background" }, two: { max_in_flight: 2 } };
  for (const [name, more] of Object.entries(terms)) {
    const { status, body } = await as("owner", "POST", "/internal/keys", { name, scopes: ["inference"], ...more });
    assert.equal(status, 200, JSON.stringify(body));
    keys[name] = body.key;
  }
  const loaded = await as("owner", "POST", "/v1/load", { model_name: "scripted-endless", parallel: 1, ctx_size: 4096 });
  assert.equal(loaded.status, 200, JSON.stringify(loaded.body));
});
after(() => server.stop());

const as = (key, method, path, body, headers = {}) => server.json(method, path, body, { authorization: `Bearer ${key}`, ...headers });
const ask = (key, max_tokens, headers) => as(keys[key], "POST", "/v1/completions", { model: "scripted-endless", prompt: "Go on", max_tokens, temperature: 0, cache_prompt: false }, headers);
const get = (path) => as("owner", "GET", path);
const times = (count, name, ...asked) => Array.from({ length: count }, () => ({ name, send: () => ask(...asked) }));
// The names of requests, in the order in which these end.
async function orderOf(requests) {
  const { answers, order } = await endings(get, "scripted-endless", requests);
  for (const { status, body } of answers) assert.equal(status, 200, JSON.stringify(body));
  return order;
}

test("a key with many requests delays another's single one by its turn", async () => {
  const order = await orderOf([...times(10, "many", "many", 600), ...times(1, "one", "one", 600)]);
  assert.ok(order.indexOf("one") <= 4, order.join(" "));
});

test("a key in the background lets others go first, and so does a request that says so", async () => {
  for (const [key, headers] of [["slow", {}], ["many", { priority: "u=7" }]]) {
    const order = await orderOf([...times(6, "background", key, 600, headers), ...times(3, "quick", "one", 100)]);
    assert.ok(order.lastIndexOf("quick") <= 5, order.join(" "));
  }
});

test("a key has no more requests at once than it may, and hears when to come again", async () => {
  const first = await standing(get, "scripted-endless", times(2, "two", "two", 2000), async () => {
    const refused = await ask("two", 1);
    assert.equal(refused.status, 429);
    assert.deepEqual([refused.body.error.code, refused.body.error.type], ["too_many_requests", "rate_limit_error"]);
    assert.ok(Number(refused.headers.get("retry-after")) >= 1);
  });
  for (const { status } of first) assert.equal(status, 200);
  // A place is free once the server has seen the end as well.
  let again = await ask("two", 1);
  while (again.status === 429) again = await ask("two", 1);
  assert.equal(again.status, 200);
});
