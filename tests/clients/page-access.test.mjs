// The console where it is not alone: behind keys and a proxy, with texts of strangers, and while the server is away.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { models, program, Server } from "../support/server.mjs";
import { Browser, button, go, kPages, skip } from "./browser.mjs";

const kDenied = [/^Failed to load resource: the server responded with a status of 40[13]/];
const kEvil = '<img src=x onerror="document.title=\'broken\'">';

async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}
// An address that stays while its server is replaced. Without a target it ends every connection.
async function relay() {
  const sockets = new Set();
  const listener = createServer((socket) => {
    if (!listener.target) return socket.destroy();
    const onward = connect(listener.target, "127.0.0.1");
    for (const end of [socket, onward]) {
      sockets.add(end);
      end.on("error", () => {}).on("close", () => (sockets.delete(end), socket.destroy(), onward.destroy()));
    }
    socket.pipe(onward).pipe(socket);
  });
  listener.cut = () => ((listener.target = undefined), sockets.forEach((socket) => socket.destroy()));
  await new Promise((resolve) => listener.listen(0, "127.0.0.1", resolve));
  return listener;
}
// nginx with a server's address below /llm/; undefined: it does not run here.
async function proxyOf(url, folder) {
  for (let tries = 0; tries < 5; tries++) {
    const port = await freePort();
    writeFileSync(
      join(folder, "nginx.conf"),
      `daemon off; pid ${folder}/pid; error_log stderr; worker_processes 1; events {}
       http { access_log off; client_body_temp_path ${folder}/b; proxy_temp_path ${folder}/p; fastcgi_temp_path ${folder}/f; uwsgi_temp_path ${folder}/u; scgi_temp_path ${folder}/s;
         server { listen 127.0.0.1:${port}; location /llm/ { proxy_pass ${url}/; proxy_set_header Host $http_host; proxy_buffering off; } } }`,
    );
    const process = spawn("nginx", ["-c", join(folder, "nginx.conf"), "-e", "stderr"], { stdio: "ignore" });
    const proxy = { url: `http://127.0.0.1:${port}/llm/`, process, ended: new Promise((resolve) => process.once("exit", resolve).once("error", resolve)) };
    while (process.pid !== undefined && process.exitCode === null) if ((await fetch(`${proxy.url}live`).catch(() => undefined))?.ok) return proxy;
    await proxy.ended;
    if (process.pid === undefined) return undefined;
  }
  return undefined;
}

