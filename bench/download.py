#!/usr/bin/env python3
"""A file from the loopback into the hub cache, verified, beside curl with tee and sha256sum for the same bytes; health meanwhile.

nginx is the hub: its answers are files. curl and `corral serve`, told to pull, fetch in turn, to the same disk, round after round; what was
fetched is removed in between. curl doesn't wait for the disk. Health is asked all the time on a connection of its own."""
import argparse
import contextlib
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import threading
import time

from harness import client, programs, report
from harness.processes import free_port, stage

REPO, COMMIT = "bench/model", "c" * 40

NGINX_CONF = """
daemon off;
{user}
worker_processes 1;
pid {folder}/nginx.pid;
error_log stderr warn;
events {{ }}
http {{
  access_log off;
  sendfile on;
  client_body_temp_path {folder}/b; proxy_temp_path {folder}/p; fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u;
  scgi_temp_path {folder}/s;
  server {{ listen 127.0.0.1:{port}; root {root}; }}
}}
"""


def arguments():
    parser = argparse.ArgumentParser(prog="script/bench download", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mib", type=int, default=2048, help="size of the file (default %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="downloads by each, in turn; the median counts (default %(default)s)")
    parser.add_argument("--folder", help="where files go (default: where temporary ones do)")
    parser.add_argument("--write", action="store_true", help="put the table into docs/benchmarks.md")
    return parser.parse_args()


def make_hub(started, size):
    """A folder that answers as the hub does, and nginx on it. Its port."""
    root = started.folder / "hub"
    files = root / REPO / "resolve" / COMMIT
    files.mkdir(parents=True)
    block = os.urandom(1 << 20)
    digest = hashlib.sha256()
    with open(files / "m-Q8_0.gguf", "wb") as out:
        for number in range(size >> 20):
            piece = number.to_bytes(8, "little") + block[8:]
            digest.update(piece)
            out.write(piece)
    api = root / "api/models" / REPO
    (api / "revision").mkdir(parents=True)
    (api / "tree").mkdir()
    (api / "revision/main").write_text(json.dumps({"sha": COMMIT}))
    entry = {"type": "file", "path": "m-Q8_0.gguf", "size": size, "oid": "1" * 40, "lfs": {"oid": digest.hexdigest(), "size": size}}
    (api / "tree" / COMMIT).write_text(json.dumps([entry]))
    port = free_port()
    config = started.folder / "nginx.conf"
    user = "user root;" if os.geteuid() == 0 else ""
    config.write_text(NGINX_CONF.format(user=user, folder=started.folder, port=port, root=root))
    started.start("nginx", [programs.installed("nginx"), "-p", started.folder, "-c", config]).wait_for_port(port)
    return port


def with_curl(port, folder):
    """Seconds."""
    into = folder / "by-curl"
    url = f"http://127.0.0.1:{port}/{REPO}/resolve/{COMMIT}/m-Q8_0.gguf"
    begin = time.perf_counter()
    subprocess.run(["bash", "-o", "pipefail", "-c", f'{programs.installed("curl")} -sSf "$1" | tee "$2" | sha256sum', "curl", url, into],
                   check=True, stdout=subprocess.DEVNULL)
    taken = time.perf_counter() - begin
    into.unlink()
    return taken


def memory_of(process):
    """The most that it had so far, in bytes, and what it has."""
    status = (pathlib.Path("/proc") / str(process.child.pid) / "status").read_text()
    return tuple(int(status.split(name)[1].split()[0]) * 1024 for name in ("VmHWM:", "VmRSS:"))


def start_server(started, hub):
    port = free_port()
    folder = started.folder / "corral"
    environment = {"HF_ENDPOINT": f"http://127.0.0.1:{hub}", "HF_HUB_CACHE": str(started.folder / "cache"), "NO_PROXY": "127.0.0.1",
                   "XDG_CONFIG_HOME": str(folder)}
    command = [programs.corral(), "serve", "--port", port, "--runtime-dir", folder / "r", "--state-dir", folder / "s", "--no-warm-spare",
               "--log-level", "warning"]
    process = started.start("corral serve", command, environment=environment)
    process.wait_for_port(port)
    return process, port


def with_corral(port):
    """Seconds, and how long each of the questions for health took."""
    ended = threading.Event()
    times = []

    def ask_health():
        with contextlib.closing(client.Connection(port)) as connection:
            while not ended.is_set():
                begin = time.perf_counter()
                connection.send("GET", "/v1/health")
                _, headers = connection.read_head()
                connection.read_body(headers)
                times.append(time.perf_counter() - begin)
                time.sleep(0.005)

    asking = threading.Thread(target=ask_health)
    asking.start()
    begin = time.perf_counter()
    with contextlib.closing(client.Connection(port, timeout=600)) as connection:
        connection.ask("/v1/pull", json.dumps({"model_name": REPO}).encode())
    taken = time.perf_counter() - begin
    ended.set()
    asking.join()
    return taken, times


def main():
    options = arguments()
    machine = report.machine()
    size = options.mib << 20
    if options.folder:
        os.environ["TMPDIR"] = options.folder
    rates, health = {"curl": [], "corral": []}, []
    with stage() as started:
        hub = make_hub(started, size)
        server, port = start_server(started, hub)
        with_curl(hub, started.folder)  # the file is in the system's memory from now on
        before = memory_of(server)[1]
        for number in range(options.rounds):
            rates["curl"].append(size / with_curl(hub, started.folder) / 1e6)
            taken, times = with_corral(port)
            shutil.rmtree(started.folder / "cache")
            rates["corral"].append(size / taken / 1e6)
            health += times
            report.note(f"round {number + 1}: curl {rates['curl'][-1]:.0f} MB/s, corral {rates['corral'][-1]:.0f} MB/s")
        grown = memory_of(server)[0] - before
    middle = {name: report.median(values) for name, values in rates.items()}
    rows = [["curl, `tee` and `sha256sum`, not brought to the disk", f"{middle['curl']:.0f}", "1.00"],
            ["**corral serve**, verified, on the disk", f"{middle['corral']:.0f}", f"{middle['corral'] / middle['curl']:.2f}"]]
    text = [f"{machine}. {options.mib} MiB, {options.rounds} rounds in turn; one worker of nginx is the hub.",
            report.table(["", "MB/s", "of curl"], rows),
            f"The server's memory grew by {grown / 2**20:.1f} MiB at most. Health meanwhile: p50 {1e3 * report.median(health):.1f} ms, "
            f"p99 {1e3 * report.percentile(health, 0.99):.1f} ms of {len(health)} questions."]
    report.publish("download", "\n\n".join(text), options.write)


if __name__ == "__main__":
    main()
