"""Streams driven by corral-stream-load (bench/load), which asks every server alike and stamps every piece of text."""
import contextlib
import dataclasses
import itertools
import json
import subprocess
import time

from harness import lab, programs
from harness.report import median, note

# After a pass OpenMP's threads go on spinning for 200 ms: they'd take the processor from whoever is measured next.
SETTLE = 0.3
LEAST_GAPS = 8  # of each stream, to call it decoding together
_numbers = itertools.count()


@dataclasses.dataclass
class Stream:
    """One request; times in seconds since the beginning of its run, negative where it didn't come to that."""
    name: str
    began: float
    ended: float
    error: str
    text: str
    finish_reason: str
    tokens: int  # of the answer, as the server counts them; 0 for a stream that was cut off
    prompt_tokens: int
    cached_tokens: int
    pieces: list  # arrivals of text

    def first_token(self):
        """Seconds from the request to the first piece of text."""
        return self.pieces[0] - self.began

    def gaps(self, begin, end):
        """Times between two pieces of text, of those that reach into the stretch from `begin` to `end`."""
        return [b - a for a, b in zip(self.pieces, self.pieces[1:]) if b > begin and a < end]


@dataclasses.dataclass
class Run:
    streams: list
    seconds: float
    cpu_seconds: float  # of the load generator
    events: int

    def named(self, start):
        return [stream for stream in self.streams if stream.name.startswith(start)]

    def failed(self):
        return [stream for stream in self.streams if stream.error]

    def whole_rate(self):
        """Tokens per second over the whole time, prefill included."""
        return sum(stream.tokens for stream in self.streams) / (max(stream.ended for stream in self.streams) - self._begin())

    def decode_rate(self):
        """Tokens per second while all streams were decoding, which is what llama-batched-bench reports."""
        first = max(stream.pieces[0] for stream in self.streams)
        last = min(stream.pieces[-1] for stream in self.streams)
        if any(len(stream.gaps(first, last)) < LEAST_GAPS for stream in self.streams):
            note("  the streams hardly decoded together: the rate is that of the whole time")
            return self.whole_rate()
        # A piece of text may stand for several tokens (one character made of two): pieces are scaled to the server's count.
        seen = sum(sum(first < at <= last for at in stream.pieces) * stream.tokens / len(stream.pieces) for stream in self.streams)
        return seen / (last - first)

    def first_token(self):
        """The median of the streams' times to their first piece of text."""
        return median([stream.first_token() for stream in self.streams])

    def _begin(self):
        return min(stream.began for stream in self.streams)


def request(name, body, **conditions):
    """One entry of a job; `conditions` as in bench/load/job.h."""
    return {"name": name, "body": body, **conditions}


def _command(server, requests, **options):
    job = server.process.log.with_name(f"job-{next(_numbers)}.json")
    job.write_text(json.dumps({"port": server.port, "requests": requests, **options}))
    return lab.command(server.space, [programs.stream_load(), str(job)])


def run(server, requests, at_once=0, seconds=600, failures_allowed=False):
    command = _command(server, requests, at_once=at_once, seconds=seconds)
    time.sleep(SETTLE)
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        programs.give_up("the load generator failed")
    got = json.loads(done.stdout)
    got["streams"] = [Stream(**stream) for stream in got["streams"]]
    result = Run(**got)
    if not failures_allowed:
        _insist(server, requests, result)
    return result


def _insist(server, requests, result):
    for stream in result.failed():
        server.process.fail(f"stream {stream.name} failed: {stream.error}")
    for stream, asked in zip(result.streams, requests):
        if not asked.get("background") and not (stream.pieces and stream.tokens):
            server.process.fail(f"stream {stream.name} has {len(stream.pieces)} pieces of text and {stream.tokens} tokens")


@contextlib.contextmanager
def held(server, requests):
    """The same requests beside whatever the block does; cut off at its end. Over the Unix socket, as the router's are:
    its buffers are small, so that a client that doesn't read is noticed after some hundred tokens."""
    command = _command(server, requests, socket=str(server.socket), seconds=3600)
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as child:
        try:
            yield
        finally:
            child.terminate()
