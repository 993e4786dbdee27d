#!/usr/bin/env python3
"""Random traffic over eight models and three slots with kills and changed settings: no wrong answer, nothing leaked.

Eight clients ask, stream, leave in the middle, load, unload, pin and send nonsense, while children are killed and limits change.
Every answer is compared with the one the model gave alone. Ends with 1 if anything was wrong, missing or left behind."""
import argparse
import collections
import contextlib
import json
import os
import pathlib
import random
import signal
import threading
import time

from harness import client, programs, report, servers
from harness.processes import stage

LLMS = ("scripted-hello", "scripted-unicode", "scripted-tool-call", "tiny-llama", "tiny-qwen3", "tiny-moe")
QUESTIONS = ("Say hello.", "What is a corral?", "Count to ten, slowly.", "Name a horse.", "Why?", "Is it raining?", "Tell me a story.",
             "Who goes there?", "Sing.", "How many cows are here?", "Where is the gate?", "Good morning.")
ASKED = 3  # of them, of each model
IDLE = 2  # processes without a model: one that waits for the next, and the guardian of programs
TOKENS = 24
# At each token of an answer the best one is ahead of the next by so much: what is computed beside others is rounded
# otherwise, and a model made of random numbers is often of two minds.
SURE = 0.02
# A request that was under way within so many seconds of a kill of its model may end with an error: the first replay may
# have met the next kill, and a model whose loads fail twice cools down for ten seconds.
AFTERMATH = 15


def arguments():
    parser = argparse.ArgumentParser(prog="script/bench soak", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30, help="how long (default %(default)s)")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30), help="of the random choices (default: a random one)")
    parser.add_argument("--clients", type=int, default=8, help="(default %(default)s)")
    return parser.parse_args()


def chat_body(model, question, stream, **more):
    return json.dumps({"model": model, "messages": [{"role": "user", "content": question}], "max_tokens": TOKENS, "temperature": 0,
                       "stream": stream, **more}).encode()


def lead(choice):
    """How far the best token is ahead of the next, in log probability, where that is least."""
    tops = [token["top_logprobs"] for token in choice["logprobs"]["content"]]
    return min(first["logprob"] - second["logprob"] for first, second in tops)


def spoken(message):
    """What a message or the deltas of a stream say: text and tool calls alike."""
    calls = "".join(call["function"].get("name", "") + call["function"].get("arguments", "") for call in message.get("tool_calls") or [])
    return (message.get("reasoning_content") or "") + (message.get("content") or "") + calls


class World:
    """What clients and the destroyer share: the expected answers, the kills, and what went wrong."""

    def __init__(self, server):
        self.server = server
        self.questions, self.chats, self.vectors, self.ranks = {}, {}, None, None
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

    def excused(self, model, begin):
        return any(moment > begin - AFTERMATH for moment in self.kills[model])

    def connection(self):
        return client.Connection(self.server.port, timeout=60)

    def learn(self):
        with contextlib.closing(self.connection()) as connection:
            for model in LLMS:
                self.questions[model] = self.sure_questions(connection, model)
                for question in self.questions[model]:
                    code, body = connection.ask("/v1/chat/completions", chat_body(model, question, False))
                    assert code == 200, body
                    self.chats[model, question] = spoken(json.loads(body)["choices"][0]["message"])
            self.vectors = self.embed(connection)[1]
            self.ranks = self.rerank(connection)[1]

    @staticmethod
    def sure_questions(connection, model):
        found = []
        for question in QUESTIONS:
            code, body = connection.ask("/v1/chat/completions", chat_body(model, question, False, logprobs=True, top_logprobs=2))
            assert code == 200, body
            if lead(json.loads(body)["choices"][0]) >= SURE:
                found.append(question)
            if len(found) == ASKED:
                return found
        programs.give_up(f"{model} has a sure answer to {found} only")

    @staticmethod
    def embed(connection):
        code, body = connection.ask("/v1/embeddings", json.dumps({"model": "tiny-embed", "input": "a horse"}).encode())
        return code, [round(value, 3) for value in json.loads(body)["data"][0]["embedding"]] if code == 200 else body

    @staticmethod
    def rerank(connection):
        body = {"model": "tiny-rerank", "query": "horse", "documents": ["a horse", "a cow", "nothing"]}
        code, answer = connection.ask("/v1/rerank", json.dumps(body).encode())
        return code, [(row["index"], round(row["relevance_score"], 2)) for row in json.loads(answer)["results"]] if code == 200 else answer


