#!/usr/bin/env python3
"""How much memory a 0.5B-shaped model was predicted to take before its load, and what its process then occupies.

The prediction is asked for before the load (POST /v1/estimate). Measured is the engine's resident set, right after the load and
when a full pass, the whole context and all sequences have been used. Q4_0 is repacked where the CPU has a faster layout: its
weights then stand twice in the resident set, as the copy and as pages of the mapped file. Load doesn't change these numbers."""
import argparse
import concurrent.futures
import contextlib
import json
import pathlib
import re

from harness import client, programs, report, servers
from harness.processes import stage

MODELS = ("bench-0.5b-q8_0", "bench-0.5b-q4_0")
MIB = 2**20
TOLERANCE = 0.05


def arguments():
    parser = argparse.ArgumentParser(prog="script/bench memory", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--contexts", type=int, nargs="+", default=[2048, 8192], help="tokens (default %(default)s)")
    parser.add_argument("--parallel", type=int, default=8, help="sequences (default %(default)s)")
    parser.add_argument("--fill", type=float, default=0.95, help="share of the context that is used (default %(default)s)")
    parser.add_argument("--write", action="store_true", help="put the table into docs/benchmarks.md")
    return parser.parse_args()


def ask(server, path, body):
    with contextlib.closing(client.Connection(server.port, timeout=1800)) as connection:
        status, answer = connection.ask(path, json.dumps(body).encode())
    if status != 200:
        server.process.fail(f"{path} answered {status}: {answer[:300]!r}")
    return json.loads(answer)


def pid_of(server, model):
    with contextlib.closing(client.Connection(server.port)) as connection:
        connection.send("GET", "/v1/health")
        _, headers = connection.read_head()
        loaded = json.loads(connection.read_body(headers))["all_models_loaded"]
    return next(entry["pid"] for entry in loaded if entry["model_name"] == model)


def resident(pid):
    """Bytes: all, anonymous, of files."""
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return [int(re.search(rf"{name}:\s+(\d+)", text).group(1)) * 1024 for name in ("VmRSS", "RssAnon", "RssFile")]


def use_everything(server, model, context, options):
    """The whole context but for a rest, by all sequences at once."""
    tokens = int(context * options.fill / options.parallel)
    text = "word " * (3 * tokens)
    words = ask(server, "/v1/tokenize", {"model": model, "content": text})["tokens"][:tokens]
    body = {"model": model, "max_tokens": 4, "ignore_eos": True}

    def one(number):
        # A beginning of their own, so that nothing is shared.
        ask(server, "/v1/completions", {**body, "prompt": [1000 + number, *words[1:]]})
    with concurrent.futures.ThreadPoolExecutor(options.parallel) as pool:
        list(pool.map(one, range(options.parallel)))


def mib(value):
    return f"{value / MIB:.0f}"


def main():
    options = arguments()
    made = programs.models("--bench")
    machine = report.machine()
    rows, worst = [], 0.0
    with stage() as started:
        folder = servers.model_folder(started, [made / f"{model}.gguf" for model in MODELS])
        server = servers.corral_serve(started, folder, "--parallel", options.parallel)
        for model in MODELS:
            for context in options.contexts:
                load = {"model_name": model, "ctx_size": context}
                memory = ask(server, "/v1/estimate", load)["memory"]
                host = memory["devices"][0]
                ask(server, "/v1/load", load)
                pid = pid_of(server, model)
                loaded = resident(pid)
                use_everything(server, model, context, options)
                used = resident(pid)
                error = memory["resident"] / used[0] - 1
                worst = max(worst, abs(error))
                parts = (host["weights"], host["kv"], host["compute"], memory["process"], memory["mapped"], memory["resident"])
                rows.append([f"{model}, {context} tokens", *map(mib, parts), mib(loaded[0]), mib(used[0]), mib(used[1]), mib(used[2]), f"{error:+.1%}"])
                report.note(f"{model} {context}: {mib(memory['resident'])} MiB predicted, {mib(used[0])} measured")
    head = ["model", "weights MiB", "KV", "compute", "process", "mapped file", "**predicted RSS**", "RSS loaded", "**RSS used**", "anonymous", "file", "off by"]
    intro = f"{machine}. {options.parallel} sequences that fill {options.fill:.0%} of the context together."
    report.publish("memory", f"{intro}\n\n{report.table(head, rows)}", options.write)
    if worst > TOLERANCE:
        programs.give_up(f"a prediction was off by {worst:.1%}; {TOLERANCE:.0%} is promised")


if __name__ == "__main__":
    main()
