#!/usr/bin/env python3
"""How long a request for a model that isn't in memory waits for its first token, with one slot and two models in turn.

Each request names the model that the one before has driven out. Measured from the first byte sent to the first piece of
text, and to the end of the answer; llama.cpp's own router does the same with the same files."""
import argparse
import contextlib
import json
import time

from harness import client, programs, report, servers
from harness.processes import stage

MODELS = ("tiny-llama", "tiny-qwen3")
QUICKEST = ("--no-warmup", "--fit", "off")


def arguments():
    parser = argparse.ArgumentParser(prog="script/bench swap", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--swaps", type=int, default=50, help="of each server (default %(default)s)")
    parser.add_argument("--tokens", type=int, default=8, help="length of an answer (default %(default)s)")
    parser.add_argument("--pause", type=float, default=0.3, help="seconds between requests, as a warm spare needs (default %(default)s)")
    parser.add_argument("--workload", choices=("chat", "tokenize"), default="chat", help="tokenize: no stream; its answer is the first token")
    parser.add_argument("--only", help="only servers whose name holds this text")
    parser.add_argument("--write", action="store_true", help="put the table into docs/benchmarks.md")
    return parser.parse_args()


def ask(server, model, options):
    """Milliseconds to the first text and to the end."""
    if options.workload == "tokenize":
        body = {"model": model, "content": "Hello world"}
    else:
        body = {"model": model, "messages": [{"role": "user", "content": "Hi"}], "max_tokens": options.tokens, "temperature": 0,
                "ignore_eos": True, "stream": True}
    text = json.dumps(body).encode()
    first = None
    # A connection of its own for each, opened before the clock starts: some servers close it after a stream.
    with contextlib.closing(client.Connection(server.port)) as connection:
        begin = time.perf_counter()
        if options.workload == "tokenize":
            code, answer = connection.ask(server.path("tokenize"), text)
            first = time.perf_counter()
            if code != 200:
                server.process.fail(f"answered {code}: {answer[:300]!r}")
        else:
            for arrival, event in connection.events(server.path("chat"), text):
                if "error" in event:
                    server.process.fail(f"a stream ended with {event['error']}")
                if first is None and any(choice["delta"].get("content") for choice in event["choices"]):
                    first = arrival
        end = time.perf_counter()
    if first is None:
        server.process.fail(f"an answer of {model} without text")
    return (first - begin) * 1000, (end - begin) * 1000


def measure(server, options):
    first, whole = [], []
    for number in range(options.swaps + 2):
        time.sleep(options.pause)
        times = ask(server, MODELS[number % 2], options)
        if number >= 2:  # both files are in the page cache by then
            first.append(times[0])
            whole.append(times[1])
    return first, whole


def main():
    options = arguments()
    made = programs.models()
    makers = {
        "**corral serve**": lambda on, at: servers.corral_serve(on, at, "--max-loaded-models", "1"),
        "corral serve, no warm spare": lambda on, at: servers.corral_serve(on, at, "--max-loaded-models", "1", "--no-warm-spare"),
        "llama-server router": lambda on, at: servers.llama_router(on, at, "--models-max", "1"),
        f"llama-server router, `{' '.join(QUICKEST)}`": lambda on, at: servers.llama_router(on, at, "--models-max", "1", *QUICKEST),
    }
    head = ["server", "first token p50 ms", "p90", "whole answer p50 ms", "p90"]
    rows = []
    machine = report.machine()
    for name, make in makers.items():
        if options.only and options.only not in name:
            continue
        with stage() as started:  # one at a time: nothing else runs beside it
            folder = servers.model_folder(started, [made / f"{model}.gguf" for model in MODELS])
            first, whole = measure(make(started, folder), options)
        numbers = [report.median(first), report.percentile(first, 0.9), report.median(whole), report.percentile(whole, 0.9)]
        rows.append([name, *(f"{number:.1f}" for number in numbers)])
        report.note(f"{name}: first token p50 {numbers[0]:.1f} ms, p90 {numbers[1]:.1f} ms")
    what = f"streamed chat answers of {options.tokens} tokens" if options.workload == "chat" else "requests to tokenise two words"
    intro = f"{machine}. {options.swaps} swaps each between {' and '.join(MODELS)}, {what}, {options.pause * 1000:.0f} ms between requests."
    report.publish("swap", f"{intro}\n\n{report.table(head, rows)}", options.write)


if __name__ == "__main__":
    main()
