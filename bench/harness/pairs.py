"""What pairs of interleaved measurements say: both of a pair meet the same moment of the machine."""
import random

from harness.report import median, percentile

RESAMPLES = 2000


def interval(values, statistic=median, seed=1):
    """The statistic and its 95 % interval, by resampling."""
    draw = random.Random(seed)
    many = sorted(statistic(draw.choices(values, k=len(values))) for _ in range(RESAMPLES))
    return statistic(values), many[int(RESAMPLES * 0.025)], many[int(RESAMPLES * 0.975)]


def between(pairs, statistic):
    """The same of something that is computed from both columns: statistic(ones, others)."""
    return interval(list(pairs), lambda drawn: statistic(*zip(*drawn)))


def against(pairs, before, statistic):
    """The same, of what it was before: two servers are never quite alike, whatever is asked of them."""
    draw = random.Random(1)
    def once(found, base):
        return statistic(*zip(*found)) / statistic(*zip(*base))
    many = sorted(once(draw.choices(pairs, k=len(pairs)), draw.choices(before, k=len(before))) for _ in range(RESAMPLES))
    return once(pairs, before), many[int(RESAMPLES * 0.025)], many[int(RESAMPLES * 0.975)]


def text(found, digits=2, unit=""):
    value, low, high = found
    return f"{value:.{digits}f}{unit} ({low:.{digits}f} … {high:.{digits}f})"


def spread(values, digits=0, unit=" ms"):
    """Median and the worst."""
    return f"{median(values):.{digits}f}{unit}, at most {max(values):.{digits}f}{unit}"


def p99(values):
    return percentile(values, 0.99)
