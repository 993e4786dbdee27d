#!/usr/bin/env python3
"""How long health, the model list and a resident model take to answer while another model loads, drains or goes.

One client asks in turn on kept connections, without pause, through four phases: nothing else happens; two models drive each
other out of one slot; a load waits for a model that is still answering; a model is killed whenever it is there."""
import argparse
import contextlib
import json
import os
import signal
import threading
import time

from harness import client, programs, report, servers
from harness.processes import stage

MODELS = ("tiny-llama", "tiny-qwen3", "scripted-endless", "tiny-embed")
EMBED = json.dumps({"model": "tiny-embed", "input": "x"}).encode()


def arguments():
    parser = argparse.ArgumentParser(prog="script/bench health", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5, help="length of each phase (default %(default)s)")
    parser.add_argument("--write", action="store_true", help="put the table into docs/benchmarks.md")
    return parser.parse_args()


def chat(model, tokens):
    return json.dumps({"model": model, "messages": [{"role": "user", "content": "Hi"}], "max_tokens": tokens}).encode()


def get(connection, path):
    connection.send("GET", path)
    status, headers = connection.read_head()
    connection.read_body(headers)
    return status


def quiet(server, ended):
    ended.wait()


def swapping(server, ended):
    with contextlib.closing(client.Connection(server.port)) as connection:
        number = 0
        while not ended.is_set():
            number += 1
            connection.ask(server.path("chat"), chat(MODELS[number % 2], 4))


def draining(server, ended):
    """One client keeps a model busy for long answers while another asks for a model that needs its slot."""
    def keep_busy():
        with contextlib.closing(client.Connection(server.port)) as connection:
            while not ended.is_set():
                connection.ask(server.path("chat"), chat("scripted-endless", 1500))

    busy = threading.Thread(target=keep_busy)
    busy.start()
    with contextlib.closing(client.Connection(server.port)) as connection:
        while not ended.is_set():
            connection.ask(server.path("chat"), chat("tiny-llama", 4))
    busy.join()


def killing(server, ended):
    """A client asks one model again and again, whose process is killed as soon as it is there."""
    def keep_killing():
        with contextlib.closing(client.Connection(server.port)) as connection:
            while not ended.wait(0.05):
                connection.send("GET", "/v1/health")
                _, headers = connection.read_head()
                for entry in json.loads(connection.read_body(headers))["all_models_loaded"]:
                    if entry["model_name"] == MODELS[0] and entry.get("pid"):
                        with contextlib.suppress(ProcessLookupError):
                            os.kill(entry["pid"], signal.SIGKILL)

    killer = threading.Thread(target=keep_killing)
    killer.start()
    with contextlib.closing(client.Connection(server.port)) as connection:
        while not ended.is_set():
            connection.ask(server.path("chat"), chat(MODELS[0], 4))  # may well fail
    killer.join()


def measure(server, work, seconds):
    ended = threading.Event()
    worker = threading.Thread(target=work, args=(server, ended))
    worker.start()
    times = {"health": [], "models": [], "embeddings": []}
    with contextlib.closing(client.Connection(server.port)) as connection:
        asks = {
            "health": lambda: get(connection, "/v1/health"),
            "models": lambda: get(connection, "/v1/models"),
            "embeddings": lambda: connection.ask("/v1/embeddings", EMBED)[0],
        }
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            for name, ask in asks.items():
                begin = time.perf_counter()
                status = ask()
                times[name].append((time.perf_counter() - begin) * 1000)
                if status != 200:
                    server.process.fail(f"{name} answered {status}")
    ended.set()
    worker.join()
    return times


def main():
    options = arguments()
    made = programs.models()
    machine = report.machine()
    rows = []
    with stage() as started:
        server = servers.corral_serve(started, servers.model_folder(started, [made / f"{model}.gguf" for model in MODELS]))
        with contextlib.closing(client.Connection(server.port)) as connection:
            connection.ask("/v1/embeddings", EMBED)
        for phase, work in (("nothing else", quiet), ("two models in one slot", swapping), ("a load waits for a busy model", draining),
                            ("a model is killed again and again", killing)):
            for name, times in measure(server, work, options.seconds).items():
                numbers = [report.median(times), report.percentile(times, 0.99), max(times)]
                rows.append([phase, name, len(times), *(f"{number:.2f}" for number in numbers)])
                report.note(f"{phase}, {name}: p50 {numbers[0]:.2f} ms, p99 {numbers[1]:.2f} ms")
    head = ["meanwhile", "request", "asked", "p50 ms", "p99 ms", "longest ms"]
    report.publish("health", f"{machine}.\n\n{report.table(head, rows)}", options.write)


if __name__ == "__main__":
    main()
