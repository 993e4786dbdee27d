#!/usr/bin/env python3
"""Reads what ctest printed in the stages of a run, and prints one list of all failures and of all tests that needed another try.

    report.py STAGE=LOG...    exit status 1 if a test failed

For each failure: the stage, the name, the end of its output, and the file that holds the whole output."""
import re
import sys

kResult = re.compile(r"^ *(?:\d+/\d+ )? *Test +#\d+: (.+?) \.*(?: *)(Passed|\*\*\*[A-Za-z ]+?(?:: ?[A-Za-z ]+?)?) +[\d.]+ sec")
kMostLines = 60  # of the output of one failure
kPassed = ("Passed", "***Skipped", "***Not Run (Disabled)")


def results(path):
    """{name: [(status, output)]} in the order of the tries."""
    tests = {}
    output = None
    for line in open(path, errors="replace"):
        found = kResult.match(line)
        if found:
            output = []
            tests.setdefault(found[1], []).append((found[2], output))
        elif re.match(r" +Start +\d+: |\d+% tests passed|The following tests", line):
            output = None
        elif output is not None:
            output.append(line.rstrip("\n"))
    return tests


def main(arguments):
    failures, retried, cases = [], [], []
    for argument in arguments:
        stage, path = argument.split("=", 1)
        tests = results(path)
        cases.append(f"{stage} {len(tests)}")
        for name, tries in tests.items():
            status, output = tries[-1]
            if not status.startswith(kPassed):
                failures.append((stage, name, status.strip("* "), output, path))
            elif len(tries) > 1:
                retried.append(f"{stage}: {name} ({len(tries) - 1} failed)")
    for stage, name, status, output, path in failures:
        print(f"\n--- {stage}: {name}: {status}; the last lines of its output, all of it in {path}")
        print("\n".join(output[-kMostLines:]))
    print(f"\nTests of each stage: {', '.join(cases)}")
    for line in retried:
        print(f"needed another try: {line}")
    print(f"{len(retried)} tests needed another try, {len(failures)} failed")
    for stage, name, status, _, path in failures:
        print(f"failed: {stage}: {name}: {status} ({path})")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
