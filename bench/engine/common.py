"""What the rows share: their setting, what they return, and the order in which two are compared."""
import dataclasses
import pathlib

from harness import report


@dataclasses.dataclass(frozen=True)
class Setting:
    model: pathlib.Path
    rounds: int
    quick: bool = False  # small numbers, for a first look with a tiny model
    tokens: int = 96  # of each answer where throughput is measured
    streams: tuple | None = None  # how many at once there; None: as the row says
    peers: tuple = ()  # beside whom

    def pick(self, full, quick):
        return quick if self.quick else full


@dataclasses.dataclass
class Verdict:
    what: str
    measured: float
    goal: float
    at_most: bool = False

    def row(self):
        met = self.measured <= self.goal if self.at_most else self.measured >= self.goal
        digits = 0 if self.measured % 1 == 0 else 3 if self.goal < 0.1 else 2
        while not met and float(f"{self.measured:.{digits}f}") == self.goal:
            digits += 1  # else it would look met
        wanted = f"{'≤' if self.at_most else '≥'} {self.goal:g}"
        return [self.what, f"{self.measured:.{digits}f}", wanted, "yes" if met else "**no**"]


@dataclasses.dataclass
class Section:
    text: str
    verdicts: list


def verdict_table(verdicts):
    return report.table(["goal", "measured", "wanted", "met"], [verdict.row() for verdict in verdicts])


def interleave(ours, others, rounds):
    """Measures ours, another, ours, the next, ..., ours, so that drift of the machine cancels.

    `ours` and the values of `others` are callables. Returns our results, and for each other a list of (its result,
    [ours just before, ours just after])."""
    mine, theirs = [ours()], {name: [] for name in others}
    for _ in range(rounds):
        for name, measure in others.items():
            result = measure()
            mine.append(ours())
            theirs[name].append((result, mine[-2:]))
    return mine, theirs


def median_ratio(pairs, value):
    """Ours over theirs of what `interleave` returned, by a number that `value` takes from a result."""
    return report.median([sum(map(value, ours)) / len(ours) / value(other) for other, ours in pairs])


def counted(count, what):
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def milliseconds(seconds):
    return f"{seconds * 1000:.0f}" if seconds >= 0.02 else f"{seconds * 1000:.1f}"
