// The console in Chromium, as a person uses it: every page, against a real server.
import assert from "node:assert/strict";
import { copyFileSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { withoutVocabulary } from "../support/broken-models.mjs";
import { models, Server } from "../support/server.mjs";
import { Browser, button, go, skip } from "./browser.mjs";

// One second of silence, as WAV.
const silence = Buffer.from("UklGRiR9AABXQVZFZm10IBAAAAABAAEAgD4AAAB9AAACABAAZGF0YQB9AAA=", "base64");

describe("console", { skip }, () => {
  let folder, server, browser, page;
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "corral-test-models-"));
    for (const file of readdirSync(models)) copyFileSync(join(models, file), join(folder, file));
    writeFileSync(join(folder, "no-vocabulary.gguf"), withoutVocabulary("tiny-qwen3.gguf"));
    writeFileSync(join(folder, "cut.gguf"), withoutVocabulary("tiny-qwen3.gguf").subarray(0, 400_000));
    const flags = ["--no-hub-cache", "--capture-bodies", "--max-loaded-models", "2"];
    [server, browser] = await Promise.all([Server.launch({ modelsDir: folder, environment: { HF_ENDPOINT: "http://127.0.0.1:9" } }, ...flags), Browser.start()]);
    page = await browser.open(`${server.url}/`, { expected: [/^Failed to load resource: the server responded with a status of (400|409|500|503)/] });
  });
  after(async () => {
    await browser?.stop();
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  const row = (text) => page.getByRole("row").filter({ hasText: text }).first();
  const shown = (text) => page.getByText(text, { exact: true }).first().waitFor();

  test("models: load, pin, see it in memory, unload", async () => {
    await go(page, "models");
    const all = page.getByRole("region", { name: "All models" });
    const memory = page.getByRole("region", { name: "In memory" });
    await all.getByLabel("Filter").fill("tiny-llama");
    await button(all, "Load tiny-llama").click();
    await button(memory, "Pin tiny-llama").click();
    await row("tiny-llama").getByText("pinned", { exact: true }).waitFor();
    await memory.getByText("stays: it is pinned").waitFor();
    await button(all, "Options of tiny-llama").click();
    await all.getByText("ctx_size").first().waitFor();
    await button(all, "Options of tiny-llama").click();
    await button(all, "Unpin tiny-llama").click();
    await button(memory, "Unload tiny-llama").click();
    await row("tiny-llama").getByText("on disk", { exact: true }).waitFor();

    // The filter persists.
    await page.reload();
    await row("tiny-llama").waitFor();
    assert.equal(await all.getByLabel("Filter").inputValue(), "tiny-llama");
    await all.getByLabel("Filter").fill("");
    page.assertFine();
  });

  test("models: what cannot be used, and a failed load with its cause", async () => {
    await page.getByText("1 file or folder cannot be used").click();
    await page.getByText("the download or copy is incomplete").waitFor();
    await button(page, "Load no-vocabulary").click();
    await page.getByRole("alert").getByText("no-vocabulary").waitFor();
    await button(page.getByRole("alert"), "Close").click();
    await button(page, "Scan the disks again").click();
    await shown("The list of models is new");
  });

  test("chat: a streamed answer, again, edited, and still there after a reload", async () => {
    await go(page, "chat");
    await page.getByLabel("Model", { exact: true }).selectOption("scripted-hello");
    await page.getByLabel("Message", { exact: true }).fill("hi");
    await page.keyboard.press("Enter");
    await button(page, "Answer again").click();
    await button(page, "Answer again").waitFor();
    await page.getByRole("button", { name: "Edit this message: hi" }).click();
    await page.getByLabel("New text of the message").fill("hello there");
    await button(page, "Send the new text").click();
    await button(page, "Answer again").waitFor();
    await page.reload();
    await page.getByRole("button", { name: "Edit this message: hello there" }).waitFor();

    // An answer without an end is stopped.
    await button(page, "New chat").click();
    await page.getByLabel("Model", { exact: true }).selectOption("scripted-endless");
    await page.getByLabel("Message", { exact: true }).fill("go");
    await button(page, "Send").click();
    await page.getByText("one two three").first().waitFor();
    await button(page, "Stop").click();
    await button(page, "Answer again").waitFor();
    page.assertFine();
  });

  test("requests: running ones are cancelled; finished ones have details, filters and files", async () => {
    const asking = server.fetch("/v1/completions", { method: "POST", body: JSON.stringify({ model: "scripted-endless", prompt: "a", stream: true, max_tokens: 1_000_000 }) });
    const stream = (await asking).body.getReader();
    await go(page, "requests");
    await page.getByRole("button", { name: /^Cancel/ }).first().click();
    await page.getByText("Nothing runs or waits").waitFor();
    await stream.cancel();
    const finished = page.getByRole("region", { name: "Finished" });
    await button(finished, "Read now").click();
    await finished.getByRole("button", { name: /^Details of the request to scripted-endless/ }).first().click();
    await button(finished, "Show the bodies").first().click();
    await button(finished, "Raw").first().waitFor();
    await finished.getByLabel("Model", { exact: true }).fill("scripted-hello");
    await page.keyboard.press("Enter");
    await finished.getByText("Sums by model and key").click();
    const [csv] = await Promise.all([page.waitForEvent("download"), button(finished, "Save as CSV").click()]);
    assert.match(csv.suggestedFilename(), /\.csv$/);
    page.assertFine();
  });

  test("try: embeddings, reranking, a transcription", async () => {
    await go(page, "try");
    await button(page, "Compute the embeddings").click();
    await page.getByRole("table").first().waitFor();
    await page.getByRole("link", { name: "Reranking" }).click();
    await page.getByRole("table").first().waitFor({ state: "detached" });
    await button(page, "Sort the documents").click();
    await page.getByRole("table").first().waitFor();
    await page.getByRole("link", { name: "Transcription" }).click();
    await page.getByLabel("Sound file").setInputFiles({ name: "a.wav", mimeType: "audio/wav", buffer: Buffer.concat([silence, Buffer.alloc(32000)]) });
    await page.locator("main button.main").first().click();
    await page.getByText("The horses are in the corral.").waitFor();
    await page.getByRole("link", { name: "Speech" }).click();
    await page.getByText("This server has no model of the type").waitFor();
    page.assertFine();
  });

  test("downloads: files are verified and deleted after a question; a hub that is away is said", async () => {
    await go(page, "downloads");
    await page.getByRole("button", { name: "Predict the memory of tiny-moe" }).click();
    await page.getByRole("button", { name: "Verify files of tiny-moe" }).click();
    await page.getByText(/1 file verified/).waitFor();
    await page.getByRole("button", { name: "Delete tiny-moe" }).click();
    await page.getByRole("dialog").getByRole("button").first().click();
    await page.getByRole("button", { name: "Delete tiny-moe" }).click();
    await page.getByRole("dialog").getByRole("button", { name: /^Delete/ }).click();
    await page.getByRole("button", { name: "Delete tiny-moe" }).waitFor({ state: "detached" });
    assert.ok(!readdirSync(folder).includes("tiny-moe.gguf"));
    await page.getByLabel("Search the hub, or name a model").fill("qwen3 8b");
    await button(page, "Search").click();
    await page.getByText("no connection to http://127.0.0.1:9").waitFor();
  });

  test("statistics: numbers and plots", async () => {
    await go(page, "stats");
    // Even if other pages have used all requests of this minute: the first row comes within 10 s.
    await page.locator("canvas").first().waitFor();
    await page.getByText("All numbers as a table").click();
    page.assertFine();
  });

  test("settings: a change, an error at the field, and back", async () => {
    await go(page, "settings");
    await page.getByLabel("Filter").fill("evict_idle_timeout");
    const field = page.getByLabel("evict_idle_timeout", { exact: true });
    await field.fill("soon");
    await button(page, "Save").click();
    await page.locator(".error").filter({ hasText: "soon" }).waitFor();
    await field.fill("7m");
    await button(page, "Save").click();
    await button(page, "Remove the set value of evict_idle_timeout").click();
    await page.getByText("The set value is removed.").waitFor();
    await page.getByText("This server requires no key.").waitFor();
  });

  test("logs: of the server and of a model, with a search", async () => {
    await go(page, "logs");
    await page.getByText("listens on").waitFor();
    await page.getByLabel("Search").fill("scripted-hello");
    await page.getByText(/scripted-hello is ready/).first().waitFor();
    await button(page, "Pause").click();
    await button(page, "Continue").click();
    await button(page, "Clear").click();
    await page.getByLabel("Search").fill("");
    await page.getByRole("combobox", { name: "Log of" }).selectOption("scripted-hello");
    await page.getByRole("heading", { name: "Log of scripted-hello" }).waitFor();
    await page.getByText(/^[1-9]\d* lines?$/).waitFor();
    page.assertFine();
  });

  test("machines: a mesh, a token with its QR code, and out again", async () => {
    await go(page, "machines");
    await button(page, "Create a mesh").click();
    await button(page, "Create a join token").click();
    await page.locator("main svg").first().waitFor();
    await button(page, "Withdraw it").click();
    await button(page, "Leave the mesh").click();
    await page.getByRole("dialog").getByRole("button", { name: /^Leave/ }).click();
    await button(page, "Create a mesh").waitFor();
    page.assertFine();
  });
});
