#!/usr/bin/env python3
"""Pictures in chats: first tokens, text streams beside them, and conversations that return, beside llama-server with the same projector.

Both servers run all the time and are asked the same in turn, round by round, with the same slots, KV cells and threads. The models are
made ones: a 0.5B-shaped one and a projector of CLIP's shape with 86 million weights (576 embeddings of a picture). --quick takes tiny
models of three architectures: a first look that tells whether everything works, not how fast."""
import argparse
import os
import pathlib
import random
import time

from engine.common import counted, milliseconds
from engine.slow_reader import stats
from harness import load, pairs, pictures, programs, report, servers
from harness.processes import stage
from harness.prompts import chat, completion

TINY = ("tiny-vision", "tiny-siglip", "tiny-mrope")
SIZE = (640, 480)  # of a picture, in pixels
LETTERS = "abcdefghijklmnoprstuvwxy"  # each is a token with the space before it, in the byte-pair vocabularies of GPT-2's kind
QUESTION = 24  # tokens
STREAMS, PROMPT = 4, 32
LEAST, LONGEST = 100, 1000  # tokens of a stream
BESIDE = 4  # pictures beside the streams
IN_CONVERSATION = 4
CELLS, SLOTS = 6144, STREAMS + 1
# Tokens of the prompts between: one takes the cells of all others. llama-server releases its cells with the next request,
# and needs free ones to restore a conversation.
BETWEEN = (CELLS - 64, PROMPT)


