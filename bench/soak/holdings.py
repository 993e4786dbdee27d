"""What the server holds when nothing is loaded: descriptors, memory, processes, files."""
import contextlib
import os
import pathlib
import time

from harness.processes import all_pids, parent_of, resident_bytes

IDLE = 2  # processes without a model: one that waits for the next, and for a minute or two one that has checked requests
SPARE_DESCRIPTORS = 8  # one of these processes more or less has some
SPARE_MEMORY = 32  # MiB; some pages are kept for reuse: what counts is that it doesn't grow with the time


def processes(world):
    """What the server has started, directly or not, whoever its parent is now: by its words, its working folder or its parent."""
    server, folder, found = world.server.process.child.pid, str(world.folder), []
    for pid in all_pids():
        with contextlib.suppress(OSError):
            words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
            if folder.encode() in words or os.readlink(f"/proc/{pid}/cwd").startswith(folder) or parent_of(pid) == server:
                found.append(pid)
    return [pid for pid in found if pid != server]


class Holdings:
    def __init__(self, world):
        with contextlib.closing(world.connection()) as connection:
            connection.ask("/v1/unload", b"{}")
        # Sockets of connections that were closed a moment ago, the spare process that is being made: it settles.
        before, now = None, self.look(world)
        for _ in range(100):
            if before == now and 1 <= self.processes <= IDLE:
                break
            time.sleep(0.1)
            before, now = now, self.look(world)
        self.memory = resident_bytes(world.server.process.child.pid) / 2**20

    def look(self, world):
        self.processes = len(processes(world))
        self.descriptors = len(os.listdir(f"/proc/{world.server.process.child.pid}/fd"))
        # Sockets, and what programs write where they run.
        places = [world.folder / "corral-serve" / place for place in ("r", "s/backends")]
        self.files = len([file for place in places for file in place.rglob("*")])
        return self.processes, self.descriptors, self.files

    def left_behind(self, before):
        """What is wrong with it, compared with that at the beginning."""
        checks = {"descriptors": self.descriptors <= before.descriptors + SPARE_DESCRIPTORS, "processes": self.processes <= IDLE,
                  "files": self.files <= before.files + IDLE, "memory": self.memory <= before.memory + SPARE_MEMORY}
        return [f"{what} left behind" for what, good in checks.items() if not good]

    def __str__(self):
        return f"{self.descriptors} descriptors, {self.memory:.1f} MiB, {self.processes} processes, {self.files} files"
