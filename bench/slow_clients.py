#!/usr/bin/env python3
"""What good clients notice of thousands of slow ones: heads, bodies and answers that move by a byte now and then.

Eight kept connections tokenise two words (wrk) alone, then beside the slow clients, which come from several loopback
addresses: one third each send the head of a request byte by byte, send a body byte by byte, and ask for an endless
answer of which they take a byte at a time. The server must end them by itself; one that was ended comes again."""
import argparse
import json
import multiprocessing
import resource
import selectors
import socket
import time

from harness import programs, report, servers, wrk
from harness.processes import stage

MODEL = "tiny-llama"
ENDLESS = "scripted-endless"
BODY = json.dumps({"model": MODEL, "content": "Hello world"})
ANSWER = json.dumps({"model": ENDLESS, "messages": [{"role": "user", "content": "go"}], "stream": True, "max_tokens": 100_000})
ADDRESSES = 8  # 127.0.0.2 and so on
LARGEST_PAUSE = 1.0


def arguments():
    parser = argparse.ArgumentParser(prog="script/bench slow_clients", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--slow", type=int, default=4000, help="slow clients (default %(default)s)")
    parser.add_argument("--good", type=int, default=8, help="good ones (default %(default)s)")
    parser.add_argument("--seconds", type=int, default=20, help="length of each of the two runs (default %(default)s)")
    parser.add_argument("--write", action="store_true", help="put the table into docs/benchmarks.md")
    return parser.parse_args()


class Slow:
    """One client: what it says at once, then a byte at a time, if it still says something."""

    def __init__(self, number, port):
        self.number, self.port, self.socket, self.answered = number, port, None, False
        post = f"POST /v1/{{}} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {{}}\r\n\r\n"
        kind = number % 3
        if kind == 0:
            self.first = "GET /v1/models HTTP/1.1\r\nHost: localhost\r\nX-Slow: "
        elif kind == 1:
            self.first = post.format("tokenize", 100_000)
        else:
            self.first = post.format("chat/completions", len(ANSWER)) + ANSWER
        self.talks = kind != 2

    def open(self):
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        self.socket.bind((f"127.0.0.{2 + self.number % ADDRESSES}", 0))
        self.socket.setblocking(False)
        self.socket.connect_ex(("127.0.0.1", self.port))
        self.pending = self.first.encode()

    def step(self, readable):
        """False when the server has ended it."""
        try:
            if readable and not self.socket.recv(1):
                return False
            if self.pending:
                self.pending = self.pending[self.socket.send(self.pending):]
            elif self.talks:
                self.socket.send(b"x")
        except BlockingIOError:
            pass
        except OSError:
            return False
        return True


def run_slow(count, port, up, counted, ended):
    """In a process of its own, so that the good clients don't wait for this interpreter."""
    crowd = [Slow(number, port) for number in range(count)]
    selector = selectors.DefaultSelector()
    for client in crowd:
        client.open()
        selector.register(client.socket, selectors.EVENT_READ, client)
        if client.number % 100 == 99:
            time.sleep(0.02)
    closed = 0
    told = False
    while not ended.is_set():
        began = time.monotonic()
        readable = {key.data for key, _ in selector.select(0)}
        for client in crowd:
            if client.step(client in readable):
                continue
            closed += 1
            selector.unregister(client.socket)
            client.socket.close()
            client.open()
            selector.register(client.socket, selectors.EVENT_READ, client)
        if not told:
            told = True
            up.set()
        ended.wait(max(0.0, LARGEST_PAUSE - (time.monotonic() - began)))
    counted.put(closed)
    for client in crowd:
        client.socket.close()


def beside(slow, server, work):
    """The result of `work` while the slow clients are there, and how many of them the server has ended."""
    context = multiprocessing.get_context("fork")
    up, ended, counted = context.Event(), context.Event(), context.Queue()
    crowd = context.Process(target=run_slow, args=(slow, server.port, up, counted, ended), daemon=True)
    crowd.start()
    try:
        if not up.wait(60):
            programs.give_up("the slow clients didn't come up")
        got = work()
    finally:
        ended.set()
    closed = counted.get(timeout=30)
    crowd.join(30)
    return got, closed


def main():
    options = arguments()
    programs.installed("wrk")
    need = options.slow + 1000
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < need:
        programs.give_up(f"{need} open files are needed and {hard} allowed; take fewer with --slow")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, need), hard))
    machine = report.machine()
    made = programs.models()
    rows = []
    with stage() as started:
        folder = servers.model_folder(started, [made / f"{model}.gguf" for model in (MODEL, ENDLESS)])
        server = servers.corral_serve(started, folder, "--max-loaded-models", "2")
        body = started.folder / "body.json"
        body.write_text(BODY)

        def good():
            return wrk.run(server, server.path("tokenize"), body, options.good, options.seconds)

        wrk.run(server, server.path("tokenize"), body, 1, 1)  # loads it
        alone = good()
        with_slow, closed = beside(options.slow, server, good)
        for name, load in (("alone", alone), (f"beside {options.slow:,} slow ones", with_slow)):
            rows.append([name, f"{load.p50:.0f}", f"{load.p99:.0f}", f"{load.per_second:,.0f}", f"{load.errors:.0f}"])
    text = (f"{machine}. {options.good} good clients, wrk for {options.seconds} s each; of the slow ones the server ended {closed:,}, which came "
            f"again.\n\n{report.table(['good clients', 'p50 µs', 'p99 µs', 'requests/s', 'errors'], rows)}")
    report.publish("slow_clients", text, options.write)


if __name__ == "__main__":
    main()
