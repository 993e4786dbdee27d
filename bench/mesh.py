#!/usr/bin/env python3
"""A mesh of three on one machine: joining, deaths, cuts, healing, requests through a peer, what local requests notice.

Each node is a `corral serve` in a network namespace of its own (needs root). Deaths, speeds and local requests are measured over a
bridge, cuts over a wire (docs/modules/test-network.md). What is compared is measured in interleaved pairs; intervals are of 95 %."""
import argparse
import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import threading
import time

from harness import load, mesh, pairs, plain_tls, programs, prompts, report
from harness.lab import Lab
from harness.processes import cpu_seconds, resident_bytes, stage

MODEL = "tiny-llama"
OTHERS = ("scripted-hello", "tiny-qwen3")
TOKENS = 64
STREAMS = 8
PLAIN_PORT = 9000


def arguments():
    parser = argparse.ArgumentParser(prog="script/bench mesh", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20, help="of joins, deaths, cuts (default %(default)s)")
    parser.add_argument("--pairs", type=int, default=1000, help="of small requests (default %(default)s)")
    parser.add_argument("--runs", type=int, default=12, help="pairs of runs of 8 streams (default %(default)s)")
    parser.add_argument("--copies", type=int, default=6, help="of a file of a GiB (default %(default)s)")
    parser.add_argument("--watch", type=float, default=60, help="seconds in which nothing may flap, and of idling (default %(default)s)")
    parser.add_argument("--only", default="", help=f"some of {', '.join(ROWS)}")
    parser.add_argument("--write", action="store_true", help="put the table into docs/benchmarks.md")
    return parser.parse_args()


class House:
    """A mesh of three: a has one model, b two, c one."""

    def __init__(self, options, medium="bridge", *flags, joined=True):
        self.options, self.medium, self.flags, self.joined = options, medium, flags, joined

    def __enter__(self):
        self._stack = contextlib.ExitStack()
        self.stage = self._stack.enter_context(stage())
        self.lab = Lab(self.stage, ("a", "b", "c", "solo"), self.medium)
        made = programs.models()
        self.files = {name: made / f"{name}.gguf" for name in (MODEL, *OTHERS)}
        has = {"a": OTHERS[:1], "b": (MODEL,), "c": OTHERS[1:]}
        self.a, self.b, self.c = (self.node(name, *has[name]) for name in "abc")
        if self.joined:
            self.make()
        return self

    def make(self):
        mesh.make(self.a, self.b, self.c)
        self.all_visible()

    def __exit__(self, *error):
        return self._stack.__exit__(*error)

    def node(self, name, *models, flags=()):
        return mesh.Node(self.stage, self.lab, name, [self.files[model] for model in models], *self.flags, *flags)

    def nodes(self):
        return self.a, self.b, self.c

    def visible(self):
        return [(lambda node=node: node.sees((MODEL, *OTHERS)), "it sees all models", node) for node in self.nodes()]

    def all_visible(self):
        return mesh.all_when(self.visible())

    def gone(self, which, at):
        return [(lambda node=node: node.reach(which) != "linked", f"{which.name} is gone", node) for node in at]

    def linked(self, which, at):
        return [(lambda node=node: node.reach(which) == "linked", f"{which.name} is linked", node) for node in at]


def millis(begin, moments):
    return (max(moments) - begin) * 1000


def joins(options):
    times = []
    with House(options) as house:
        for _ in range(options.rounds):
            house.c.post("/v1/mesh/leave", {})
            house.c.kill()
            house.c.again(new=True)
            mesh.all_when(house.gone(house.c, (house.a, house.b)))
            begin = time.monotonic()  # the token is made and entered
            house.c.join(house.a)
            times.append(millis(begin, house.all_visible()))
    return [["join: token entered → all models visible at all three", pairs.spread(times), "< 1 s"]]


def deaths(options):
    gone, back = [], []
    with House(options) as house:
        for _ in range(options.rounds):
            begin = time.monotonic()
            house.c.process.child.kill()
            gone.append(millis(begin, mesh.all_when(house.gone(house.c, (house.a, house.b)))))
            house.c.process.child.wait()
            house.c.again()
            begin = time.monotonic()
            back.append(millis(begin, house.all_visible()))
    return [["node killed -9 → gone from the catalog of linked nodes", pairs.spread(gone), "< 100 ms"],
            ["started again, answers → all models visible at all three", pairs.spread(back), "–"]]


