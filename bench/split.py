#!/usr/bin/env python3
"""A model whose layers two machines compute: through the mesh's tunnel, and by llama.cpp's own RPC without one.

Both engines are the same program with the same half of the layers, on one machine of a lab, and both halves are computed on the other
(docs/modules/test-network.md; needs root): one by a locked-in worker behind the tunnel, one by llama.cpp's rpc-server, which is asked in
the clear. Rates are measured in interleaved pairs; intervals are of 95 %."""
import argparse
import contextlib
import pathlib
import subprocess
import threading
import time

from harness import load, mesh, pairs, programs, prompts, report
from harness.lab import Lab, command, inside
from harness.processes import resident_bytes, stage
from harness.servers import corral_engine, corral_worker

PROMPT = 32
LONG_PROMPT = 512
DOOR, PLAIN = "10.77.0.2:8100", 50052
TRIPS = (0, 1, 5)  # ms


def arguments():
    parser = argparse.ArgumentParser(prog="script/bench split", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20, help="pairs of runs at each round trip (default %(default)s)")
    parser.add_argument("--tokens", type=int, default=64, help="of each answer (default %(default)s)")
    parser.add_argument("--loads", type=int, default=5, help="pairs of loads at each round trip (default %(default)s)")
    parser.add_argument("--rounds", type=int, default=10, help="of deaths and cuts (default %(default)s)")
    parser.add_argument("--only", default="", help=f"some of {', '.join(ROWS)}")
    parser.add_argument("--model", metavar="FILE", help="a GGUF file instead of the made one")
    parser.add_argument("--write", action="store_true", help="put the table into docs/benchmarks.md")
    return parser.parse_args()


class House:
    """a has the engines, b what computes for them."""

    def __init__(self, options):
        self.model = pathlib.Path(options.model) if options.model else programs.models("--bench") / "bench-0.5b-q8_0.gguf"
        self.made = 0

    def __enter__(self):
        self._stack = contextlib.ExitStack()
        self.stage = self._stack.enter_context(stage())
        self.lab = Lab(self.stage, ("a", "b"), "wire")
        return self

    def __exit__(self, *error):
        return self._stack.__exit__(*error)

    def name(self, what):
        self.made += 1
        return f"{what} {self.made}"

    def round_trip(self, millis):
        self.lab.heal()
        if millis:
            self.lab.both("a", "b", f"delay={millis / 2}")

    def engine(self, endpoint=None):
        """Without an endpoint the whole model is its own."""
        remote = {"remotes": [{"name": "b", "endpoint": endpoint, "share": 1}], "own_share": 1} if endpoint else {}
        return corral_engine(self.stage, self.model, self.name("engine"), self.lab.space["a"], ctx_size=2048, parallel=4, threads=1,
                             speculative=0, **remote)

    def tunnel(self):
        """A worker, and a tunnel to it."""
        worker = corral_worker(self.stage, self.name("worker"), self.lab.space["b"])
        door = self.ends("door", "b", DOOR, worker.socket)
        entry = self.ends("entry", "a", "10.77.0.1:8100", DOOR)
        return Tunnel(worker, door, entry, entry.said.split()[1])

    def ends(self, role, where, *words):
        folder = self.stage.folder / self.name(role).replace(" ", "-")
        words = command(self.lab.space[where], [programs.tunnel(), role, str(folder), *map(str, words)])
        child = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.stage.adopt(child)  # closes its input, and it ends
        child.said = child.stdout.readline().strip()
        if not child.said:
            programs.give_up(f"corral-tunnel {role} said nothing")
        return child

    def plain(self):
        """llama.cpp's own server of a device."""
        words = [programs.llama("ggml-rpc-server"), "-t", "1", "-H", "0.0.0.0", "-p", str(PLAIN), "-d", "CPU"]
        server = self.stage.start(self.name("rpc-server"), command(self.lab.space["b"], words))
        with inside(self.lab.space["b"]):
            server.wait_for_port(PLAIN)
        return server, f"{self.lab.address['b']}:{PLAIN}"


class Tunnel:
    def __init__(self, worker, door, entry, endpoint):
        self.worker, self.door, self.entry, self.endpoint = worker, door, entry, endpoint

    def close(self):
        for child in (self.entry, self.door):
            child.stdin.close()
            child.wait()
        self.worker.process.stop()


def rate(server, number, tokens, streams=1, prompt=PROMPT):
    asked = [load.request(f"s{stream}", prompts.completion([300 + number + stream] * prompt, tokens)) for stream in range(streams)]
    return load.run(server, asked)


def prompt_rate(server, number):
    """Of a prompt that the server hasn't seen."""
    return LONG_PROMPT / rate(server, number, 1, prompt=LONG_PROMPT).first_token()


