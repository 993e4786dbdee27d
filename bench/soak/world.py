"""What clients and the destroyer share: the expected answers, the kills, and what went wrong."""
import collections
import contextlib
import json
import threading
import time

from harness import client, programs, report
from soak import asks
from soak.models import SPEECH, TRANSCRIPTION

ASKED = 3  # chats that each model is sure about
# At each token of an answer the best one is ahead of the next by so much: what is computed beside others is rounded
# otherwise, and a model made of random numbers is often of two minds.
SURE = 0.02
PATIENCE = 180  # seconds, after which a request counts as lost: transcriptions wait for each other, on a busy machine
# A request that was under way within so many seconds of a kill of its model may end with an error: the first replay may
# have met the next kill, and a model whose loads fail twice cools down for ten seconds.
AFTERMATH = 15
# One that is killed again and again under requests cools down for longer, and a request that was there each time is refused.
COOLING, COOLING_CODES = 300, ("model_cooling_down", "request_ended_backend")

# Each is of requests that are answered, and of processes that are killed.
KINDS = ("chat", "picture", "embedding", "reranking", "image", "speech", "transcription")
TYPES = ("llm", "embedding", "reranking", "image", "tts", "transcription")


def exchange(connection, ask, **more):
    """Status and body of an answer; the body is None if it broke off. Never asked again: what isn't answered is lost."""
    connection.reopen_if_closed()
    connection.send("POST", ask.path, *ask.body(**more))
    code, headers = connection.read_head()
    try:
        return code, connection.read_body(headers)
    except ConnectionError:
        return code, None


class World:
    def __init__(self, server, folder):
        self.server, self.folder = server, folder
        self.asks = collections.defaultdict(list)  # kind -> requests
        self.expected = {}  # request -> what its answer says
        self.kills = collections.defaultdict(list)  # model -> moments
        self.counts = collections.Counter()
        self.failures = []
        self.ended = threading.Event()
        self._lock = threading.Lock()

    def count(self, what):
        with self._lock:
            self.counts[what] += 1

    def fail(self, what):
        with self._lock:
            self.failures.append(what)
        report.note(f"WRONG: {what}")

    def excused(self, model, begin, error=None):
        """Whether kills explain that a request which began then had no answer. `error`: the one that it got instead."""
        with self._lock:
            if model == SPEECH:
                return self._speech_excused(begin)
            if error and error["code"] in COOLING_CODES:
                return len([moment for moment in self.kills[model] if moment > begin - COOLING]) > 1
            return any(moment > begin - AFTERMATH for moment in self.kills[model])

    def _speech_excused(self, begin):
        """A process that speaks is that of one request: its kill explains the end of one that was under way."""
        for moment in self.kills[SPEECH]:
            if moment > begin:
                self.kills[SPEECH].remove(moment)
                return True
        return False

    def server_ended(self):
        return self.server.process.child.poll() is not None

    def connection(self):
        return client.Connection(self.server.port, timeout=PATIENCE)

    def learn(self):
        """Asks everything once, alone."""
        with contextlib.closing(self.connection()) as connection:
            # Threads of its own would wait for each other in vain on a busy machine.
            code, body = connection.ask("/v1/load", json.dumps({"model_name": TRANSCRIPTION, "threads": 1, "save_options": True}).encode())
            assert code == 200, body
            for candidates in asks.of_random_models():
                self._learn_sure(connection, candidates)
            for ask in asks.of_others():
                self._learn(connection, ask)

    def _learn(self, connection, ask):
        self.expected[ask] = ask.said(self._asked(connection, ask))
        self.asks[ask.kind].append(ask)

    def _learn_sure(self, connection, candidates):
        found = 0
        for ask in candidates:
            if asks.lead(self._asked(connection, ask, logprobs=True, top_logprobs=2)) >= SURE:
                self._learn(connection, ask)
                found += 1
            if found == ASKED:
                return
        programs.give_up(f"{candidates[0].model} has a sure answer to {found} of {len(candidates)} questions only")

    @staticmethod
    def _asked(connection, ask, **more):
        code, body = exchange(connection, ask, **more)
        if code != 200 or body is None:
            programs.give_up(f"{ask}: {code} {body}")
        return body

    def missing(self):
        """Kinds of requests and types of processes that had none: then the run has shown nothing about them."""
        return ([f"no {kind} was answered" for kind in KINDS if not self.counts[kind]]
                + [f"no process of type {type} was killed" for type in TYPES if not self.counts[f"{type} killed"]])
