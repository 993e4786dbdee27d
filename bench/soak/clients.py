"""Clients that ask, stream, leave in the middle, load, unload, pin and send nonsense, each at random."""
import contextlib
import functools
import json
import random
import threading
import time

from soak import models
from soak.asks import BROKEN_OFF, STREAMED, spoken
from soak.world import KINDS, exchange


def name_of(deed):
    return f"ask {deed.args[0]}" if isinstance(deed, functools.partial) else deed.__name__


class Client(threading.Thread):
    def __init__(self, world, seed):
        super().__init__(daemon=True)
        self.world, self.random = world, random.Random(seed)
        self.connection = world.connection()
        # How often what is done, in parts of a hundred or so.
        shares = {"chat": 40, "picture": 6, "embedding": 6, "reranking": 4, "image": 4, "speech": 4, "transcription": 4}
        self.deeds = [(shares[kind], functools.partial(self.ask, kind)) for kind in KINDS]
        self.deeds += [(30, self.stream), (8, self.leave), (5, self.look), (2, self.load), (1, self.unload), (1, self.pin), (3, self.nonsense)]

    def run(self):
        weights = [weight for weight, _ in self.deeds]
        while not self.world.ended.is_set():
            deed = self.random.choices(self.deeds, weights)[0][1]
            try:
                deed()
            except (OSError, RuntimeError, ValueError, KeyError) as error:
                self.world.fail(f"{name_of(deed)}: {type(error).__name__}: {error}")
                if not self.connected_again():
                    return
        self.connection.close()

    def connected_again(self):
        """False: the server has ended, which is seen elsewhere."""
        self.connection.close()
        with contextlib.suppress(OSError):
            self.connection = self.world.connection()
            return True
        return False

    def any_ask(self, kinds):
        return self.random.choice(self.world.asks[self.random.choice(kinds)])

    def refused(self, what, model, begin, code, body):
        if code in (500, 502, 503) and self.world.excused(model, begin, json.loads(body)["error"]):
            self.world.count(f"{what.partition(' ')[0]} {code} after a kill")
        elif code == 409 and b"pinned" in body:
            self.world.count("pinned out")
        else:
            self.world.fail(f"{what}: {code} {body[:300]!r}")

    def compare(self, ask, said):
        if said == self.world.expected[ask]:
            return self.world.count(ask.kind)
        self.world.fail(f"{ask}: {said!r} instead of {self.world.expected[ask]!r}")

    def ask(self, kind):
        ask, begin = self.any_ask([kind]), time.monotonic()
        code, body = exchange(self.connection, ask)
        if body is None:
            if ask.kind not in BROKEN_OFF or not self.world.excused(ask.model, begin):
                self.world.fail(f"{ask}: the body of its {code} broke off")
            self.world.count(f"{kind} broken off by a kill")
        elif code != 200:
            self.refused(str(ask), ask.model, begin, code, body)
        else:
            self.compare(ask, ask.said(body))

    def stream(self):
        ask, begin = self.any_ask(STREAMED), time.monotonic()
        code, body = exchange(self.connection, ask, stream=True)
        if body is None:
            return self.world.fail(f"stream of {ask}: it broke off")
        if code != 200:
            return self.refused(f"stream of {ask}", ask.model, begin, code, body)
        said, error, done = "", None, False
        for event in body.split(b"\n\n"):
            if not event.startswith(b"data: "):
                continue
            if event == b"data: [DONE]":
                done = True
                continue
            data = json.loads(event[6:])
            error = data.get("error", error)
            for choice in data.get("choices", []):
                said += spoken(choice["delta"])
        if error is not None:
            if done or not self.world.excused(ask.model, begin, error) and "pinned" not in json.dumps(error):
                self.world.fail(f"stream of {ask}: {error} (done: {done})")
            self.world.count("streams with a framed error")
        elif not done:
            self.world.fail(f"stream of {ask}: {said!r} without an end")
        else:
            self.compare(ask, said)

    def leave(self):
        """Goes before the answer has ended, or before it has begun."""
        ask = self.any_ask(KINDS)
        with contextlib.closing(self.world.connection()) as connection:
            connection.send("POST", ask.path, *ask.body(**({"stream": True} if ask.kind in STREAMED else {})))
            connection.socket.settimeout(self.random.uniform(0.001, 0.05))
            with contextlib.suppress(TimeoutError):
                connection.socket.recv(300)
        self.world.count("left")

    def look(self):
        for path in ("/v1/health", "/v1/models", "/v1/stats"):
            self.connection.reopen_if_closed()
            self.connection.send("GET", path)
            code, headers = self.connection.read_head()
            body = self.connection.read_body(headers)
            if code != 200:
                self.world.fail(f"GET {path}: {code} {body[:200]!r}")
        self.world.count("looks")

    def post(self, path, value, allowed):
        code, body = self.connection.ask(path, json.dumps(value).encode())
        if code not in allowed:
            self.world.fail(f"POST {path} {value}: {code} {body[:300]!r}")

    def load(self):
        model, begin = self.random.choice(models.ALL), time.monotonic()
        options = {"ctx_size": self.random.choice((1024, 2048))} if model in models.LLMS else {}
        code, body = self.connection.ask("/v1/load", json.dumps({"model_name": model, **options}).encode())
        self.world.count("loads")
        if code != 200:
            self.refused(f"load {model}", model, begin, code, body)

    def unload(self):
        self.post("/v1/unload", {"model_name": self.random.choice(models.ALL)}, (200, 404))
        self.world.count("unloads")

    def pin(self):
        """At most one model at a time, so that a victim always exists."""
        model = models.LLMS[0]
        self.post("/internal/pin", {"model_name": model, "pinned": True}, (200, 400))
        self.post("/internal/pin", {"model_name": model, "pinned": False}, (200, 400))
        self.world.count("pins")

    def nonsense(self):
        self.post("/v1/chat/completions", {"model": "tiny-llam", "messages": []}, (400, 404))
        self.post("/v1/chat/completions", {"model": "tiny-llama", "messages": "none"}, (400,))
        self.post("/v1/embeddings", {"model": "tiny-llama", "input": "x"}, (400,))
        self.post("/v1/images/generations", {"model": models.IMAGES[0], "prompt": "x", "size": "1x1"}, (400,))
        self.post("/v1/audio/speech", {"model": models.SPEECH, "input": ""}, (400,))
        self.world.count("nonsense")
