#!/usr/bin/env python3
"""What the grammars of real JSON schemas accept, and what it takes to make them.

FOLDER has JSON files: those of MaskBench (maskbench/data of github.com/guidance-ai/jsonschemabench), or of the JSON-Schema-Test-Suite
(tests/draft2020-12 of github.com/json-schema-org). A schema counts if `strict` accepts it, every right instance fits its grammar and no
wrong one does. No model takes part."""
import argparse
import collections
import json
import pathlib
import subprocess

from harness import programs, report


def arguments():
    parser = argparse.ArgumentParser(prog="script/bench schemas", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--lenient", action="store_true", help="read schemas as without `strict`")
    parser.add_argument("--reasons", type=int, default=20, help="why schemas are refused: so many rows (default %(default)s)")
    parser.add_argument("--faults", action="store_true", help="list each instance with the wrong verdict")
    parser.add_argument("--write", action="store_true", help="put the table into docs/benchmarks.md")
    return parser.parse_args()


def cases(folder):
    """Name, schema and tests of each schema in the folder."""
    for path in sorted(folder.glob("*.json")):
        content = json.loads(path.read_text())
        groups = content if isinstance(content, list) else [content]
        for group in groups:
            yield f"{path.stem}: {group.get('description', '')}", group["schema"], group.get("tests", [])


def judged(all_cases, lenient):
    lines = [json.dumps({"schema": schema, "texts": [json.dumps(test["data"], ensure_ascii=False) for test in tests]}, ensure_ascii=False)
             for _, schema, tests in all_cases]
    command = [programs.schema_judge()] + (["lenient"] if lenient else [])
    ran = subprocess.run(command, input="\n".join(lines) + "\n", stdout=subprocess.PIPE, text=True, check=True)
    return [json.loads(line) for line in ran.stdout.splitlines()]


def reasons_of(verdict):
    if "refused" in verdict:
        return {verdict["reason"] or verdict["refused"]}
    return {f"{one['keyword']}: {one['reason']}" for one in verdict["unenforced"] if not one["note"]}


def main():
    options = arguments()
    all_cases = list(cases(options.folder))
    reasons, faults = collections.Counter(), []
    count = collections.Counter()
    times = []
    for (name, _, tests), verdict in zip(all_cases, judged(all_cases, options.lenient)):
        why = reasons_of(verdict)
        if why and not ("fits" in verdict and options.lenient):
            count["refused"] += 1
            reasons.update(why)
            continue
        times.append(verdict["ms"])
        wrong = [test for test, fits in zip(tests, verdict["fits"]) if (fits is True) != test["valid"]]
        count["right"] += sum(test["valid"] for test in tests)
        count["right_accepted"] += sum(test["valid"] and fits is True for test, fits in zip(tests, verdict["fits"]))
        count["wrong"] += sum(not test["valid"] for test in tests)
        count["wrong_accepted"] += sum(not test["valid"] and fits is True for test, fits in zip(tests, verdict["fits"]))
        count["good"] += not wrong
        faults += [(name, test) for test in wrong]
    rows = [("schemas", f"{len(all_cases):,}"), ("that count", f"{count['good']:,}"), ("refused", f"{count['refused']:,}"),
            ("right instances accepted", f"{count['right_accepted']:,} of {count['right']:,}"),
            ("wrong instances accepted", f"{count['wrong_accepted']:,} of {count['wrong']:,}"),
            ("a grammar, ms: median", f"{report.median(times):.1f}"), ("99 %", f"{report.percentile(times, 0.99):.1f}"), ("maximum", f"{max(times):.0f}")]
    report.publish("schemas", f"{report.machine()}.\n\n" + report.table(["", options.folder.name], rows), options.write)
    for why, times_seen in reasons.most_common(options.reasons):
        print(f"{times_seen:6} {why}")
    for name, test in faults if options.faults else []:
        print("right, refused:" if test["valid"] else "WRONG, accepted:", name, json.dumps(test["data"], ensure_ascii=False)[:200])


if __name__ == "__main__":
    main()
