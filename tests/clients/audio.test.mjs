// The official OpenAI client's transcription, translation and speech, against whisper.cpp's server with a scripted model
// and espeak-ng: from speech to text and back on real programs.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import OpenAI, { toFile } from "openai";
import { Server } from "../support/server.mjs";

const there = (program, ...words) => {
  try {
    execFileSync(program, words, { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
};
const skip = there("espeak-ng", "--version") ? false : "espeak-ng is not installed";
const kText = "The horses are in the corral.";
const kModel = "scripted-whisper";

let server;
let client;
let wav;

before(async () => {
  if (skip) return;
  const entry = { speaker: { recipe: "espeak-ng", checkpoint: "espeak-ng", labels: ["tts"] } };
  const prepare = (state) => writeFileSync(join(state, "user_models.json"), JSON.stringify(entry));
  server = await Server.launch({ prepare });
  client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: "none", maxRetries: 0 });
});
after(() => server?.stop());

const speak = async (body) => Buffer.from(await (await client.audio.speech.create({ model: "speaker", voice: "alloy", input: kText, ...body })).arrayBuffer());
const file = () => toFile(wav, "a.wav");
const hear = async (body) => client.audio.transcriptions.create({ model: kModel, file: await file(), ...body });

test("speech comes as wav with its true length", { skip }, async () => {
  const answer = await client.audio.speech.create({ model: "speaker", voice: "alloy", input: kText, response_format: "wav" });
  assert.equal(answer.headers.get("content-type"), "audio/wav");
  wav = Buffer.from(await answer.arrayBuffer());
  assert.equal(wav.toString("latin1", 0, 4), "RIFF");
  assert.equal(wav.readUInt32LE(4), wav.length - 8);
  assert.equal(wav.readUInt32LE(40), wav.length - 44);
  assert.ok(wav.length > 44 + 22050, "more than half a second");
});

test("what was spoken is heard", { skip }, async () => {
  assert.equal((await hear({})).text, kText);
});

test("speech comes as mp3 by default, and as samples of 24 kHz", { skip }, async () => {
  const answer = await client.audio.speech.create({ model: "speaker", voice: "nova", input: kText });
  assert.equal(answer.headers.get("content-type"), "audio/mpeg");
  const mp3 = Buffer.from(await answer.arrayBuffer());
  assert.equal(mp3[0], 0xff);
  assert.equal(mp3[1] & 0xe0, 0xe0);
  const heard = await client.audio.transcriptions.create({ model: kModel, file: await toFile(mp3, "a.mp3") });
  assert.equal(heard.text, kText);
  const [pcm, same] = [await speak({ response_format: "pcm" }), await speak({ response_format: "wav" })];
  assert.ok(Math.abs(pcm.length / 48000 - (same.length - 44) / 44100) < 0.01, "as long as the wav");
});

test("a voice, its speed, and what isn't one", { skip }, async () => {
  const [slow, fast] = [await speak({ response_format: "wav", speed: 0.5 }), await speak({ response_format: "wav", speed: 2 })];
  assert.ok(slow.length > 1.8 * fast.length);
  await assert.rejects(speak({ voice: "--help" }), (error) => error.status === 400 && error.param === "voice");
  const { voices } = (await server.json("GET", "/v1/audio/voices")).body;
  assert.ok(voices.some((voice) => voice.id === "en-us" && voice.model === "speaker"));
  await assert.rejects(speak({ response_format: "opus" }), (error) => error.status === 400 && error.param === "response_format");
  await assert.rejects(speak({ input: "" }), (error) => error.status === 400 && error.param === "input");
});

test("text that looks like a flag or a command is only spoken", { skip }, async () => {
  for (const input of ["--version", "-w/tmp/x", "$(touch /tmp/x); `id`", "<speak>hi</speak>"]) {
    assert.ok((await speak({ input, response_format: "wav" })).length > 1000, input);
  }
});

test("all formats of a transcript", { skip }, async () => {
  assert.equal(await hear({ response_format: "text" }), kText);
  assert.equal(await hear({ response_format: "srt" }), `1\n00:00:00,000 --> 00:00:02,000\n${kText}\n`);
  assert.equal(await hear({ response_format: "vtt" }), `WEBVTT\n\n00:00:00.000 --> 00:00:02.000\n${kText}\n`);
  const verbose = await hear({ response_format: "verbose_json" });
  assert.equal(verbose.text, kText);
  assert.equal(verbose.language, "english");
  assert.equal(verbose.segments.length, 1);
  assert.equal(verbose.segments[0].end, 2);
  const timed = await hear({ response_format: "verbose_json", timestamp_granularities: ["word"] });
  assert.deepEqual(timed.words.map(({ word }) => word), ["The", "horses", "are", "in", "the", "corral."]);
  assert.equal(timed.segments, undefined);
});

test("a prompt is heeded, a language is told, a translation is one", { skip }, async () => {
  assert.equal((await hear({ prompt: "a" })).text, "horses are in the corral.");
  assert.equal((await hear({ response_format: "verbose_json", language: "de" })).language, "german");
  const translated = await client.audio.translations.create({ model: kModel, file: await file(), response_format: "srt" });
  assert.match(translated, /^1\n00:00:00,500 -->/);
});

test("a stream tells the text", { skip }, async () => {
  const events = [];
  for await (const event of await hear({ stream: true })) events.push(event);
  assert.deepEqual(events.at(-1), { type: "transcript.text.done", text: kText });
});

test("what is no sound, and what can't be read here, is said so", { skip }, async () => {
  const refused = async (bytes, name) => {
    const asking = client.audio.transcriptions.create({ model: kModel, file: await toFile(Buffer.from(bytes), name) });
    return asking.then(() => assert.fail("it was taken"), (error) => error);
  };
  const cut = await refused(wav.subarray(0, 60), "a.wav");
  assert.equal(cut.status === 400 || cut.status === 500, true);
  const text = await refused("this is a text", "a.wav");
  assert.equal(text.status, 400);
  assert.equal(text.param, "file");
  const wrong = await client.audio.transcriptions.create({ model: "tiny-llama", file: await file() }).then(() => null, (error) => error);
  assert.equal(wrong.status, 400);
  await assert.rejects(hear({ language: "klingon" }), (error) => error.status === 400 && error.param === "language");
});