class Client(threading.Thread):
    def __init__(self, world, seed):
        super().__init__(daemon=True)
        self.world, self.random = world, random.Random(seed)
        self.connection = world.connection()
        # How often what is done, in parts of a hundred or so.
        self.deeds = [(40, self.ask), (30, self.stream), (8, self.leave), (6, self.embed), (4, self.rerank), (5, self.look), (2, self.load),
                      (1, self.unload), (1, self.pin), (3, self.nonsense)]

    def run(self):
        weights = [weight for weight, _ in self.deeds]
        while not self.world.ended.is_set():
            deed = self.random.choices(self.deeds, weights)[0][1]
            try:
                deed()
                self.world.count(deed.__name__)
            except (OSError, RuntimeError, ValueError, KeyError) as error:
                self.world.fail(f"{deed.__name__}: {type(error).__name__}: {error}")
                self.connection.close()
                self.connection = self.world.connection()
        self.connection.close()

    def any_question(self):
        model = self.random.choice(LLMS)
        return model, self.random.choice(self.world.questions[model])

    def refused(self, what, model, begin, code, body):
        if code in (500, 502, 503) and self.world.excused(model, begin):
            self.world.count("excused by a kill")
        elif code == 409 and b"pinned" in body:
            self.world.count("pinned out")
        else:
            self.world.fail(f"{what} {model}: {code} {body[:300]!r}")

    def ask(self):
        model, question, begin = *self.any_question(), time.monotonic()
        code, body = self.connection.ask("/v1/chat/completions", chat_body(model, question, False))
        if code != 200:
            return self.refused("ask", model, begin, code, body)
        said = spoken(json.loads(body)["choices"][0]["message"])
        if said != self.world.chats[model, question]:
            self.world.fail(f"ask {model} {question!r}: {said!r} instead of {self.world.chats[model, question]!r}")

    def stream(self):
        model, question, begin = *self.any_question(), time.monotonic()
        self.connection.reopen_if_closed()
        self.connection.send("POST", "/v1/chat/completions", chat_body(model, question, True))
        code, headers = self.connection.read_head()
        body = self.connection.read_body(headers)
        if code != 200:
            return self.refused("stream", model, begin, code, body)
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
        expected = self.world.chats[model, question]
        if error is not None:
            if done or not self.world.excused(model, begin) and "pinned" not in json.dumps(error):
                self.world.fail(f"stream {model}: {error} (done: {done})")
            self.world.count("framed error")
        elif not done or said != expected:
            self.world.fail(f"stream {model} {question!r}: {said!r} instead of {expected!r} (done: {done})")

    def leave(self):
        """Goes before the answer has ended, or before it has begun."""
        with contextlib.closing(self.world.connection()) as connection:
            connection.send("POST", "/v1/chat/completions", chat_body(*self.any_question(), True))
            connection.socket.settimeout(self.random.uniform(0.001, 0.05))
            with contextlib.suppress(TimeoutError):
                connection.socket.recv(300)

    def embed(self):
        begin = time.monotonic()
        code, vector = self.world.embed(self.connection)
        if code != 200:
            self.refused("embed", "tiny-embed", begin, code, vector)
        elif vector != self.world.vectors:
            self.world.fail(f"embed: {vector[:4]} instead of {self.world.vectors[:4]}")

    def rerank(self):
        begin = time.monotonic()
        code, ranks = self.world.rerank(self.connection)
        if code != 200:
            self.refused("rerank", "tiny-rerank", begin, code, ranks)
        elif ranks != self.world.ranks:
            self.world.fail(f"rerank: {ranks} instead of {self.world.ranks}")

    def look(self):
        for path in ("/v1/health", "/v1/models", "/v1/stats"):
            self.connection.reopen_if_closed()
            self.connection.send("GET", path)
            code, headers = self.connection.read_head()
            body = self.connection.read_body(headers)
            if code != 200:
                self.world.fail(f"GET {path}: {code} {body[:200]!r}")

    def post(self, path, value, allowed):
        code, body = self.connection.ask(path, json.dumps(value).encode())
        if code not in allowed:
            self.world.fail(f"POST {path} {value}: {code} {body[:300]!r}")

    def load(self):
        model, begin = self.random.choice(LLMS), time.monotonic()
        code, body = self.connection.ask("/v1/load", json.dumps({"model_name": model, "ctx_size": self.random.choice((1024, 2048))}).encode())
        if code != 200:
            self.refused("load", model, begin, code, body)

    def unload(self):
        self.post("/v1/unload", {"model_name": self.random.choice(LLMS)}, (200, 404))

    def pin(self):
        """At most one model at a time, so that somebody can always go."""
        model = LLMS[0]
        self.post("/internal/pin", {"model_name": model, "pinned": True}, (200, 400))
        self.post("/internal/pin", {"model_name": model, "pinned": False}, (200, 400))

    def nonsense(self):
        self.post("/v1/chat/completions", {"model": "tiny-llam", "messages": []}, (400, 404))
        self.post("/v1/chat/completions", {"model": "tiny-llama", "messages": "none"}, (400,))
        self.post("/v1/embeddings", {"model": "tiny-llama", "input": "x"}, (400,))