describe("console", { skip }, () => {
  let browser;
  before(async () => (browser = await Browser.start()));
  after(() => browser?.stop());

  test("a server with keys asks for one, and shows what its scope allows", async () => {
    const server = await Server.start("--no-hub-cache");
    const create = (...words) => execFileSync(program, ["key", "create", "--state-dir", server.state, ...words], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
    const [admin, inference] = [create("--scope", "admin", "--scope", "inference"), create("--scope", "inference")];
    try {
      const page = await browser.open(`${server.url}/`, { expected: kDenied });
      const enter = async (key) => {
        await page.getByLabel("API key", { exact: true }).fill(key);
        await button(page, "Use this key").click();
      };
      await enter("corral-nobody-0000");
      await page.getByText("The key is not accepted").waitFor();
      await enter(inference);
      await button(page, "Load tiny-llama").waitFor();
      for (const id of kPages) await go(page, id);
      await go(page, "models");
      await page.getByText('This key has no scope "admin"').waitFor();
      assert.ok(await button(page, "Load tiny-llama").isDisabled());

      await button(page, "Key").click();
      await enter(admin);
      await button(page, "Load tiny-llama").click();
      await button(page, "Unload tiny-llama").first().waitFor();
      await go(page, "settings");
      await button(page, "New key").click();
      await page.getByLabel("Name", { exact: true }).fill("a laptop");
      await button(page, "Create the key").click();
      await button(page, "Close").click();
      await page.getByRole("button", { name: /^Revoke a laptop/ }).click();
      await button(page, "Revoke the key").click();
      await page.getByRole("button", { name: /^Revoke a laptop/ }).waitFor({ state: "detached" });

      // Until the tab is closed, and nowhere else.
      await page.reload();
      await page.getByRole("button", { name: /^Revoke/ }).first().waitFor();
      assert.ok(!page.requests.some((address) => address.includes(admin)));
      assert.equal(await page.evaluate(() => JSON.stringify(localStorage).includes("corral-")), false);
      await page.end();
    } finally {
      await server.stop();
    }
  });

  test("below a path of a proxy", async (t) => {
    const server = await Server.start("--no-hub-cache");
    const folder = mkdtempSync(join(tmpdir(), "corral-nginx-"));
    const nginx = await proxyOf(server.url, folder);
    try {
      if (!nginx) return t.skip("nginx does not run here");
      const page = await browser.open(nginx.url);
      for (const id of kPages) await go(page, id);
      await page.reload(); // at the address of a page
      await page.getByRole("heading", { name: /^Log of/ }).first().waitFor();
      await go(page, "models");
      await button(page, "Load tiny-llama").click();
      await button(page, "Unload tiny-llama").first().waitFor();
      assert.ok(page.requests.every((address) => address.includes("/llm/") || address.endsWith("/favicon.ico")), page.requests.join("\n"));
      await page.end();
    } finally {
      nginx?.process.kill();
      await nginx?.ended;
      await server.stop();
      rmSync(folder, { recursive: true });
    }
  });

  test("names and messages never become HTML", async () => {
    const folder = mkdtempSync(join(tmpdir(), "corral-test-models-"));
    copyFileSync(join(models, "scripted-hello.gguf"), join(folder, `${kEvil.replaceAll("/", "")}.gguf`));
    copyFileSync(join(models, "scripted-hello.gguf"), join(folder, "scripted-hello.gguf"));
    const server = await Server.launch({ modelsDir: folder }, "--no-hub-cache", "--capture-bodies");
    try {
      const body = JSON.stringify({ model: kEvil, messages: [{ role: "user", content: kEvil }] });
      await server.fetch("/v1/chat/completions", { method: "POST", body, headers: { "user-agent": kEvil } });
      await server.fetch("/v1/chat/completions", { method: "POST", body: body.replaceAll("<img", "<img nobody"), headers: { "user-agent": kEvil } });
      const page = await browser.open(`${server.url}/`);
      for (const id of kPages) {
        await go(page, id);
        assert.equal(await page.locator("img").count(), 0, id);
        assert.doesNotMatch(await page.title(), /broken/);
      }
      await go(page, "chat");
      await page.getByLabel("Message", { exact: true }).fill(`${kEvil} **${kEvil}**`);
      await button(page, "Send").click();
      await button(page, "Answer again").waitFor();
      assert.equal(await page.locator("main img").count(), 0);
      assert.doesNotMatch(await page.title(), /^broken/);
      // Of a model.
      const answer = { type: "message", role: "assistant", content: [{ type: "output_text", text: `${kEvil}\n\n[a link](javascript:document.title='broken') **bold**` }] };
      await server.post("/v1/conversations", { items: [{ type: "message", role: "user", content: "hi" }, answer], metadata: { title: "of a model" } });
      await page.reload();
      await page.getByRole("link", { name: "of a model" }).click();
      await page.locator("main strong").getByText("bold", { exact: true }).waitFor();
      assert.equal(await page.locator("main img").count(), 0);
      assert.equal(await page.locator('a[href^="javascript"]').count(), 0);
      assert.doesNotMatch(await page.title(), /broken/);
      await page.end();
    } finally {
      await server.stop();
      rmSync(folder, { recursive: true });
    }
  });

  test("a page that stays open asks little, says that its server is away, and goes on when it is back", async () => {
    const address = await relay();
    let server = await Server.start("--no-hub-cache");
    address.target = server.port;
    try {
      const page = await browser.open(`http://127.0.0.1:${address.address().port}/`, { expected: [/^Failed to load resource: net::ERR/] });
      await page.getByText("live", { exact: true }).waitFor();
      const before = page.requests.length;
      const read = page.waitForRequest(/v1\/health/); // which these changes cause
      for (let i = 0; i < 4; i++) {
        await server.post("/v1/load", { model_name: "tiny-llama" });
        await server.post("/v1/unload", { model_name: "tiny-llama" });
      }
      await read;
      assert.ok(page.requests.length - before <= 5, page.requests.slice(before).join("\n"));
      address.cut();
      await page.getByText("The page connects again automatically").waitFor();
      await server.stop();
      server = await Server.start("--no-hub-cache");
      address.target = server.port;
      await page.getByText("live", { exact: true }).waitFor();
      await button(page, "Load tiny-llama").click();
      await button(page, "Unload tiny-llama").first().waitFor();
      await page.end();
    } finally {
      address.cut();
      address.close();
      await server.stop();
    }
  });
});
