// The console for everybody: no serious finding of axe-core, narrow and wide windows, light and dark, the keyboard alone.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, describe, test } from "node:test";
import { Server } from "../support/server.mjs";
import { Browser, go, kPages, skip } from "./browser.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

async function findings(page) {
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map(({ html, failureSummary }) => `${html} ${failureSummary}`).join("\n")}`);
}
// What is wider than the window, without a way to scroll it.
const tooWide = (page) =>
  page.evaluate(() => {
    const width = document.documentElement.clientWidth;
    // Texts only for screen readers are in boxes of one pixel.
    const scrolls = (element) => element && (/auto|scroll/.test(getComputedStyle(element).overflowX) || element.clientWidth === 1 || scrolls(element.parentElement));
    const wide = [...document.body.querySelectorAll("*")].filter((element) => element.getBoundingClientRect().right > width + 1 && !scrolls(element));
    return wide.map((element) => element.outerHTML.slice(0, 120));
  });

describe("console", { skip }, () => {
  let server, browser;
  before(async () => {
    [server, browser] = await Promise.all([Server.start("--no-hub-cache", "--max-loaded-models", "2"), Browser.start()]);
    for (const model of ["scripted-hello", "tiny-embed"]) await server.post("/v1/load", { model_name: model });
    await server.post("/internal/pin", { model_name: "tiny-embed", pinned: true });
    await server.chat("scripted-hello", "hi");
    await server.chat("no-such-model", "hi");
  });
  after(async () => {
    await browser?.stop();
    await server?.stop();
  });

  for (const dark of [false, true])
    test(`axe-core has no serious finding, ${dark ? "dark" : "light"}`, async () => {
      const page = await browser.open(`${server.url}/`, { dark, script: axe });
      const all = [];
      for (const id of kPages) {
        await go(page, id);
        all.push(...(await findings(page)).map((finding) => `${id}: ${finding}`));
      }
      assert.deepEqual(all, []);
      await page.end();
    });

  for (const width of [360, 800, 2560])
    test(`nothing is cut in a window of ${width} pixels`, async () => {
      const page = await browser.open(`${server.url}/`, { width });
      const all = [];
      for (const id of kPages) {
        await go(page, id);
        all.push(...(await tooWide(page)).map((element) => `${id}: ${element}`));
      }
      assert.deepEqual(all, []);
      await page.end();
    });

  test("the keyboard alone loads a model, changes the page and sends a chat", async () => {
    const page = await browser.open(`${server.url}/`);
    await go(page, "models");
    const focused = () => page.evaluate(() => document.activeElement.getAttribute("aria-label") ?? document.activeElement.textContent.trim());
    const tabTo = async (name) => {
      for (let presses = 0; presses < 200; presses++) {
        await page.keyboard.press("Tab");
        const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
        assert.notEqual(outline, "none", `the focus of ${await focused()} is not visible`);
        if ((await focused()) === name) return;
      }
      assert.fail(`Tab does not reach ${name}`);
    };
    await tabTo("Load tiny-qwen3");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Unload tiny-qwen3", exact: true }).first().waitFor();
    await page.keyboard.press("Home");
    await page.evaluate(() => document.activeElement.blur());
    await page.reload();
    await page.getByRole("heading", { name: "All models" }).waitFor();
    await tabTo("Chat");
    await page.keyboard.press("Enter");
    await page.getByLabel("Message", { exact: true }).waitFor();
    await page.getByLabel("Message", { exact: true }).focus();
    await page.keyboard.type("hi");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Answer again", exact: true }).waitFor();
    await page.end();
  });
});