def compared(measure, first, second, count):
    """Pairs of `measure(server, number)`, (first, second), after one of each that doesn't count."""
    found = []
    for number in range(count + 1):
        order = (first, second) if number % 2 else (second, first)
        got = {server.port: measure(server, number) for server in order}
        if number:
            found.append((got[first.port], got[second.port]))
    return found


def ratio_of(found):
    return pairs.between(found, lambda plain, tunnel: report.median(tunnel) / report.median(plain))


def both(house):
    """An engine behind a tunnel, and one that asks llama.cpp's server."""
    tunnel = house.tunnel()
    _, place = house.plain()
    return house.engine(tunnel.endpoint), house.engine(place)


def speeds(options):
    rows = []
    with House(options) as house:
        through, direct = both(house)
        alone = house.engine()
        texts = {rate(engine, 7, 200).streams[0].text for engine in (through, direct)}
        equal = "the same" if len(texts) == 1 else "DIFFERENT"
        rows.append(["answers of 200 tokens, through the tunnel and without it", equal, "the same"])
        whole = report.median([rate(alone, number, options.tokens).decode_rate() for number in range(5)])
        for trip in TRIPS:
            house.round_trip(trip)
            found = compared(lambda engine, number: rate(engine, number, options.tokens).decode_rate(), direct, through, options.runs)
            plain, tunnelled = (report.median(column) for column in zip(*found))
            rows.append([f"tokens/s, {trip} ms: {tunnelled:.1f} through the tunnel, of {plain:.1f} without ({whole:.1f} on one machine)",
                         pairs.text(ratio_of(found), 3), "≥ 0.95"])
            report.note(f"{rows[-1]}")
    return rows


