"""Prompts of an exact length that share nothing, and the requests made with them."""
import contextlib
import json
import random

from harness import client

FIRST_ORDINARY = 256  # below are the single bytes
CONTROL = 300  # at the end of a vocabulary there may be as many control tokens
LETTERS = range(32, 58)  # "A" to "Z" in the byte-pair vocabularies of GPT-2's kind


class Prompts:
    """Lists of random tokens; with the same seed the same ones for servers with the same model."""

    def __init__(self, server, seed=1):
        with contextlib.closing(client.Connection(server.port)) as connection:
            connection.send("GET", "/v1/models")
            status, headers = connection.read_head()
            answer = connection.read_body(headers)
        if status != 200:
            server.process.fail(f"answered {status} to models: {answer[:300]!r}")
        self._size = json.loads(answer)["data"][0]["meta"]["n_vocab"]
        self._random = random.Random(seed)

    def tokens(self, count):
        return [self._random.randrange(FIRST_ORDINARY, self._size - CONTROL) for _ in range(count)]


def answer_tokens(text):
    """The tokens of an answer that was made of letters only."""
    return [LETTERS.start + ord(letter) - ord("A") for letter in text]


def _streamed(tokens, temperature, letters):
    body = {"model": "bench", "max_tokens": tokens, "temperature": temperature, "seed": 1, "ignore_eos": True,
            "stream": True, "stream_options": {"include_usage": True}}
    if letters:
        body["logit_bias"] = [[token, 100] for token in LETTERS]
    return body


def completion(prompt, tokens, temperature=1, letters=True):
    """A streamed answer of exactly so many tokens.

    With `letters` it is made of capital letters: each token is then a piece of text at once (others may be half a
    character), so that every step is seen, and text and tokens say the same."""
    return {"prompt": prompt, **_streamed(tokens, temperature, letters)}


def chat(messages, tokens):
    """The same of a chat; its path is `server.path("chat")`."""
    return {"messages": messages, **_streamed(tokens, temperature=1, letters=True)}
