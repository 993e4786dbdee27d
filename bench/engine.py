#!/usr/bin/env python3
"""The engine child over HTTP: throughput, stalls, kept conversations, memory, each row beside its peer and its goal.

Throughput runs on the made 0.5B-shaped model in Q8_0 and Q4_0, the other rows on the first one. --quick takes a tiny model
and small numbers: a first look that tells whether everything works, not how fast."""
import argparse
import itertools
import pathlib

from engine import between, crowd, downsize, idle, passes, prefix, resume, schemas, slow_reader, stall, throughput
from engine.common import Setting, verdict_table
from harness import programs, report, servers

ROWS = {"throughput": throughput, "between": between, "passes": passes, "stall": stall, "prefix": prefix, "return": resume,
        "crowd": crowd, "idle": idle, "slow-reader": slow_reader, "downsize": downsize, "schemas": schemas}
ON_EVERY_MODEL = ("throughput", "between", "passes")


def arguments():
    rows = "\n".join(f"  {name:12} {row.__doc__}" for name, row in ROWS.items())
    parser = argparse.ArgumentParser(prog="script/bench engine", description=f"{__doc__}\n\nrows:\n{rows}",
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(ROWS), metavar="ROW,ROW", help="only these rows")
    parser.add_argument("--models", default="q8_0,q4_0", metavar="TYPE,TYPE",
                        help="of the made 0.5B-shaped models; 7b-q8_0, of 8 GB, for GPUs (default %(default)s)")
    parser.add_argument("--model", metavar="FILE", help="a GGUF file instead of the made ones")
    parser.add_argument("--all-models", action="store_true", help="every row on every model")
    parser.add_argument("--tokens", type=int, metavar="N", default=96, help="of each answer of the throughput rows (default %(default)s)")
    parser.add_argument("--streams", metavar="N,N", help="of the rows throughput and passes (default: all that they list)")
    parser.add_argument("--peers", metavar="NAME,NAME", default=",".join(throughput.PEERS),
                        help="of the throughput rows (default %(default)s)")
    parser.add_argument("--threads", type=int, metavar="N", help="that compute, for every program; each one's default unless said")
    parser.add_argument("--rounds", type=int, default=2, help="of each measurement; medians count (default %(default)s)")
    parser.add_argument("--quick", action="store_true", help="a tiny model, one round, small numbers")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/benchmarks.md")
    options = parser.parse_args()
    if options.quick and options.write:
        parser.error("what --quick finds isn't worth writing down")
    options.only = options.only.split(",")
    options.streams = tuple(map(int, options.streams.split(","))) if options.streams else None
    options.peers = tuple(options.peers.split(","))
    for name in options.peers:
        if name not in throughput.PEERS:
            parser.error(f"there is no peer '{name}'; known are {', '.join(throughput.PEERS)}")
    for name in options.only:
        if name not in ROWS:
            parser.error(f"there is no row '{name}'; known are {', '.join(ROWS)}")
    return options


def models(options):
    if options.model:
        return [pathlib.Path(options.model)]
    if options.quick:
        return [programs.models() / "tiny-llama.gguf"]
    return [made_model(kind) for kind in options.models.split(",")]


def made_model(kind):
    if kind.startswith("7b-"):
        return programs.models("--bench-7b") / f"bench-{kind}.gguf"
    return programs.models("--bench") / f"bench-0.5b-{kind}.gguf"


def goals_in(document):
    """The lines of all verdict tables in a text."""
    lines = document.split("\n")
    head = [cells.strip() for cells in verdict_table([]).split("\n")]
    for at, line in enumerate(lines):
        if line == head[0]:
            yield from itertools.takewhile(lambda row: row.startswith("|"), lines[at + len(head):])


def summary():
    """How many goals the rows in the document meet on this kind of processor, and which they don't: whenever each was measured."""
    document = report.DOCUMENT.read_text()
    rows = list(goals_in("".join(report.section(f"engine-{name}", document) for name in ROWS if name not in ON_EVERY_MODEL)
                         + "".join(report.section(f"engine-{name}-{report.processor_key()}", document) for name in ON_EVERY_MODEL)))
    missed = [row for row in rows if not row.endswith("| yes |")]
    return "\n".join([f"### Goals\n\n{len(rows) - len(missed)} of {len(rows)} goals in the tables below are met. Not met:\n", verdict_table([]), *missed])


def run_row(name, settings, machine):
    """The row's text and its verdicts."""
    row = ROWS[name]
    parts, verdicts = [f"### {row.TITLE}", f"{row.METHOD} {machine}."], []
    for setting in settings:
        report.note(f"{name}: {setting.model.name}")
        section = row.measure(setting)
        for verdict in section.verdicts:
            verdict.what += f" ({setting.model.stem})" if len(settings) > 1 else ""
        parts += [f"Model {setting.model.name}.", section.text]
        if section.verdicts:
            parts.append(verdict_table(section.verdicts))
        verdicts += section.verdicts
    return "\n\n".join(parts), verdicts


def main():
    options = arguments()
    servers.threads = options.threads
    settings = [Setting(model, 1 if options.quick else options.rounds, options.quick, options.tokens, options.streams, options.peers)
                for model in models(options)]
    gpus = servers.gpus()
    # The rows on every model have a table for each kind of processor, and one for GPUs.
    processor = "gpu" if gpus else report.processor_key()
    machine = ", ".join([*gpus, report.machine()])
    verdicts, failed = [], []
    for name in options.only:
        chosen = settings if options.all_models or name in ON_EVERY_MODEL else settings[:1]
        try:
            text, of_row = run_row(name, chosen, machine)
        except programs.GaveUp:  # it has said why; the other rows are worth having
            failed.append(name)
            continue
        report.publish(f"engine-{name}", text, options.write, processor if gpus or name in ON_EVERY_MODEL else None)
        verdicts += of_row
    if len(options.only) > 1:
        print(f"### Goals\n\n{verdict_table(verdicts)}\n", flush=True)
    if options.write and not gpus:
        report.publish("engine-goals", summary(), True)
    if failed:
        programs.give_up(f"rows without a result: {', '.join(failed)}")


if __name__ == "__main__":
    main()
