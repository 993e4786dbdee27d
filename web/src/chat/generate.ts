// One streamed answer: sends the request, reads its events, measures.
import { ApiError, readEvents, send } from "../lib/api";
import { AnswerReader, type Answer } from "./answer";
import type { Times } from "./stats";
import type { Failure, Item } from "./types";

const kLongestSilence = 60_000; // the server sends a comment each second while it waits
const kPaint = 60; // between two changes of the page; more for long answers, because each makes all of the text again
const kPaintedEach = 2000; // characters of events for each further millisecond

export interface Generated {
  answer: Answer;
  items: Item[]; // what is to be kept
  stopped: boolean;
  times: Times;
  warnings: string;
}

export async function generate(body: unknown, signal: AbortSignal, show: (answer: Answer) => void): Promise<Generated> {
  const reader = new AnswerReader();
  const times: Times = { sent: performance.now(), loaded: 0, first: 0, last: 0 };
  let warnings = "";
  let painted = 0;
  let received = 0; // characters
  const done = (stopped: boolean, failure: Failure | null): Generated => {
    const answer = reader.snapshot();
    const whole = answer.ended === "completed" || answer.ended === "incomplete";
    return { answer: failure ? { ...answer, ended: "failed", failure } : answer, items: whole ? answer.items : reader.partial(), stopped, times, warnings };
  };
  try {
    const response = await send("v1/responses", { method: "POST", body: JSON.stringify(body), signal });
    warnings = response.headers.get("X-Corral-Warnings") ?? "";
    await readEvents(
      response,
      (event) => {
        reader.push(event);
        received += event.data.length;
        times.last = performance.now();
        if (reader.begun && times.first === 0) times.first = times.last;
        if (times.last - painted < Math.max(kPaint, received / kPaintedEach)) return;
        painted = times.last;
        show(reader.snapshot());
      },
      kLongestSilence,
    );
    return done(false, reader.snapshot().ended === "" ? { code: "unreachable", message: "The connection ended before the answer did." } : null);
  } catch (error) {
    if (signal.aborted) return done(true, null);
    return done(false, error instanceof ApiError ? error : { code: "unreachable", message: "The connection to the server was lost." });
  }
}