def arguments():
    parser = argparse.ArgumentParser(prog="script/bench vision", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(PARTS), metavar="PART,PART", help="only these measurements (default %(default)s)")
    parser.add_argument("--model", type=pathlib.Path, metavar="FILE", help="a GGUF file instead of the made one")
    parser.add_argument("--projector", type=pathlib.Path, metavar="FILE", help="that of --model")
    parser.add_argument("--threads", type=int, metavar="N", default=len(os.sched_getaffinity(0)),
                        help="that compute, for both (default: all cores, here %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="of each measurement; medians count (default %(default)s)")
    parser.add_argument("--quick", action="store_true", help="tiny models, two rounds")
    parser.add_argument("--write", action="store_true", help="put the table into docs/benchmarks.md")
    options = parser.parse_args()
    options.only = options.only.split(",")
    for name in options.only:
        if name not in PARTS:
            parser.error(f"there is no measurement '{name}'; known are {', '.join(PARTS)}")
    if (options.model is None) != (options.projector is None):
        parser.error("--model and --projector need each other")
    if options.quick and options.write:
        parser.error("what --quick finds isn't worth writing down")
    if options.quick:
        options.rounds = 2
    return options


def models(options, folder):
    """Pairs of a model and its projector."""
    if options.model:
        return [(options.model, options.projector)]
    if options.quick:
        made = programs.models_of_kind("vision", folder)
        return [(made / f"{name}.gguf", made / f"mmproj-{name}.gguf") for name in TINY]
    return [(programs.models("--bench") / "bench-0.5b-q8_0.gguf", programs.models("--bench-vision") / "mmproj-bench-0.5b.gguf")]


class Client:
    """Asks one server. All clients make the same requests, if they are asked for the same in the same order."""

    def __init__(self, server):
        self.server, self._random = server, random.Random(1)

    def text(self, tokens):
        """llama-server with a projector takes no lists of tokens."""
        return " ".join(self._random.choices(LETTERS, k=tokens))

    def picture(self):
        return pictures.picture(pictures.png(*SIZE, self._random))

    def question(self):
        return pictures.text(self.text(QUESTION))

    def chat(self, name, *messages, **conditions):
        """A request for one token."""
        return load.request(name, chat(messages, 1), path=self.server.path("chat"), **conditions)

    def ask(self, *messages):
        return load.run(self.server, [self.chat("chat", *messages)]).streams[0]

    def stream(self, name, prompt, tokens, **conditions):
        return load.request(name, completion(self.text(prompt), tokens), **conditions)

    def warm_up(self):
        self.ask(pictures.user(self.picture(), self.question()))
        load.run(self.server, [self.stream(f"warm {number}", PROMPT, 8) for number in range(STREAMS)])


def first_tokens(client):
    picture = client.picture()
    new, seen, elsewhere = (client.ask(pictures.user(*parts)) for parts in (
        (picture, client.question()), (picture, client.question()), (client.question(), picture)))
    return {"new": new.first_token(), "seen": seen.first_token(), "elsewhere": elsewhere.first_token()}


def beside(client):
    streams = [client.stream(f"stream {number}", PROMPT, LONGEST, background=True) for number in range(STREAMS)]
    # One more at once than there are streams: each picture begins when the one before is answered.
    asked = [client.chat(f"picture {number}", pictures.user(client.picture(), client.question()), after_events=0 if number else 8)
             for number in range(BESIDE)]
    done = load.run(client.server, [*streams, *asked], at_once=STREAMS + 1)
    answered, running = done.named("picture"), done.named("stream")
    ends = [stream.ended for stream in running if stream.ended >= 0]
    begin, end = answered[0].began, min([answered[-1].ended, *ends])
    if end < answered[-1].ended:
        report.note("  a stream ended before the last picture was answered: the time up to then counts")
    tokens = [sum(begin < at <= end for at in stream.pieces) for stream in running]
    gaps = [gap for stream in running for gap in stream.gaps(begin, end)]
    if end <= begin or not gaps:
        programs.give_up("the streams ended before the first picture: the model is too small")
    so_many = min(LONGEST, max(LEAST, *tokens))  # steps get longer with the output
    alone = load.run(client.server, [client.stream(f"alone {number}", PROMPT, so_many) for number in range(STREAMS)]).decode_rate()
    return {"alone": alone, "share": sum(tokens) / (end - begin) / alone, "longest": max(gaps),
            "beside": report.median([picture.first_token() for picture in answered])}


def restored(server):
    """How often corral has restored KV; of llama-server, 0."""
    time.sleep(load.SETTLE)  # its numbers follow the answer
    return stats(server)["restored"] if server.control else 0


def returns(client):
    parts = [part for _ in range(IN_CONVERSATION) for part in (client.picture(), client.question())]
    first = client.ask(pictures.user(*parts))
    for tokens in BETWEEN:
        load.run(client.server, [client.stream("other", tokens, 4)])
    before = restored(client.server)
    back = client.ask(pictures.user(*parts), pictures.assistant(first.text), pictures.user(client.question()))
    report.note(f"  {client.server.process.name}: {back.cached_tokens} of {back.prompt_tokens} tokens of the return weren't computed again")
    return {"four": first.first_token(), "return": back.first_token(), "of first": back.first_token() / first.first_token(),
            "restored": restored(client.server) > before}


# Of a measurement: what is asked, and its rows: what is shown, by which name, and the goal.
PARTS = {"first": first_tokens, "beside": beside, "return": returns}
ROWS = {
    "first": [("first token, a new picture", "new", "ratio ≥ 1"),
              ("first token, a picture seen before, another question", "seen", "ratio ≥ 1"),
              ("first token, a picture seen before, behind another text", "elsewhere", "ratio ≥ 1")],
    "beside": [(f"tokens/s of {STREAMS} streams alone", "alone", "–"),
               (f"tokens/s of {STREAMS} streams beside pictures, of those alone", "share", "corral ≥ 0.5"),
               ("longest wait of a stream for a token beside pictures", "longest", "–"),
               (f"first token, a new picture beside {STREAMS} streams", "beside", "–")],
    "return": [(f"first token, {IN_CONVERSATION} new pictures", "four", "ratio ≥ 1"),
               ("first token, the same conversation after others took its cells", "return", "ratio ≥ 1"),
               ("of its first time", "of first", "–")],
}
RATES = {"alone": "{:.1f}", "share": "{:.2f}"}  # more is better; of all others less is
SHARES = {"of first": "{:.3f}"}


def shown(key, value):
    return (RATES | SHARES)[key].format(value) if key in RATES or key in SHARES else f"{milliseconds(value)} ms"


def row(what, key, goal, found):
    """`found`: results of both, pair by pair. The ratio is above 1 where corral is better."""
    ours, theirs = ([result[key] for result in results] for results in zip(*found))
    ratios = [one / other if key in RATES else other / one for one, other in zip(ours, theirs)]
    cells = [what, shown(key, report.median(ours)), shown(key, report.median(theirs)), pairs.text(pairs.interval(ratios)), goal]
    report.note(f"  {': '.join(cells[:2])}, llama-server {cells[2]}, ratio {cells[3]}")
    return cells


def in_turn(measure, clients, rounds):
    """Pairs of results of the two clients, each of whom begins every second round."""
    found = []
    for number in range(rounds):
        order = clients if number % 2 == 0 else clients[::-1]
        results = {client: measure(client) for client in order}
        found.append(tuple(results[client] for client in clients))
    return found


def measure_pair(model, projector, options):
    rows, words = [], ""
    with stage() as started:
        both = (servers.corral_engine(started, model, projector=str(projector), ctx_size=CELLS, parallel=SLOTS),
                servers.llama_server(started, model, "--mmproj", projector, "-c", CELLS, "-np", SLOTS, "-kvu"))
        clients = [Client(server) for server in both]
        for client in clients:
            client.warm_up()
        for part in options.only:
            found = in_turn(PARTS[part], clients, options.rounds)
            rows += [row(*line, found) for line in ROWS[part]]
            if part == "return":
                count = sum(ours["restored"] for ours, _ in found)
                words = f"\n\ncorral restored the conversation from parked KV in {count} of {counted(options.rounds, 'round')}."
    table = report.table(["what", "corral engine", "llama-server", "ratio", "goal"], rows)
    return f"Model {model.name} with {projector.name}.\n\n{table}{words}"


def main():
    options = arguments()
    servers.threads = options.threads
    machine = ", ".join([*servers.gpus(), report.machine()])
    with stage() as started:
        texts = []
        for model, projector in models(options, started.folder / "vision"):
            report.note(f"{model.name}")
            texts.append(measure_pair(model, projector, options))
    intro = (f"{machine}. {counted(options.threads, 'thread')}, {SLOTS} slots over {CELLS:,} cells, pictures of {SIZE[0]} × {SIZE[1]} pixels; "
             f"medians of {counted(options.rounds, 'pair')}.")
    report.publish("vision", "\n\n".join([intro, *texts]), options.write)


if __name__ == "__main__":
    main()