class Flaps:
    """Changes of how nodes reach each other while it is watched."""

    def __init__(self, nodes):
        self.nodes = nodes

    def picture(self):
        return [[(seen["id"], seen["reach"], seen["since"]) for seen in node.get("/v1/mesh/nodes")["nodes"]] for node in self.nodes]

    @staticmethod
    def differ(one, other):
        """The moments are read off a clock each time: some milliseconds don't count."""
        return any(a[:2] != b[:2] or abs(a[2] - b[2]) > 100 for row, before in zip(one, other) for a, b in zip(row, before))

    def count(self, seconds):
        flaps, last, end = 0, self.picture(), time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(0.05)
            now = self.picture()
            flaps += self.differ(now, last)
            last = now
        return flaps


def cuts(options):
    rows = []
    with House(options, "wire") as house:
        a, b, c = house.nodes()
        kinds = {
            "cut both ways": (("path c * cut=1", "path * c cut=1"), house.gone(c, (a, b)) + house.gone(a, (c,))),
            "nothing comes from the node": (("path c * cut=1",), house.gone(c, (a, b)) + house.gone(a, (c,))),
            "nothing comes to the node": (("path * c cut=1",), house.gone(c, (a, b)) + house.gone(a, (c,))),
            "pair cut, a third reaches both": (("path a c cut=1", "path c a cut=1"),
                                               [(lambda: a.reach(c) != "linked", "no link", a), (lambda: c.reach(a) != "linked", "no link", c)]),
        }
        for what, (commands, conditions) in kinds.items():
            lost, healed, flaps = [], [], 0
            for number in range(options.rounds):
                begin = time.monotonic()
                for command in commands:
                    house.lab.ask(command)
                lost.append(millis(begin, mesh.all_when(conditions)))
                # Who is dialled in vain settles first; then nothing changes.
                time.sleep(1)
                flaps += Flaps(house.nodes()).count(options.watch if number == 0 else 1)
                begin = time.monotonic()
                house.lab.heal()
                healed.append(millis(begin, mesh.all_when(house.linked(c, (a, b)) + house.linked(a, (c,)))))
                house.all_visible()
            report.note(f"{what}: {lost} healed {healed}")
            rows.append([f"{what} → not routed to", pairs.spread(lost), "< 2,500 ms"])
            rows.append([f"{what}: flaps in {options.watch:g} s", flaps, "0"])
            rows.append([f"{what}, healed → linked", pairs.spread(healed), "< 1 s"])
    return rows


def chat(model, tokens=1, stream=True):
    return json.dumps({"model": model, "messages": [{"role": "user", "content": "Hi"}], "max_tokens": tokens, "temperature": 0, "stream": stream}).encode()


def first_byte(connection, body):
    """Milliseconds from the request to the first event of its answer."""
    connection.reopen_if_closed()
    begin = time.perf_counter()
    arrivals = [arrival for arrival, _ in connection.events("/v1/chat/completions", body)]
    return (arrivals[0] - begin) * 1000


def first_bytes(options):
    with House(options, "bridge", "--host", "0.0.0.0", "--allow-open") as house:
        direct = house.a.connection(host=house.lab.address["b"])  # the same client, on the same machine
        through = house.a.connection()
        body = chat(MODEL)
        found = []
        for number in range(options.pairs + 20):
            order = (direct, through) if number % 2 else (through, direct)
            times = {connection: first_byte(connection, body) for connection in order}
            if number >= 20:
                found.append((times[direct], times[through]))
        added = pairs.interval([through - direct for direct, through in found])
        plain = report.median([direct for direct, _ in found])
    return [[f"first byte through a peer, added to {plain:.2f} ms", pairs.text(added, 3, " ms"), "< 1 ms"]]


