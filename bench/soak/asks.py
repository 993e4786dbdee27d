"""Requests of each kind, and what of their answers counts."""
import dataclasses
import hashlib
import itertools
import json
import typing

from harness import pictures
from soak import media
from soak.models import EMBEDDING, IMAGES, LLMS, RERANKING, SPEECH, TRANSCRIPTION

QUESTIONS = ("Say hello.", "What is a corral?", "Count to ten, slowly.", "Name a horse.", "Why?", "Is it raining?", "Tell me a story.",
             "Who goes there?", "Sing.", "How many cows are here?", "Where is the gate?", "Good morning.")
STORY = "The horses are in the corral, and the gate is closed. " * 5
TOKENS = 24
STREAMED = ("chat", "picture")  # kinds that may be asked for as a stream
BROKEN_OFF = ("speech", "image")  # kinds that end with the connection if their process ends in the middle


@dataclasses.dataclass(frozen=True, eq=False)
class Ask:
    kind: str
    model: str
    path: str
    fields: dict
    said: typing.Callable  # what is compared of the body of an answer
    sound: bytes | None = None  # then the body is a form

    def body(self, **more):
        """With its content type."""
        fields = {"model": self.model, **self.fields, **more}
        return (json.dumps(fields).encode(), "application/json") if self.sound is None else media.form(fields, self.sound)

    def __str__(self):
        return f"{self.kind} {self.model} {json.dumps(self.fields)[-80:]}"


def spoken(message):
    """What a message or the deltas of a stream say: text and tool calls alike."""
    calls = "".join(call["function"].get("name", "") + call["function"].get("arguments", "") for call in message.get("tool_calls") or [])
    return (message.get("reasoning_content") or "") + (message.get("content") or "") + calls


def lead(body):
    """How far the best token of an answer is ahead of the next, in log probability, where that is least."""
    tops = [token["top_logprobs"] for token in json.loads(body)["choices"][0]["logprobs"]["content"]]
    return min(first["logprob"] - second["logprob"] for first, second in tops)


def chat(kind, model, content):
    fields = {"messages": [{"role": "user", "content": content}], "max_tokens": TOKENS, "temperature": 0}
    return Ask(kind, model, "/v1/chat/completions", fields, lambda body: spoken(json.loads(body)["choices"][0]["message"]))


def of_random_models():
    """Lists of chats with one model, of which only those count that it is sure about."""
    for model in LLMS:
        yield [chat("chat", model, question) for question in QUESTIONS]
    one, other = media.picture(64, 64, 1), media.picture(100, 40, 2)
    shown = ([one], [other], [one, other, one])
    yield [chat("picture", "tiny-vision", [*parts, pictures.text(question)])
           for question, parts in zip(QUESTIONS, itertools.cycle(shown))]


def image(model, seed, **more):
    fields = {"prompt": "a horse", "seed": seed, **more}
    return Ask("image", model, "/v1/images/generations", fields, lambda body: [media.described(item) for item in json.loads(body)["data"]])


def speech(form, text):
    return Ask("speech", SPEECH, "/v1/audio/speech", {"input": text, "response_format": form},
               lambda body: f"{len(body)} bytes, {hashlib.sha256(body).hexdigest()}")


def transcription(sound, **fields):
    return Ask("transcription", TRANSCRIPTION, "/v1/audio/transcriptions", fields, lambda body: json.loads(body)["text"], sound)


def of_others():
    """Requests that have one right answer."""
    vector = lambda body: [round(value, 3) for value in json.loads(body)["data"][0]["embedding"]]
    ranks = lambda body: [(row["index"], round(row["relevance_score"], 2)) for row in json.loads(body)["results"]]
    return [Ask("embedding", EMBEDDING, "/v1/embeddings", {"input": "a horse"}, vector),
            Ask("reranking", RERANKING, "/v1/rerank", {"query": "horse", "documents": ["a horse", "a cow", "nothing"]}, ranks),
            *(image(model, seed) for model in IMAGES for seed in (1, 2)), image(IMAGES[0], 7, n=2, size="128x64"),
            speech("wav", "Good morning."), speech("mp3", STORY), speech("pcm", STORY),
            transcription(media.silence(1)), transcription(media.silence(1), prompt="a"), transcription(media.silence(40))]
