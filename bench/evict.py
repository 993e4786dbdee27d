#!/usr/bin/env python3
"""How long an idle model takes to leave memory, and whether five that leave together take longer than one.

The event stream tells when a process is told to end (status "evicting") and when its slot is free again ("gone"): "leaving" is the
time from the first of these to the last. "Answer" is the time from an unload's request to its answer."""
import argparse
import contextlib
import json
import queue
import shutil
import threading
import time

from harness import client, programs, report, servers
from harness.processes import stage

MODEL = "tiny-llama"
COUNT = 5
NAMES = [f"model-{number}" for number in range(COUNT + 1)]


def arguments():
    parser = argparse.ArgumentParser(prog="script/bench evict", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=40, help="of each row (default %(default)s)")
    parser.add_argument("--pause", type=float, default=0.3, help="seconds before each, as a warm spare needs (default %(default)s)")
    parser.add_argument("--write", action="store_true", help="put the table into docs/benchmarks.md")
    return parser.parse_args()


class Leavings:
    """Follows the event stream beside us."""

    def __init__(self, server):
        self._moves = queue.Queue()
        self._connection = client.Connection(server.port)
        threading.Thread(target=self._follow, daemon=True).start()
        self._moves.get()  # the snapshot: from now on nothing is missed

    def _follow(self):
        with contextlib.suppress(OSError):
            for arrival, event in self._connection.events("/v1/events"):
                self._moves.put((arrival, event.get("status")))

    def take(self, count):
        """Milliseconds from the first decision until the slots of `count` models are free."""
        begin = end = None
        while count:
            arrival, status = self._moves.get(timeout=60)
            if status == "evicting" and begin is None:
                begin = arrival
            if status == "gone":
                end = arrival
                count -= 1
        return (end - begin) * 1000


class House:
    def __init__(self, server, options):
        self.server, self.options = server, options
        self.leavings = Leavings(server)

    def post(self, path, body):
        """Milliseconds."""
        with contextlib.closing(client.Connection(self.server.port)) as connection:
            begin = time.perf_counter()
            code, answer = connection.ask(path, json.dumps(body).encode())
            took = (time.perf_counter() - begin) * 1000
        if code != 200:
            self.server.process.fail(f"{path} answered {code}: {answer[:300]!r}")
        return took

    def have(self, count):
        for name in NAMES[:count]:
            self.post("/v1/load", {"model_name": name})
        time.sleep(self.options.pause)

    def for_another(self):
        self.have(COUNT)
        self.post("/v1/load", {"model_name": NAMES[COUNT]})
        leaving = self.leavings.take(1)
        self.unload_all(COUNT)
        return leaving, None

    def unload_all(self, count):
        answer = self.post("/v1/unload", {})
        return self.leavings.take(count), answer

    def together(self, count):
        self.have(count)
        return self.unload_all(count)

    def by_name(self):
        self.have(1)
        answer = self.post("/v1/unload", {"model_name": NAMES[0]})
        return self.leavings.take(1), answer


def cells(times):
    if None in times:
        return ["–", "–"]
    return [f"{report.median(times):.1f}", f"{report.percentile(times, 0.9):.1f}"]


def main():
    options = arguments()
    made = programs.models()
    machine = report.machine()
    rows = []
    with stage() as started:
        folder = started.folder / "models"
        folder.mkdir()
        # Copies of one file: only their number differs between rows.
        for name in NAMES:
            shutil.copy(made / f"{MODEL}.gguf", folder / f"{name}.gguf")
        house = House(servers.corral_serve(started, folder, "--max-loaded-models", COUNT), options)
        kinds = {
            "**one of five, for the slot of another**": house.for_another,
            "one, unloaded by name": house.by_name,
            "unload of all: one": lambda: house.together(1),
            f"unload of all: {COUNT}": lambda: house.together(COUNT),
        }
        for what, measure in kinds.items():
            measure()  # the first of its kind finds files cold
            leaving, answers = zip(*(measure() for _ in range(options.rounds)))
            rows.append([what, *cells(leaving), *cells(answers)])
            report.note(f"{what}: leaving p50 {report.median(leaving):.1f} ms")
    head = ["what leaves", "leaving p50 ms", "p90", "answer p50 ms", "p90"]
    intro = f"{machine}. {options.rounds} times each, idle processes of {MODEL}. Goals: below 15 ms for one, and five in about the time of one."
    report.publish("evict", f"{intro}\n\n{report.table(head, rows)}", options.write)


if __name__ == "__main__":
    main()
