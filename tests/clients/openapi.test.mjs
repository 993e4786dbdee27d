// The description of the API, as a validator of OpenAPI descriptions sees it.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Validator } from "@seriousme/openapi-schema-validator";
import { Server } from "../support/server.mjs";

let server;
before(async () => (server = await Server.start("--no-warm-spare")));
after(() => server.stop());

test("the description is valid, and everything that it refers to is there", async () => {
  const { body } = await server.get("/openapi.json");
  const validator = new Validator();
  const { valid, errors } = await validator.validate(structuredClone(body));
  assert.ok(valid, JSON.stringify(errors, null, 1));
  assert.equal(validator.version, "3.1");
  validator.resolveRefs();
  const ids = Object.values(body.paths).flatMap((path) => Object.values(path).map(({ operationId }) => operationId).filter(Boolean));
  assert.equal(new Set(ids).size, ids.length, "no two operations have one name");
});

test("what it calls open is open, and the rest asks for a key", async () => {
  const locked = await Server.start("--no-warm-spare", "--api-key", "secret");
  try {
    assert.equal((await locked.get("/openapi.json")).status, 401);
    const { body } = await locked.json("GET", "/openapi.json", undefined, { authorization: "Bearer secret" });
    for (const [path, operations] of Object.entries(body.paths)) {
      if (!operations.get || path.includes("{")) continue;
      const open = operations.get.security?.length === 0;
      assert.equal((await locked.get(path)).status !== 401, open, path);
    }
  } finally {
    await locked.stop();
  }
});