def health(world):
    with contextlib.closing(world.connection()) as connection:
        connection.send("GET", "/v1/health")
        _, headers = connection.read_head()
        return json.loads(connection.read_body(headers))


def settings(world, values):
    with contextlib.closing(world.connection()) as connection:
        code, body = connection.ask("/internal/set", json.dumps(values).encode())
    world.count("settings")
    if code != 200:
        world.fail(f"set {values}: {code} {body[:300]!r}")


def destroy(world, seed):
    """Every now and then kills a child or changes a setting."""
    choices = random.Random(seed)
    while not world.ended.wait(choices.uniform(0.2, 3)):
        if choices.random() < 0.5:
            there = health(world)
            victims = [entry for entry in there["all_models_loaded"] + there["stopping"] if entry.get("pid")]
            if not victims:
                continue
            victim = choices.choice(victims)
            world.kills[victim["model_name"]].append(time.monotonic())
            with contextlib.suppress(ProcessLookupError):
                os.kill(victim["pid"], signal.SIGKILL)
            world.kills[victim["model_name"]].append(time.monotonic())
            world.count("kills")
        else:
            setting = choices.choice(({"max_loaded_models": f"llm={choices.randint(1, 3)}"}, {"swap_patience": choices.choice(("0s", "200ms", "2s"))}))
            settings(world, setting)
    settings(world, {"max_loaded_models": "llm=3", "swap_patience": "2s"})


class Holdings:
    """What the server holds when nothing is loaded: descriptors, memory, processes."""

    def __init__(self, world):
        with contextlib.closing(world.connection()) as connection:
            connection.ask("/v1/unload", b"{}")
        pid = world.server.process.child.pid
        self.children, self.descriptors = self.look(world, pid)
        # Sockets of connections that were closed a moment ago, the spare child that is being made: it settles.
        before = None
        for _ in range(100):
            if before == (self.children, self.descriptors) and self.children == IDLE:
                break
            before = (self.children, self.descriptors)
            time.sleep(0.1)
            self.children, self.descriptors = self.look(world, pid)
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
        self.memory = int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS"))) / 1024

    @staticmethod
    def look(world, pid):
        threads = pathlib.Path(f"/proc/{pid}/task").iterdir()
        children = [child for thread in threads for child in (thread / "children").read_text().split()]
        return len(children), len(os.listdir(f"/proc/{pid}/fd"))

    def __str__(self):
        return f"{self.descriptors} descriptors, {self.memory:.1f} MiB, {self.children} children"


def main():
    args = arguments()
    report.note(f"seed {args.seed}, {args.minutes:g} minutes, {args.clients} clients")
    with stage() as started:
        files = [programs.models() / f"{name}.gguf" for name in (*LLMS, "tiny-embed", "tiny-rerank")]
        world = World(servers.corral_serve(started, servers.model_folder(started, files)))
        settings(world, {"max_loaded_models": "llm=3"})
        world.learn()
        first = Holdings(world)
        clients = [Client(world, args.seed + number) for number in range(args.clients)]
        destroyer = threading.Thread(target=destroy, args=(world, args.seed - 1), daemon=True)
        for thread in (*clients, destroyer):
            thread.start()
        end, told = time.monotonic() + args.minutes * 60, time.monotonic()
        while time.monotonic() < end and len(world.failures) < 20:
            time.sleep(0.5)
            if time.monotonic() - told > 60:
                told = time.monotonic()
                report.note(f"  {(end - told) / 60:.0f} minutes left: {dict(world.counts)}")
        world.ended.set()
        for thread in (*clients, destroyer):
            thread.join(90)
            if thread.is_alive():
                world.fail(f"a request never ended ({thread})")
        last = Holdings(world)
        log = world.server.process.log.read_text(errors="replace")
    report.note(f"done: {dict(world.counts)}")
    report.note(f"before: {first}\nafter:  {last}")
    if last.descriptors > first.descriptors + 2 or last.children > IDLE:
        world.failures.append("descriptors or processes were left behind")
    # Some pages are kept for reuse: what counts is that it doesn't grow with the time.
    if last.memory > first.memory + 32:
        world.failures.append("memory was left behind")
    if world.failures:
        report.note(f"{len(world.failures)} failures; seed {args.seed}\n" + "\n".join(world.failures[:20]) + f"\n{log[-4000:]}")
        raise SystemExit(1)
    report.note("nothing wrong, nothing missing, nothing left behind")


if __name__ == "__main__":
    main()
