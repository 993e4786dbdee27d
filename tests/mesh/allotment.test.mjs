// Who serves what, on real servers whose memory is scarce: models that need two nodes, workers that come for work, owners
// that want their memory back, and models that nobody asks for.
import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually, onMesh } from "../support/mesh.mjs";
import { missing } from "../support/netns.mjs";
import { answer, ask, foretold, half, bothHolders, holders, known, one, plan, said, small, two, withModels } from "../support/scarce.mjs";

test("two models that need two of three nodes each", { skip: missing }, () =>
  withModels(async (file, texts) => {
    await onMesh({ a: [file(one), file(two)], b: [file(two)], c: [] }, { medium: "bridge", flags: half }, async (mesh) => {
      const [a, b, c] = mesh.all();
      await known(mesh, one, two);
      await foretold(c, one);
      // Nobody has wished for it: the first request is what it waits for.
      assert.equal(await said(c, one), texts[one]);
      await bothHolders(a, one);

      // The other one: who asks is told what is short by how much, and when to ask again.
      const refused = await answer(b, two);
      assert.equal(refused.status, 503, JSON.stringify(refused.body));
      assert.equal(refused.body.error.code, "no_capacity");
      assert.match(refused.body.error.message, /it needs [\d.]+ [MG]B, 1 node lends [\d.]+ [MG]B: [\d.]+ [MG]B short/);
      assert.ok(Number(refused.headers.get("Retry-After")) > 0);
      for (const server of mesh.all()) {
        await eventually(`${server.name} says what is short`, async () => {
          const { unserved } = await plan(server);
          return unserved.some(({ model, lack, need_bytes, have_bytes }) => model === two && lack === "no_memory" && need_bytes > have_bytes);
        });
        for (const words of [["why", two], ["plan"], ["plan", two]]) { // prettier-ignore
          const { out, code } = await server.cli(...words);
          assert.match(out, /[MG]B short/, `${server.name}: corral mesh ${words.join(" ")}, ${code}`);
        }
        assert.equal(await said(server, one), texts[one], "what works is left alone");
      }

      // Memory comes free: it starts by itself, as it was asked for.
      const unloaded = await a.cli("unload", one);
      assert.equal(unloaded.code, 0, unloaded.err);
      await eventually("the other one is served", async () => (await holders(c, two)).length === 2);
      for (const server of mesh.all()) assert.equal(await said(server, two), texts[two]);
      const { unserved } = await plan(c);
      assert.deepEqual(unserved.map(({ model, lack }) => [model, lack]), [[one, "told"]]);
    });
  }));

test("a model that needs two nodes: all who ask at once are answered, and its host is who has most memory", { skip: missing }, () =>
  withModels(async (file, texts) => {
    const own = { a: ["--memory-limit", "256MiB"] };
    await onMesh({ a: [file(one)], b: [file(one)] }, { medium: "bridge", flags: half, own }, async (mesh) => {
      const [a, b] = mesh.all();
      await known(mesh, one);
      await foretold(a, one);
      const streamed = async (server) => {
        let text = "", last; // prettier-ignore
        for await (const event of server.events("/v1/completions", { ...ask(one), stream: true })) {
          if (event === ":") continue;
          last = event;
          if (event !== "[DONE]") text += JSON.parse(event).choices?.[0]?.text ?? "";
        }
        assert.equal(last, "[DONE]");
        return text;
      };
      const all = await Promise.all([said(a, one), streamed(a), said(b, one), streamed(b)]);
      assert.deepEqual(all, Array(4).fill(texts[one]));
      assert.deepEqual(await bothHolders(a, one), ["a", "b"]);
    });
  }));

test("memory that is wanted starts a model: of a node that joins, or that lends more", { skip: missing }, () =>
  withModels(async (file, texts) => {
    await onMesh({ a: [file(one)], b: [], c: [] }, { medium: "bridge", flags: half, later: ["c"] }, async (mesh) => {
      const [a, b, c] = mesh.all();
      const lends = async (share) => {
        const { status, body } = await b.post("/internal/set", { mesh_lend_memory: share });
        assert.equal(status, 200, JSON.stringify(body));
      };
      const short = async (server) => {
        await eventually(`${server.name} foretells what is short`, async () => (await plan(server, one)).foretold?.short);
        // For a while its group may still be there, and say who has left it.
        await eventually(`${server.name} says what is short`, async () => {
          const { status, body } = await answer(server, one);
          assert.equal(status, 503, JSON.stringify(body));
          return /[MG]B short/.test(body.error.message);
        });
      };
      await known(mesh, one);
      await lends(0);
      await short(b);
      await lends(1);
      await eventually("it is served with what b lends now", async () => (await holders(a, one)).join() === "b,a");
      assert.equal(await said(b, one), texts[one]);
      await lends(0);
      await eventually("it is given back", async () => (await holders(a, one)).length === 0);
      await short(b);
      await c.start();
      await mesh.admit(a, c);
      await eventually("it is served with who has joined", async () => (await holders(a, one)).join() === "c,a");
      assert.equal(await said(c, one), texts[one]);
    });
  }));