def batches(options):
    """Several streams together, and prompts: fewer round trips for each token, more bytes."""
    rows, runs = [], max(4, options.runs // 4)
    with House(options) as house:
        through, direct = both(house)
        for trip in TRIPS:
            house.round_trip(trip)
            found = compared(lambda engine, number: rate(engine, number, options.tokens, 4).decode_rate(), direct, through, runs)
            plain, tunnelled = (report.median(column) for column in zip(*found))
            what = f"4 streams together, {trip} ms: {tunnelled:.1f} tokens/s, of {plain:.1f}"
            rows.append([what, pairs.text(ratio_of(found), 3), "≥ 0.95"])
            first = 1000 * (1 + trip)
            found = compared(lambda engine, number: prompt_rate(engine, first + 10 * number), direct, through, runs)
            plain, tunnelled = (report.median(column) for column in zip(*found))
            what = f"prompt of {LONG_PROMPT} tokens, {trip} ms: {tunnelled:.0f} tokens/s, of {plain:.0f}"
            rows.append([what, pairs.text(ratio_of(found), 3), "≥ 0.95"])
            report.note(f"{rows[-2:]}")
    return rows


def loads(options):
    """Seconds until an engine is ready, without any cache of weights at the worker."""
    rows = []
    for trip in TRIPS:
        with House(options) as house:
            house.round_trip(trip)
            tunnel = house.tunnel()
            server, place = house.plain()
            found = []
            for number in range(options.loads + 1):
                took = {}
                for endpoint in (tunnel.endpoint, place) if number % 2 else (place, tunnel.endpoint):
                    begin = time.monotonic()
                    engine = house.engine(endpoint)
                    took[endpoint] = time.monotonic() - begin
                    engine.process.stop()
                if number:
                    found.append((took[place], took[tunnel.endpoint]))
        plain, tunnelled = (report.median(column) for column in zip(*found))
        report.note(f"load, {trip} ms: {found}")
        what = f"load, {trip} ms: {tunnelled:.2f} s through the tunnel, of {plain:.2f} s without"
        rows.append([what, pairs.text(ratio_of(found), 2), "–"])
    return rows


def broken_after(house, what):
    """Milliseconds from `what(tunnel, engine)`, in the middle of an answer, until the engine has ended."""
    tunnel = house.tunnel()
    engine = house.engine(tunnel.endpoint)
    long = [load.request("s", prompts.completion([301] * PROMPT, 1500))]
    asked = threading.Thread(target=lambda: load.run(engine, long, failures_allowed=True))
    asked.start()
    time.sleep(1)
    begin = time.monotonic()
    what(tunnel, engine)
    engine.process.child.wait(30)
    took = (time.monotonic() - begin) * 1000
    asked.join()
    house.lab.heal()
    tunnel.close()
    return took


def deaths(options):
    kinds = {
        "worker killed -9 in the middle of an answer": lambda house: lambda tunnel, engine: tunnel.worker.process.child.kill(),
        "the worker's node killed -9": lambda house: lambda tunnel, engine: tunnel.door.kill(),
        "link cut both ways": lambda house: lambda tunnel, engine: house.lab.both("a", "b", "cut=1"),
        "link cut, nothing comes from the worker": lambda house: lambda tunnel, engine: house.lab.ask("path b a cut=1"),
        "link cut, nothing comes to the worker": lambda house: lambda tunnel, engine: house.lab.ask("path a b cut=1"),
    }
    rows = []
    with House(options) as house:
        for what, act in kinds.items():
            took = [broken_after(house, act(house)) for _ in range(options.rounds)]
            report.note(f"{what}: {took}")
            rows.append([f"{what} → the engine has ended", pairs.spread(took), "< 3,000 ms"])
    return rows


def apart(predicted, measured):
    """How far a prediction is from what came, in percent of what came."""
    return f"{100 * (predicted - measured) / measured:+.1f} %"


class Village:
    """Two nodes of a mesh: a has the model, b another one, so that both know how fast they are."""

    def __init__(self, options):
        self.options = options

    def __enter__(self):
        self._stack = contextlib.ExitStack()
        self.stage = self._stack.enter_context(stage())
        self.lab = Lab(self.stage, ("a", "b"), "wire")
        made = programs.models("--bench")
        self.model = pathlib.Path(self.options.model) if self.options.model else made / "bench-0.5b-q8_0.gguf"
        own = {"a": self.model, "b": made / "bench-0.5b-q4_0.gguf"}
        self.nodes = [mesh.Node(self.stage, self.lab, name, [file], "--threads", "1", "--speculative", "0") for name, file in own.items()]
        mesh.make(*self.nodes)
        for node, file in zip(self.nodes, own.values()):
            self.alone = [self.rate(node, file.stem, number) for number in range(4)]
            node.post("/v1/unload", {"model": file.stem})
        return self

    def __exit__(self, *error):
        return self._stack.__exit__(*error)

    def rate(self, node, model, number):
        """Tokens per second of one answer, the first one aside."""
        asked = load.request("s", prompts.completion([500 + number] * PROMPT, self.options.tokens) | {"model": model})
        return load.run(node, [asked]).decode_rate()

    def predicted(self):
        """What `corral mesh plan` says of the group that is running."""
        a = self.nodes[0]
        plan = {}

        def running():
            plan.update(a.get(f"/v1/mesh/plan/{self.model.stem}"))
            return plan["groups"] and plan["groups"][0]["running"]
        mesh.when(running, "its group is running", a)
        return plan["groups"][0]

    def held(self, node, what):
        """Resident bytes of a node's children of one kind."""
        words = [(pid, pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")) for pid in node.family()]
        return max(resident_bytes(pid) for pid, argv in words if what in argv)


def predictions(options):
    rows = []
    with Village(options) as village:
        a, b = village.nodes
        for trip in TRIPS:
            village.lab.heal()
            if trip:
                village.lab.both("a", "b", f"delay={trip / 2}")
            time.sleep(15)  # round trips and rates are told now and then
            begin = time.monotonic()
            a.post("/v1/load", {"model": village.model.stem, "split": ["a", "b"]})
            took, group = time.monotonic() - begin, village.predicted()
            came = report.median([village.rate(a, village.model.stem, number) for number in range(max(4, options.runs // 4))])
            said = group["tokens_per_second"]
            # Buffers are there once they were used: as many tokens as a pass takes.
            load.run(a, [load.request("s", prompts.completion([900 + trip] * 1400, 8) | {"model": village.model.stem})])
            rows.append([f"tokens/s predicted, {trip} ms: {said:.1f}, of {came:.1f} that came", apart(said, came), "15 %"])
            for share in group["shares"]:
                node, what = (a, b"engine") if share["node"] == "a" else (b, b"rpc-worker")
                held, told = village.held(node, what), share["memory_bytes"]
                name = f"memory predicted at {share['node']}, {trip} ms: {told / 1e6:.0f} MB, of {held / 1e6:.0f} MB that it holds"
                rows.append([name, apart(told, held), "5 %"])
            report.note(f"{rows} load {took:.1f} s")
            a.post("/v1/unload", {"model": village.model.stem})
    return rows


ROWS = {"predictions": predictions, "speeds": speeds, "batches": batches, "loads": loads, "deaths": deaths}


def main():
    options = arguments()
    machine = report.machine()
    chosen = options.only.split(",") if options.only else list(ROWS)
    rows = [row for name in chosen for row in ROWS[name](options)]
    text = (f"{machine}. Two machines of one core each; {options.runs} pairs of answers of {options.tokens} tokens, "
            f"{options.loads} pairs of loads, {options.rounds} rounds of deaths.\n\n{report.table(['what', 'measured', 'goal'], rows)}")
    report.publish("split", text, options.write)


if __name__ == "__main__":
    main()