def streams(options):
    bench = programs.models("--bench") / "bench-0.5b-q8_0.gguf"
    with House(options) as house:
        house.files["bench"] = bench
        (house.b.models / "bench.gguf").symlink_to(bench)
        house.b.kill()
        house.b.again()
        mesh.when(lambda: house.a.sees(["bench"]), "a sees it", house.a)
        house.b.post("/v1/load", {"model_name": "bench"})
        asked = [load.request(f"s{number}", prompts.completion([300 + number] * 32, TOKENS)) for number in range(STREAMS)]
        rates = []
        for number in range(options.runs + 1):
            order = (house.b, house.a) if number % 2 else (house.a, house.b)
            got = {node: load.run(node, asked).decode_rate() for node in order}
            if number:
                rates.append((got[house.b], got[house.a]))
        ratio = pairs.between(rates, lambda direct, through: sum(through) / sum(direct))
        rate = report.median([direct for direct, _ in rates])
    return [[f"tokens/s of {STREAMS} streams through a peer, of {rate:.0f} direct", pairs.text(ratio, 3), "interval above 0.95"]]


def compared(one, other, count, body):
    """Milliseconds of pairs of the same small request, (one, other)."""
    found = []
    with contextlib.closing(one.connection()) as first, contextlib.closing(other.connection()) as second:
        for number in range(count + 20):
            order = (first, second) if number % 2 else (second, first)
            times = {}
            for connection in order:
                begin = time.perf_counter()
                code, answer = connection.ask("/v1/chat/completions", body)
                times[connection] = (time.perf_counter() - begin) * 1000
                if code != 200:
                    one.process.fail(f"answered {code}: {answer[:300]!r}")
            if number >= 20:
                found.append((times[first], times[second]))
    return found


def local_rows(state, found, before):
    ratio = pairs.against(found, before, lambda ones, others: report.median(others) / report.median(ones))
    tail = pairs.against(found, before, lambda ones, others: pairs.p99(others) / pairs.p99(ones))
    most = 1 + max(0.05, 0.2 / pairs.p99([one for one, _ in before]))
    return [[f"local requests, mesh {state}: p50, of that without", pairs.text(ratio, 3), "0.95 … 1.05"],
            [f"local requests, mesh {state}: p99, of that without", pairs.text(tail, 3), f"≤ {most:.2f}"]]


def local(options):
    rows, body = [], chat(OTHERS[0], stream=False)
    with House(options, joined=False) as house:
        solo = house.node("solo", OTHERS[0])
        before = compared(solo, house.a, options.pairs, body)
        house.make()
        rows += local_rows("on", compared(solo, house.a, options.pairs, body), before)
        leaving = threading.Event()

        def join_and_leave():
            while not leaving.is_set():
                house.c.post("/v1/mesh/leave", {})
                house.c.join(house.a)
        beside = threading.Thread(target=join_and_leave, daemon=True)
        beside.start()
        rows += local_rows("with a node that joins and leaves", compared(solo, house.a, options.pairs, body), before)
        leaving.set()
        beside.join()
        house.b.kill()
        house.c.kill()
        rows += local_rows("broken (both others killed)", compared(solo, house.a, options.pairs, body), before)
    return rows


def idle(options):
    with House(options) as house:
        solo = house.node("solo", OTHERS[0])
        nodes = (*house.nodes(), solo)
        time.sleep(3)
        before = {node.name: cpu_seconds(node.processes()) for node in nodes}
        time.sleep(options.watch)
        used = {node.name: (cpu_seconds(node.processes()) - before[node.name]) / options.watch * 100 for node in nodes}
        memory = {node.name: sum(resident_bytes(pid) for pid in node.processes()) / 2**20 for node in nodes}
    added = [used[name] - used["solo"] for name in "abc"]
    more = [memory[name] - memory["solo"] for name in "abc"]
    return [["an idle mesh of three adds to each node, memory", pairs.spread(more, 1, " MiB"), "≤ 25 MiB"],
            ["and processor time, of a core", pairs.spread(added, 2, " %"), "≤ 0.5 %"]]