// Events of a stream; how it ended, and when.
async function read(stream, seen = () => {}) {
  let count = 0, last; // prettier-ignore
  for await (const event of stream) {
    if (event === ":") continue;
    last = event;
    seen(++count);
  }
  return { last, at: Date.now() };
}

test("an owner gets the memory back in time, and what was served with it is planned anew or says what is short", { skip: missing }, () =>
  withModels(async (file, texts) => {
    const places = { a: [file(one)], b: [file(small)], c: [file(small)] };
    await onMesh(places, { medium: "bridge", flags: half }, async (mesh) => {
      const a = mesh.at("a");
      await known(mesh, one, small);
      await foretold(a, one);
      assert.equal(await said(a, one), texts[one]);
      const [lender] = await bothHolders(a, one);
      const owner = mesh.at(lender), other = mesh.at(lender === "b" ? "c" : "b"); // prettier-ignore

      // In the middle of answers, of some of which it would take longer than he has to wait.
      let begin;
      const begun = new Promise((resolve) => (begin = resolve));
      const long = { ...ask(one), max_tokens: 1900, ignore_eos: true, stream: true };
      const streams = Array.from({ length: 4 }, (_, at) => read(mesh.all()[at % 3].events("/v1/completions", long), (n) => n === 3 && begin()));
      for (const stream of streams) stream.catch(() => {}); // of a test that has failed
      await begun;
      const wanted = Date.now();
      const { code, err } = await owner.command("load", small);
      const took = Date.now() - wanted;
      assert.equal(code, 0, err);
      console.log(`the owner had his memory after ${took} ms`);
      assert.ok(took < 35_000, `the owner waited for ${took} ms`);
      assert.equal(await said(owner, small), texts[small]);
      for (const { last, at } of await Promise.all(streams)) {
        assert.ok(last === "[DONE]" || JSON.parse(last).error?.message, `it ended, or was told by one error, and not ${last}`);
        assert.ok(at - wanted < 35_000, `a client was told after ${at - wanted} ms`);
        console.log(`a client had ${last.slice(0, 120)} after ${at - wanted} ms`);
      }

      await eventually("it is served with another node's memory", async () => (await holders(a, one)).join() === `${other.name},a`);
      for (const server of mesh.all()) assert.equal(await said(server, one), texts[one]);

      // Nobody else is left.
      const again = await other.command("load", small);
      assert.equal(again.code, 0, again.err);
      const refused = await eventually("it is said that memory is short", async () => {
        const asked = await answer(owner, one);
        return asked.status === 503 && /short/.test(asked.body.error.message) && asked;
      });
      assert.equal(refused.body.error.code, "no_capacity");
      for (const server of [owner, other]) assert.equal(await said(server, small), texts[small]);
    });
  }));

const children = (server, what) => server.family().filter(({ command }) => command.includes(` ${what} `));

test("what nobody asks for is given back by all its nodes, and comes back with the next request", { skip: missing }, () =>
  withModels(async (file, texts) => {
    const flags = [...half, "--mesh-idle-unload", "3s"];
    await onMesh({ a: [file(one)], b: [file(small)], c: [] }, { medium: "bridge", flags }, async (mesh) => {
      const [a, b, c] = mesh.all();
      await known(mesh, one, small);
      await foretold(c, one);
      // A split first, then a whole model.
      for (const [model, held] of [[one, 2], [small, 1]]) {
        for (const time of ["first", "second"]) {
          assert.equal(await said(c, model), texts[model], `${model}, the ${time} time`);
          const busy = mesh.all().filter((server) => children(server, "engine").length + children(server, "rpc-worker").length > 0);
          assert.equal(busy.length, held, `${model} is held by ${busy.map(({ name }) => name)}`);
          await eventually(`${model} is given back`, () => mesh.all().every((server) => children(server, "engine").length === 0 && children(server, "rpc-worker").length === 0));
          for (const server of [a, b, c])
            await eventually(`${server.name} says that ${model} rests`, async () => (await plan(server, model)).unserved.some(({ lack }) => lack === "resting" || lack === "not_asked"));
        }
      }
    });
  }));
