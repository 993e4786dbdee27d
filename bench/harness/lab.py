"""Machines of a network on this machine, as tests/support/netns.mjs makes them for tests."""
import contextlib
import ctypes
import os
import subprocess

from harness import programs
from harness.programs import give_up

CLONE_NEWNET = 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)


def _enter(space):
    if _libc.setns(space, CLONE_NEWNET) != 0:
        give_up(f"entering a network namespace: {os.strerror(ctypes.get_errno())}")


@contextlib.contextmanager
def inside(space):
    """This thread makes its sockets on that machine; None: here."""
    if space is None:
        yield
        return
    home, there = (os.open(path, os.O_RDONLY | os.O_CLOEXEC) for path in ("/proc/thread-self/ns/net", space))
    try:
        _enter(there)
        yield
    finally:
        _enter(home)
        os.close(home)
        os.close(there)


def command(space, words):
    """A command line that runs another one on that machine; None: here."""
    return list(words) if space is None else [programs.wire(), "enter", space, *words]


class Lab:
    """Nodes by name, on a bridge (as fast as the machine) or a wire (with faults)."""

    def __init__(self, stage, names, medium="bridge"):
        self._net = subprocess.Popen([programs.wire(), "net", medium], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        stage.adopt(self._net)  # closes its input, and it ends
        self.address = {name: f"10.77.0.{number}" for number, name in enumerate(names, 1)}
        self.space = {name: self.ask(f"node {name} {address}/24") for name, address in self.address.items()}

    def ask(self, line):
        self._net.stdin.write(line + "\n")
        word, _, rest = self._net.stdout.readline().strip().partition(" ")
        if word != "ok":
            give_up(f"corral-wire: {line}: {rest or 'it has ended; such benchmarks need root'}")
        return rest

    def both(self, one, other, faults):
        for way in ((one, other), (other, one)):
            self.ask(f"path {way[0]} {way[1]} {faults}")

    def isolate(self, name):
        self.ask(f"path {name} * cut=1")
        self.ask(f"path * {name} cut=1")

    def heal(self):
        self.ask("clear * *")
