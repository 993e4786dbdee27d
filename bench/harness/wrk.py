"""One run of wrk: the same POST over and over on N kept connections."""
import dataclasses
import json
import pathlib
import subprocess

from harness import programs
from harness.processes import cpu_seconds

SCRIPT = pathlib.Path(__file__).with_name("post.lua")


@dataclasses.dataclass
class Load:
    p50: float  # microseconds
    p99: float
    per_second: float
    cpu_per_1000: float  # seconds of the watched processes
    errors: int


def run(server, path, body_file, connections, seconds):
    """Drives `server` and watches the CPU time of its own processes (not of what works behind it)."""
    before = cpu_seconds(server.main_pid())
    command = [programs.installed("wrk"), "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "10s", "-s", SCRIPT,
               f"http://127.0.0.1:{server.port}{path}", "--", body_file]
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    used = cpu_seconds(server.main_pid()) - before
    line = next((line for line in done.stdout.splitlines() if line.startswith("{")), None)
    if done.returncode != 0 or not line:
        programs.give_up(f"wrk against {server.process.name} failed:\n{done.stdout}{done.stderr}")
    got = json.loads(line)
    if got["requests"] == 0:
        server.process.fail(f"no answer on {path} with {connections} connections")
    return Load(got["p50"], got["p99"], got["requests"] / got["seconds"], used * 1000 / got["requests"], got["errors"])
