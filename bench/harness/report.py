"""Tables to standard output, and into docs/benchmarks.md between markers."""
import os
import pathlib
import platform
import re
import sys
import textwrap

from harness.programs import REPO

DOCUMENT = REPO / "docs/benchmarks.md"


def note(text):
    print(text, file=sys.stderr, flush=True)


def percentile(values, share):
    """Nearest rank."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def median(values):
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def table(head, rows):
    """Markdown; the first column is text, the others are numbers."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" + "--:|" * (len(head) - 1)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def processor():
    cpu = re.search(r"model name\s*:\s*(.*)", pathlib.Path("/proc/cpuinfo").read_text())
    return cpu.group(1) if cpu else platform.machine()


def processor_key():
    """The kind of processor in the name of a section: "amd-epyc", "intel-xeon"."""
    name = re.sub(r"\((R|TM)\)|\bCPU\b|\bProcessor\b|@.*", " ", processor(), flags=re.IGNORECASE)
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def machine():
    """What numbers depend on, in one line."""
    memory = re.search(r"MemTotal:\s*(\d+)", pathlib.Path("/proc/meminfo").read_text())
    return (f"{len(os.sched_getaffinity(0))} cores of {processor()}, "
            f"{round(int(memory.group(1)) / 2**20)} GiB, Linux {platform.release().split('-')[0]}; "
            f"load average at the start {os.getloadavg()[0]:.1f}")


def _markers(name):
    return f"<!-- bench:{name} -->", f"<!-- /bench:{name} -->"


def section(name, document):
    """What stands between the markers of `name` in a document; empty when there are none."""
    begin, end = _markers(name)
    return document.partition(begin)[2].partition(end)[0]


def wrapped(text):
    """Long lines cut as in the other pages; tables stay whole."""
    def cut(line):
        return line if line.startswith("|") else textwrap.fill(line, 140, break_long_words=False, break_on_hyphens=False)

    return "\n".join(cut(line) if len(line) > 140 else line for line in text.split("\n"))


def publish(name, text, write, key=None):
    """Prints the section; with `write` it also replaces what stands between the markers of `name` in the document.

    `key`: of one section of several called `name`-KEY, such as one for each kind of processor; the others stay."""
    print(f"{text}\n", flush=True)
    if not write:
        return
    begin, end = _markers(f"{name}-{key}" if key else name)
    document = DOCUMENT.read_text()
    if begin not in document:
        others = list(re.finditer(rf"<!-- /bench:{re.escape(name)}-[a-z0-9-]+ -->\n", document)) if key else []
        at = others[0].end() if others else len(document)
        document = f"{document[:at]}\n{begin}\n{end}\n{document[at:]}"
    before, _, rest = document.partition(begin)
    after = rest.partition(end)[2]
    DOCUMENT.write_text(f"{before}{begin}\n{wrapped(text)}\n{end}{after}")
    note(f"written to {DOCUMENT.relative_to(REPO)}")
