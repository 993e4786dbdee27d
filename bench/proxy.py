#!/usr/bin/env python3
"""What a request costs on its way through the router, beside nginx as the floor and llama.cpp's own router as the peer.

Two requests that cost the engine as little as a request can (tokenising two words, a chat of one token) are driven by
wrk over kept connections against each server in turn; each number is the median of the rounds. The engine behind
`corral serve` and the one reached directly are two processes of the same kind; nginx forwards to the latter's Unix
socket, as the router does to its own. Then a body of 4 MB, one at a time."""
import argparse
import contextlib
import dataclasses
import json
import time

from harness import client, programs, report, servers, wrk
from harness.processes import stage

MODEL = "tiny-llama"
BODIES = {
    "tokenize": {"model": MODEL, "content": "Hello world"},
    "chat": {"model": MODEL, "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 1, "temperature": 0},
}
TITLES = {"tokenize": "Tokenising two words (the least an engine can do)", "chat": "A chat answer of one token"}
LARGE = 4 << 20


def arguments():
    parser = argparse.ArgumentParser(prog="script/bench proxy", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=5, help="length of one wrk run (default %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each cell, in turn; the median counts (default %(default)s)")
    parser.add_argument("--connections", default="1,32,256", help="default %(default)s")
    parser.add_argument("--workloads", default="tokenize,chat", help="default %(default)s")
    parser.add_argument("--only", help="only servers whose name holds this text (direct ones always run)")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/benchmarks.md")
    return parser.parse_args()


@dataclasses.dataclass
class Entry:
    name: str
    server: servers.Server
    direct: "Entry | None" = None  # what the added time is measured against


def line_up(started, model, only):
    folder = servers.model_folder(started, [model])
    engine = Entry("engine child, direct", servers.corral_engine(started, model))
    peer = Entry("llama-server, direct", servers.llama_server(started, model))
    makers = {
        "**corral serve**": (lambda: servers.corral_serve(started, folder), engine),
        "nginx, 1 worker": (lambda: servers.nginx(started, engine.server, "1"), engine),
        "nginx, worker per core": (lambda: servers.nginx(started, engine.server, "auto"), engine),
        "llama-server router": (lambda: servers.llama_router(started, folder), peer),
    }
    routed = [Entry(name, make(), direct) for name, (make, direct) in makers.items() if not only or only in name]
    return [engine, *(entry for entry in routed if entry.direct is engine), peer, *(entry for entry in routed if entry.direct is peer)]


def warm_up(entries, workload):
    """The first request loads the model; the answers must be good ones before they are counted."""
    body = json.dumps(BODIES[workload]).encode()
    for entry in entries:
        with contextlib.closing(client.Connection(entry.server.port)) as connection:
            for _ in range(20):
                connection.reopen_if_closed()
                code, text = connection.ask(entry.server.path(workload), body)
                if code != 200:
                    entry.server.process.fail(f"answered {code} to {workload}: {text[:300]!r}")


def drive(entries, workload, connections, options, scratch):
    """{name: Load} with the medians of the rounds."""
    body = scratch / f"{workload}.json"
    body.write_text(json.dumps(BODIES[workload]))
    loads = {entry.name: [] for entry in entries}
    for number in range(options.rounds):
        for entry in entries:
            load = wrk.run(entry.server, entry.server.path(workload), body, connections, options.seconds)
            loads[entry.name].append(load)
            report.note(f"{workload} c={connections} round {number + 1} {entry.name}: p50 {load.p50:.0f} µs, {load.per_second:.0f}/s")
    fields = [field.name for field in dataclasses.fields(wrk.Load)]
    return {name: wrk.Load(*(report.median([getattr(load, field) for load in runs]) for field in fields)) for name, runs in loads.items()}


def load_table(entries, results):
    head = ["connections", "server", "p50 µs", "p99 µs", "requests/s", "added p50 µs", "CPU s per 1,000", "errors"]
    rows = []
    for connections, loads in results.items():
        for entry in entries:
            load = loads[entry.name]
            added = f"{load.p50 - loads[entry.direct.name].p50:.0f}" if entry.direct else ""
            rows.append([connections, entry.name, f"{load.p50:.0f}", f"{load.p99:.0f}", f"{load.per_second:,.0f}", added,
                         f"{load.cpu_per_1000:.3f}", f"{load.errors:.0f}"])
    return report.table(head, rows)


def large_bodies(entries, count):
    """p50 in milliseconds for a request of 4 MB whose work is that of the small one. The model's name stands last."""
    body = json.dumps({"content": "Hello world", "padding": "All work and no play. " * (LARGE // 22), "model": MODEL}).encode()
    times = {entry.name: [] for entry in entries}
    with contextlib.ExitStack() as stack:
        links = {entry.name: stack.enter_context(contextlib.closing(client.Connection(entry.server.port))) for entry in entries}
        for number in range(count + 2):
            for entry in entries:
                links[entry.name].reopen_if_closed()
                begin = time.perf_counter()
                code, text = links[entry.name].ask(entry.server.path("tokenize"), body)
                if code != 200:
                    entry.server.process.fail(f"answered {code} to a body of 4 MB: {text[:300]!r}")
                if number >= 2:
                    times[entry.name].append((time.perf_counter() - begin) * 1000)
    middle = {name: report.median(values) for name, values in times.items()}
    rows = [[entry.name, f"{middle[entry.name]:.1f}", f"{middle[entry.name] - middle[entry.direct.name]:.1f}" if entry.direct else ""]
            for entry in entries]
    return report.table(["server", "p50 ms", "added ms"], rows)


def main():
    options = arguments()
    programs.installed("wrk")
    parts = [f"{report.machine()}. wrk with one thread, {options.rounds} rounds of {options.seconds} s each."]
    model = programs.models() / f"{MODEL}.gguf"
    with stage() as started:
        entries = line_up(started, model, options.only)
        for workload in options.workloads.split(","):
            warm_up(entries, workload)
            results = {int(count): drive(entries, workload, int(count), options, started.folder) for count in options.connections.split(",")}
            parts.append(f"{TITLES[workload]}:\n\n{load_table(entries, results)}")
        parts.append(f"A body of 4 MB, one at a time (p50 of 20):\n\n{large_bodies(entries, 20)}")
    report.publish("proxy", "\n\n".join(parts), options.write)


if __name__ == "__main__":
    main()
