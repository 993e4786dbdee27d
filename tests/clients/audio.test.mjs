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
const skipEncoded = skip || (there("ffmpeg", "-version") ? false : "ffmpeg is not installed");
const kText = "The horses are in the corral.";
const kModel = "scripted-whisper";

let server;
let client;
let wav;

before(async () => {
  if (skip) return;
  const entry = { speaker: { recipe: "espeak-ng", checkpoint: "espeak-ng", labels: ["tts"] } };
  const prepare = (state) => writeFileSync(join(state, "user_models.json"), JSON.stringify(entry));
  server = await Server.launch({ prepare, environment: { CORRAL_ESPEAK_MODEL: "true" } });
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
  await assert.rejects(speak({ input: "" }), (error) => error.status === 400 && error.param === "input");
});

test("espeak-ng needs no configuration, and OpenAI's names mean the models that are here", { skip }, async () => {
  const { data } = (await server.json("GET", "/v1/models")).body;
  assert.ok(data.some(({ id }) => id === "espeak-ng"));
  assert.ok((await speak({ model: "espeak-ng", response_format: "wav" })).length > 22050);
  const response = await client.audio.speech.create({ model: "tts-1", voice: "alloy", input: kText });
  assert.match(response.headers.get("x-corral-model"), /^(espeak-ng|speaker)$/);
  assert.equal((await hear({ model: "whisper-1" })).text, kText);
  const { activity } = (await server.json("GET", "/v1/activity")).body;
  assert.ok(activity.every(({ model }) => model !== "whisper-1" && model !== "tts-1"));
});

test("every name of a voice works, and a wrong one is refused with close names", { skip }, async () => {
  for (const voice of ["en", "fr", "zh", "en-us", "de+f3", "fable", "gmw/en-US"])
    assert.ok((await speak({ voice, response_format: "wav" })).length > 10000, voice);
  const error = await speak({ voice: "fr-fx" }).then(() => null, (caught) => caught);
  assert.equal(error.status, 400);
  assert.match(error.message, /unknown voice "fr-fx" \(did you mean fr-fr/);
  const { voices } = (await server.json("GET", "/v1/audio/voices?model=espeak-ng")).body;
  assert.ok(voices.find(({ id }) => id === "fr-fr").aliases.includes("fr"));
  assert.equal(voices.find(({ id }) => id === "alloy").same_as, "en-us");
});

test("ffmpeg makes opus, aac and flac", { skip: skipEncoded }, async () => {
  const begins = { opus: "OggS", flac: "fLaC" };
  for (const [response_format, begin] of Object.entries(begins))
    assert.equal((await speak({ response_format })).toString("latin1", 0, 4), begin);
  const aac = await speak({ response_format: "aac" });
  assert.equal(aac.readUInt16BE(0) & 0xfff6, 0xfff0);
});

test("without ffmpeg the formats that work are named", { skip: skip || (skipEncoded ? false : "ffmpeg is installed") }, async () => {
  const error = await speak({ response_format: "opus" }).then(() => null, (caught) => caught);
  assert.equal(error.status, 400);
  assert.equal(error.param, "response_format");
  assert.match(error.message, /use mp3, wav or pcm, or install ffmpeg on the server's machine \(apt-get install ffmpeg\)/);
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

// 16-bit samples of one channel.
function wavOf(rate, samples) {
  const head = Buffer.alloc(44);
  head.write("RIFF", 0);
  head.writeUInt32LE(36 + samples.length, 4);
  head.write("WAVEfmt ", 8);
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(rate, 24);
  head.writeUInt32LE(2 * rate, 28);
  head.writeUInt16LE(2, 32);
  head.writeUInt16LE(16, 34);
  head.write("data", 36);
  head.writeUInt32LE(samples.length, 40);
  return Buffer.concat([head, samples]);
}

test("the text of a long file comes piece by piece", { skip }, async () => {
  const long = await toFile(wavOf(16000, Buffer.alloc(70 * 32000)), "long.wav");
  const events = [];
  const stream = await client.audio.transcriptions.create({ model: kModel, file: long, stream: true });
  for await (const event of stream) events.push(event);
  assert.deepEqual(events.map(({ type }) => type), [...Array(3).fill("transcript.text.delta"), "transcript.text.done"]);
  assert.equal(events.at(-1).text, [kText, kText, kText].join(" "));
  assert.equal(events.slice(0, 3).map(({ delta }) => delta).join(""), events.at(-1).text);
});

test("a file of minutes is cut without a stream too, and times go on", { skip }, async () => {
  const long = await toFile(wavOf(8000, Buffer.alloc(200 * 16000)), "long.wav");
  const verbose = await client.audio.transcriptions.create({ model: kModel, file: long, response_format: "verbose_json", timestamp_granularities: ["segment", "word"] });
  assert.equal(verbose.duration, 200);
  assert.equal(verbose.segments.length, 7);
  for (let i = 1; i < 7; ++i) assert.ok(verbose.segments[i].start >= verbose.segments[i - 1].end, String(i));
  assert.deepEqual(verbose.segments.map(({ id }) => id), [0, 1, 2, 3, 4, 5, 6]);
  assert.equal(verbose.words.length, 7 * 6);
});

test("a header that claims too much is refused", { skip }, async () => {
  const slow = await toFile(wavOf(1, Buffer.alloc(12000)), "a.wav");
  const error = await client.audio.transcriptions.create({ model: kModel, file: slow }).then(() => null, (caught) => caught);
  assert.equal(error.status, 400);
  assert.equal(error.param, "file");
  assert.match(error.message, /its header claims 1 samples per second; supported: 8000 to 192000/);
});

test("what is no sound, and what can't be read here, is said so", { skip }, async () => {
  const refused = async (bytes, name) => {
    const asking = client.audio.transcriptions.create({ model: kModel, file: await toFile(Buffer.from(bytes), name) });
    return asking.then(() => assert.fail("it was taken"), (error) => error);
  };
  const cut = await refused(wav.subarray(0, 60), "a.wav");
  assert.equal(cut.status, 400);
  assert.match(cut.message, /claims \d+ bytes of samples, and the file has 16; send the complete file/);
  const text = await refused("this is a text", "a.wav");
  assert.equal(text.status, 400);
  assert.equal(text.param, "file");
  const wrong = await client.audio.transcriptions.create({ model: "tiny-llama", file: await file() }).then(() => null, (error) => error);
  assert.equal(wrong.status, 400);
  await assert.rejects(hear({ language: "klingon" }), (error) => error.status === 400 && error.param === "language");
});
