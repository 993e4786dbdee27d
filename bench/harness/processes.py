"""Servers as child processes: started, waited for, measured, and gone when the script ends, however it ends."""
import contextlib
import ctypes
import os
import pathlib
import signal
import socket
import subprocess
import tempfile
import time

from harness.programs import give_up

PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)


def free_port():
    """A port that nobody listens on now. Asked for last, used at once."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def turn_signals_into_exit():
    """So that SIGTERM and a closed terminal run the clean-up too."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda got, frame: exit(128 + got))


class Process:
    """A program in a process group of its own, its output in a file."""

    def __init__(self, name, command, folder, environment=None, pass_fd=None):
        self.name = name
        self.log = pathlib.Path(folder) / f"{name.replace(' ', '-')}.log"

        def in_child():
            _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            if pass_fd is not None:
                os.dup2(pass_fd, 3)

        with open(self.log, "wb") as out:
            self.child = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                          start_new_session=True, preexec_fn=in_child, env={**os.environ, **(environment or {})},
                                          pass_fds=(3,) if pass_fd is not None else ())

    def fail(self, what):
        tail = self.log.read_text(errors="replace")[-2000:]
        give_up(f"{self.name}: {what}; the end of its output:\n{tail}")

    def wait_until(self, what, ready, seconds=60):
        """Polls `ready` (a callable) until it is true."""
        deadline = time.monotonic() + seconds
        while not ready():
            if self.child.poll() is not None:
                self.fail(f"ended with {self.child.returncode} before {what}")
            if time.monotonic() > deadline:
                self.fail(f"still not there after {seconds} s: {what}")
            time.sleep(0.005)

    def wait_for_port(self, port):
        self.wait_until(f"it listens on port {port}", lambda: port_open(port))

    def group(self):
        """The process ids of its group: nginx's workers, a router's children."""
        return [pid for pid in all_pids() if _group_of(pid) == self.child.pid]

    def stop(self, grace=3):
        """Ends it; a second call does nothing. `grace`: seconds it has to end by itself."""
        # The group first told, so that servers end their own children, then swept.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.child.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.child.wait(grace)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.child.pid, signal.SIGKILL)
        self.child.wait()


def port_open(port):
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def all_pids():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _group_of(pid):
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return None


def parent_of(pid):
    try:
        return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return None


def cpu_seconds(pids):
    """User and system time that these processes have used so far."""
    ticks = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def resident_bytes(pid):
    """Memory of the process that is in RAM now, pages of mapped files included."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmRSS:"))


@contextlib.contextmanager
def stage():
    """A scratch folder and the processes started on it; both are gone afterwards."""
    turn_signals_into_exit()
    with contextlib.ExitStack() as stack:
        # Short, for the paths of sockets end after 107 bytes.
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="cb-")))
        yield Stage(folder, stack)


class Stage:
    def __init__(self, folder, stack):
        self.folder = folder
        self._stack = stack

    def start(self, name, command, **options):
        process = Process(name, command, self.folder, **options)
        self._stack.callback(process.stop)
        return process

    def adopt(self, context):
        return self._stack.enter_context(context)
