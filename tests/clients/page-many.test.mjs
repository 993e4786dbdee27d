// The console with many models and many requests: it makes rows only as they are seen.
import assert from "node:assert/strict";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { models, Server } from "../support/server.mjs";
import { Browser, button, go, skip } from "./browser.mjs";

const kModels = 1000;
const kRequests = 10_000;
const kMostRows = 400; // in the page at once

describe("console", { skip }, () => {
  let folder, server, browser, page;
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "corral-test-models-"));
    for (let i = 0; i < kModels; i++) copyFileSync(join(models, "tiny-llama-q8_0.gguf"), join(folder, `model-${String(i).padStart(4, "0")}.gguf`));
    [server, browser] = await Promise.all([Server.launch({ modelsDir: folder }, "--no-hub-cache"), Browser.start()]);
    let left = kRequests;
    const body = JSON.stringify({ model: "none", messages: [{ role: "user", content: "hi" }] });
    const ask = async () => {
      while (left-- > 0) await (await fetch(`${server.url}/v1/chat/completions`, { method: "POST", body })).arrayBuffer();
    };
    await Promise.all(Array.from({ length: 8 }, ask));
    page = await browser.open(`${server.url}/`);
  });
  after(async () => {
    await browser?.stop();
    await server?.stop();
    rmSync(folder, { recursive: true });
  });
  const rows = () => page.getByRole("row").count();

  test(`${kModels} models`, async () => {
    await page.getByText("1,000 of 1,000 models").waitFor();
    assert.ok((await rows()) < kMostRows, `${await rows()} rows`);
    await go(page, "downloads");
    await page.getByText(/^1,000 models, /).waitFor();
    assert.ok((await rows()) < kMostRows, `${await rows()} rows in downloads`);
    await go(page, "models");
    await page.getByRole("region", { name: "All models" }).getByLabel("Filter").fill("model-0999");
    await page.getByText("1 of 1,000 models").waitFor();
    page.assertFine();
  });

  test(`${kRequests} finished requests`, async () => {
    await go(page, "requests");
    const finished = page.getByRole("region", { name: "Finished" });
    await button(finished, "Read up to 10,000 more").click();
    await finished.getByText(/^10,000 requests/).waitFor();
    assert.ok((await rows()) < kMostRows, `${await rows()} rows`);
    page.assertFine();
  });
});
