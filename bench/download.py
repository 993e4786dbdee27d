#!/usr/bin/env python3
"""A file from the loopback into the hub cache, verified, beside curl's own rate for the same bytes.

nginx is the hub: its answers are files. curl and the fetching program of downloads/ (pull_main.cpp, with the ranges that the server
has) fetch in turn, to the same disk, round after round; the cache is emptied in between. curl neither hashes nor waits for the disk."""
import argparse
import hashlib
import json
import os
import shutil
import subprocess
import time

from harness import programs, report
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
    begin = time.perf_counter()
    subprocess.run([programs.installed("curl"), "-sSf", "-o", into, f"http://127.0.0.1:{port}/{REPO}/resolve/{COMMIT}/m-Q8_0.gguf"], check=True)
    taken = time.perf_counter() - begin
    into.unlink()
    return taken


def with_fetcher(port, folder):
    """Seconds, and the most memory that it had."""
    cache = folder / "cache"
    environment = {**os.environ, "HF_ENDPOINT": f"http://127.0.0.1:{port}", "HF_HUB_CACHE": str(cache), "NO_PROXY": "127.0.0.1",
                   "CORRAL_RANGE": "0"}
    begin = time.perf_counter()
    child = subprocess.Popen([programs.fetcher(), REPO], env=environment, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    taken = time.perf_counter() - begin
    if status != 0:
        programs.give_up(f"the fetching program ended with {status}")
    shutil.rmtree(cache)
    return taken, usage.ru_maxrss * 1024


def main():
    options = arguments()
    machine = report.machine()
    size = options.mib << 20
    if options.folder:
        os.environ["TMPDIR"] = options.folder
    rates, memory = {"curl": [], "corral": []}, 0
    with stage() as started:
        port = make_hub(started, size)
        with_curl(port, started.folder)  # the file is in the system's memory from now on
        for number in range(options.rounds):
            rates["curl"].append(size / with_curl(port, started.folder) / 1e6)
            taken, most = with_fetcher(port, started.folder)
            rates["corral"].append(size / taken / 1e6)
            memory = max(memory, most)
            report.note(f"round {number + 1}: curl {rates['curl'][-1]:.0f} MB/s, corral {rates['corral'][-1]:.0f} MB/s, {most / 2**20:.1f} MiB")
    middle = {name: report.median(values) for name, values in rates.items()}
    rows = [["curl, without a hash, not brought to the disk", f"{middle['curl']:.0f}", "1.00"],
            ["**the fetching program**, verified, on the disk", f"{middle['corral']:.0f}", f"{middle['corral'] / middle['curl']:.2f}"]]
    text = [f"{machine}. {options.mib} MiB, {options.rounds} rounds in turn; one worker of nginx is the hub.",
            report.table(["", "MB/s", "of curl"], rows),
            f"The fetching program had {memory / 2**20:.1f} MiB of memory at most."]
    report.publish("download", "\n\n".join(text), options.write)


if __name__ == "__main__":
    main()