def copied(house, model):
    """Seconds from the order for a copy at c until the model is whole there."""
    def state():
        return next((copy for copy in house.c.get("/v1/mesh/copies")["copies"] if copy["model"] == model), {"state": "unknown"})
    begin = time.monotonic()
    house.c.post("/v1/mesh/pull", {"model": model}, allowed=(200, 202))
    while (now := state())["state"] not in ("done", "failed"):
        time.sleep(0.005)
    if now["state"] != "done":
        house.c.process.fail(f"the copy ended: {now}")
    return time.monotonic() - begin


def after_rest(house, measure, size):
    """What the one before it has left to write, and to read once more, must not cost the next one; nor must memory that
    this machine has never touched, which it gets from its host page by page."""
    def used():
        return sum(cpu_seconds(node.processes()) for node in house.nodes())
    touched = house.stage.folder / "touched"
    with touched.open("wb") as file:
        for _ in range(2 * size // 2**20):
            file.write(b"x" * 2**20)
    touched.unlink()
    os.sync()
    before = used()
    while time.sleep(0.5) or (now := used()) - before > 0.02:
        before = now
    return measure()


def copies(options):
    rates = []
    with House(options) as house:
        # Weights of 16 bits: about a GiB.
        large = house.b.models / "large.gguf"
        subprocess.run([programs.llama("llama-quantize"), "--allow-requantize", programs.models("--bench") / "bench-0.5b-q8_0.gguf", large, "f16"],
                       check=True, capture_output=True)
        size = large.stat().st_size
        house.b.kill()
        house.b.again()
        house.all_visible()
        script = pathlib.Path(plain_tls.__file__)
        giver = house.stage.start("plain-tls", [programs.wire(), "enter", house.b.space, sys.executable, script, "give", large,
                                                plain_tls.certificate(house.stage.folder), PLAIN_PORT])
        taken = house.stage.folder / "taken.gguf"
        take = [programs.wire(), "enter", house.c.space, sys.executable, script, "take", taken, house.lab.address["b"], PLAIN_PORT]

        def plain():
            begin = time.monotonic()
            if subprocess.run([str(word) for word in take]).returncode != 0:
                giver.fail("the plain stream broke")
            took = time.monotonic() - begin
            if taken.stat().st_size != size:
                giver.fail("the plain stream was cut")
            taken.unlink()
            return took

        for number in range(options.copies + 1):
            house.c.post("/v1/mesh/leave", {})
            house.c.kill()
            shutil.rmtree(house.stage.folder / f"c-{house.c.life}", ignore_errors=True)
            house.c.again(new=True)
            house.c.join(house.a)
            house.all_visible()
            # It can be copied once it is hashed where it is.
            mesh.when(lambda: any(model["id"] == "large" and model["content"] for model in house.c.get("/v1/mesh/models")["models"]),
                      "its content is known", house.c)
            order = [plain, lambda: copied(house, "large")]
            took = {measure: after_rest(house, measure, size) for measure in (order if number % 2 else reversed(order))}
            alone, copy = (took[measure] for measure in order)
            report.note(f"copy {copy:.2f} s, plain {alone:.2f} s")
            if number:
                rates.append((size / alone, size / copy))
        ratio = pairs.between(rates, lambda alone, copy: report.median(copy) / report.median(alone))
        rate = report.median([alone for alone, _ in rates]) / 1e6
    return [[f"copy of {size / 2**30:.2f} GiB, MB/s of {rate:.0f} in a plain TLS stream into a file", pairs.text(ratio, 2), "≥ 0.8"]]


ROWS = {"joins": joins, "deaths": deaths, "cuts": cuts, "first_byte": first_bytes, "streams": streams, "local": local, "idle": idle,
        "copies": copies}


def main():
    options = arguments()
    machine = report.machine()
    chosen = options.only.split(",") if options.only else list(ROWS)
    rows = [row for name in chosen for row in ROWS[name](options)]
    text = (f"{machine}. Three nodes and their clients on it; {options.rounds} rounds, {options.pairs} pairs of small requests, "
            f"{options.runs} pairs of runs of {STREAMS} streams.\n\n{report.table(['what', 'measured', 'goal'], rows)}")
    report.publish("mesh", text, options.write)


if __name__ == "__main__":
    main()
