#!/usr/bin/env python3
"""Runs tests of the release build again and again on a busy machine, and prints rounds and failures of each.

    soak.py [--rounds N] [--jobs N] PATTERN...    patterns as ctest -R takes them; exit status 1 if a test failed in any round

Beside the tests run two busy loops and a process that writes 64 MiB to the disk and flushes it, over and over. The output of each failed
round is kept in build/reports/soak-ROUND.log."""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import report

kRepo = pathlib.Path(__file__).resolve().parent.parent.parent
kBusy = "while :; do :; done"
kWriter = 'while :; do dd if=/dev/zero of="$1" bs=1M count=64 conv=fsync status=none; done'


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="how many deterministic tests run at a time")
    parser.add_argument("patterns", nargs="+")
    wanted = parser.parse_args()
    reports = kRepo / "build" / "reports"
    reports.mkdir(parents=True, exist_ok=True)
    rounds, failures = {}, {}
    with tempfile.NamedTemporaryFile(dir=kRepo / "build", prefix="soak-disk-") as disk:
        load = [subprocess.Popen(["bash", "-c", kBusy]) for _ in range(2)]
        load.append(subprocess.Popen(["bash", "-c", kWriter, "writer", disk.name]))
        try:
            for number in range(1, wanted.rounds + 1):
                log = reports / f"soak-{number}.log"
                command = ["ctest", "--test-dir", kRepo / "build" / "release", "--output-on-failure", "-R", "|".join(wanted.patterns)]
                with open(log, "w") as file:
                    for labels in (["-LE", "realtime", "-j", str(wanted.jobs)], ["-L", "realtime", "-j", "1"]):  # as in the gate
                        subprocess.run(command + labels, stdout=file, stderr=subprocess.STDOUT)
                failed = False
                for name, tries in report.results(log).items():
                    name = name.split("  #")[0]  # what a test of values adds
                    rounds[name] = rounds.get(name, 0) + 1
                    if not tries[-1][0].startswith(report.kPassed):
                        failures[name] = failures.get(name, 0) + 1
                        failed = True
                        print(f"round {number}: {name}: {tries[-1][0].strip('* ')} ({log})", flush=True)
                if not failed:
                    log.unlink()
        finally:
            for process in load:
                process.kill()
                process.wait()
    if not rounds:
        sys.exit(f"no test matches {' or '.join(wanted.patterns)}")
    print("\n| test | rounds | failures |\n|---|--:|--:|")
    for name in sorted(rounds):
        print(f"| `{name}` | {rounds[name]} | {failures.get(name, 0)} |")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
