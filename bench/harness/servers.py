"""The servers that are compared, each started the same way: a function that takes a Stage and returns a Server."""
import contextlib
import dataclasses
import json
import os
import pathlib
import queue
import re
import socket
import subprocess
import threading
import time

from harness import client, lab, programs
from harness.processes import Process, free_port


# That compute, of every program that is started; None: each one's default.
threads = None


def threads_flag():
    return ["-t", threads] if threads else []


def gpus():
    """The GPUs that the libraries under test compute on, by name."""
    said = subprocess.run([programs.llama("llama-server"), "--list-devices"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    found = re.findall(r"^ +(\w+): (.*) \(\d+ MiB", said.stdout, re.MULTILINE)
    return [name for device, name in found if not device.startswith(("RPC", "BLAS"))]


class Control:
    """Our end of an engine child's control channel. What the child says is taken from it at once, as a router does."""

    def __init__(self, end):
        self._end = end
        self._heard = queue.SimpleQueue()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self):
        with contextlib.suppress(OSError), self._end.makefile("rb") as lines:
            for line in lines:
                if not line.startswith(b'{"request_done"'):
                    self._heard.put(json.loads(line))

    def tell(self, order):
        self._end.sendall(json.dumps(order).encode() + b"\n")

    def answer(self, names, seconds):
        """The next thing that the child says under one of these names, or None. What stands before it is dropped."""
        deadline = time.monotonic() + seconds
        with contextlib.suppress(queue.Empty):
            while True:
                said = self._heard.get(timeout=max(0, deadline - time.monotonic()))
                if any(name in said for name in names):
                    return said
        return None


@dataclasses.dataclass
class Server:
    process: Process
    port: int
    prefix: str = "/v1"  # of the paths of requests that aren't OpenAI's (llama-server has them at the root)
    socket: pathlib.Path | None = None
    control: Control | None = None
    space: str | None = None  # the machine of a lab that it is on

    def path(self, workload):
        return "/v1/chat/completions" if workload == "chat" else f"{self.prefix}/{workload}"

    def main_pid(self):
        return [self.process.child.pid]


# As the router starts its workers (kWorkerEnvironment in src/remote/worker_protocol.h).
WORKER_ALLOCATOR = "background_thread:false,thp:always"


def model_folder(stage, files):
    """A folder with links to just these files: both routers then know exactly the same models."""
    folder = stage.folder / "models"
    folder.mkdir(exist_ok=True)
    for file in files:
        (folder / file.name).symlink_to(file)
    return folder


def corral_serve(stage, folder, *arguments, name="corral serve"):
    port = free_port()
    private = stage.folder / name.replace(" ", "-")
    command = [programs.corral(), "serve", "--port", port, "--models-dir", folder, "--no-hub-cache", "--runtime-dir", private / "r",
               "--state-dir", private / "s", "--log-level", "warning", *arguments]
    # No settings of the user's own, and no drain that outlasts stop().
    process = stage.start(name, [*command, "--drain-timeout", "1s"], environment={"XDG_CONFIG_HOME": str(private)})
    process.wait_for_port(port)
    return Server(process, port)


def corral_engine(stage, model, name="corral engine", space=None, environment=None, **options):
    """An engine child as `corral serve` starts it, but with us as its parent, listening on TCP as well, and without
    guesses unless they are asked for (`speculative`).

    `options` are those of a load (`ctx_size`, `parallel`, `park_dir`, ...). The name must be the only one of its kind
    on this stage. `space`: the machine of a lab that it runs on."""
    ours, theirs = socket.socketpair()
    path, port = stage.folder / f"{name.replace(' ', '-')}.sock", free_port()
    process = stage.start(name, lab.command(space, [programs.corral(), "engine", "--socket", str(path), "--listen-tcp", str(port)]),
                          environment={"CORRAL_CONTROL_FD": "3", **(environment or {})}, pass_fd=theirs.fileno())
    theirs.close()
    stage.adopt(ours)  # the engine ends when this does
    control = Control(ours)
    if threads:
        options.setdefault("threads", threads)
    control.tell({"load": {"model": model.stem, "path": str(model), "type": "llm", **options}})
    with lab.inside(space):
        process.wait_for_port(port)
    return Server(process, port, socket=path, control=control, space=space)


def corral_worker(stage, name="corral rpc-worker", space=None, threads=1):
    """A worker of splits, locked in, on a Unix socket."""
    ours, theirs = socket.socketpair()
    path = stage.folder / f"{name.replace(' ', '-')}.sock"
    process = stage.start(name, lab.command(space, [programs.corral(), "rpc-worker", "--socket", str(path), "--threads", str(threads)]),
                          environment={"CORRAL_CONTROL_FD": "3", "MALLOC_CONF": WORKER_ALLOCATOR}, pass_fd=theirs.fileno())
    theirs.close()
    stage.adopt(ours)  # the worker ends when this does
    control = Control(ours)
    said = control.answer(("ready", "failed"), 30)
    if not said or "failed" in said:
        process.fail(f"it isn't ready: {said}")
    return Server(process, 0, socket=path, control=control, space=space)


def llama_server(stage, model, *arguments, name="llama-server", environment=None):
    port = free_port()
    command = [programs.llama("llama-server"), "-m", model, "--port", port, *threads_flag(), *arguments]
    process = stage.start(name, command, environment=environment)
    process.wait_until("its model is loaded", lambda: client.status(port, "/health") == 200)
    return Server(process, port, prefix="")


def llama_router(stage, folder, *arguments, name="llama-server router"):
    port = free_port()
    process = stage.start(name, [programs.llama("llama-server"), "--models-dir", folder, "--port", port, *arguments])
    process.wait_until("it answers", lambda: client.status(port, "/health") == 200)
    return Server(process, port, prefix="")


class Nginx(Server):
    def main_pid(self):
        return self.process.group()


NGINX_CONF = """
daemon off;
{user}
worker_processes {workers};
pid {folder}/nginx.pid;
error_log stderr warn;
events {{ worker_connections 4096; }}
http {{
  access_log off;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  client_max_body_size 64m;
  client_body_buffer_size 8m;
  keepalive_requests 1000000000;
  upstream engine {{ server unix:{socket}; keepalive 512; keepalive_requests 1000000000; }}
  server {{
    listen 127.0.0.1:{port} backlog=1024;
    location / {{
      proxy_pass http://engine;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
    }}
  }}
}}
"""


def nginx(stage, upstream, workers):
    port = free_port()
    name = f"nginx {workers}"
    folder = stage.folder / f"nginx-{workers}"
    folder.mkdir()
    config = folder / "nginx.conf"
    # Started by root, nginx gives its workers to a user who may not enter our folder.
    user = "user root;" if os.geteuid() == 0 else ""
    config.write_text(NGINX_CONF.format(user=user, workers=workers, folder=folder, socket=upstream.socket, port=port))
    process = stage.start(name, [programs.installed("nginx"), "-p", folder, "-c", config])
    process.wait_for_port(port)
    return Nginx(process, port)
