// Chromium with pages of the console. Each page notes what must never happen: errors of scripts, breaches of the
// Content-Security-Policy, failed files, and requests to any other host.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { chromium } from "playwright-core";

export const skip = existsSync("/usr/bin/chromium-headless-shell") ? false : "chromium-headless-shell is not installed";
export const kPages = ["models", "requests", "chat", "try", "downloads", "machines", "stats", "settings", "logs"];

const kFlags = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];

export class Browser {
  static async start() {
    const browser = new Browser();
    browser.chromium = await chromium.launch({ executablePath: join(import.meta.dirname, "chromium.sh"), args: kFlags });
    return browser;
  }
  stop() {
    return this.chromium.close();
  }

  // `expected`: messages of the browser's console that this test causes.
  async open(address, { width = 1280, height = 800, dark = false, expected = [], script } = {}) {
    const context = await this.chromium.newContext({ viewport: { width, height }, colorScheme: dark ? "dark" : "light", reducedMotion: "reduce" });
    const page = await context.newPage();
    const problems = [];
    page.requests = [];
    page.on("console", (message) => {
      if (message.type() === "error" && !expected.some((pattern) => pattern.test(message.text()))) problems.push(message.text());
    });
    page.on("pageerror", (error) => problems.push(String(error.stack)));
    page.on("request", (request) => {
      page.requests.push(request.url());
      if (!request.url().startsWith(new URL("/", address).href) && !/^(data|blob):/.test(request.url())) problems.push(`asks ${request.url()}`);
    });
    page.setDefaultTimeout(30_000);
    if (script) await page.addInitScript(script);
    page.assertFine = () => assert.deepEqual(problems, []);
    page.end = async () => {
      await context.close();
      page.assertFine();
    };
    await page.goto(address);
    return page;
  }
}

// Shows a page of the console.
export async function go(page, id) {
  await page.evaluate((hash) => (location.hash = hash), `#/${id}`);
  await page.locator(`header nav a[aria-current="page"][href^="#/${id}"]`).waitFor();
  await page.locator("main :is(h2, h3)").first().waitFor();
}
export const button = (within, name) => within.getByRole("button", { name, exact: true });
