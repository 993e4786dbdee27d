"""Nodes of a mesh, each a `corral serve` on a machine of a lab, and a mesh of them."""
import contextlib
import json
import os
import threading
import time

from harness import client, programs
from harness.processes import all_pids, parent_of
from harness.servers import Server

PORT = 8000
PAUSE = 0.001  # seconds between two looks


class Node(Server):
    """`life` is part of the name of its state folder: another one is another node."""

    __eq__, __hash__ = object.__eq__, object.__hash__

    def __init__(self, stage, lab, name, models, *flags, life=0):
        self.stage, self.lab, self.name, self.flags, self.life = stage, lab, name, flags, life
        self.space, self.models = lab.space[name], stage.folder / f"models-{name}"
        self.models.mkdir(exist_ok=True)
        for file in models:
            with contextlib.suppress(FileExistsError):
                (self.models / file.name).symlink_to(file)
        super().__init__(process=None, port=PORT, space=self.space)
        self.start()

    def start(self):
        private = self.stage.folder / f"{self.name}-{self.life}"
        words = [programs.corral(), "serve", "--port", PORT, "--models-dir", self.models, "--no-hub-cache", "--runtime-dir", private / "r",
                 "--state-dir", private / "s", "--log-level", "warning", "--drain-timeout", "1s", "--mesh-name", self.name, *self.flags]
        self.process = self.stage.start(f"{self.name}-{time.monotonic_ns()}", [programs.wire(), "enter", self.space, *words],
                                        environment={"XDG_CONFIG_HOME": str(private)})
        self.process.wait_until("it answers", self.answers)

    def answers(self):
        with contextlib.suppress(OSError), contextlib.closing(self.connection(timeout=5)) as connection:
            connection.send("GET", "/v1/health")
            return connection.read_head()[0] == 200
        return False

    def kill(self):
        self.process.child.kill()
        self.process.child.wait()

    def again(self, new=False):
        """Starts it again after its end; `new`: as another node, that knows nothing."""
        self.life += new
        self.start()

    def connection(self, **options):
        return client.Connection(self.port, space=self.space, **options)

    def get(self, path):
        with contextlib.closing(self.connection(timeout=10)) as connection:
            return get(connection, path)

    def post(self, path, body, allowed=(200,)):
        with contextlib.closing(self.connection()) as connection:
            code, answer = connection.ask(path, json.dumps(body).encode())
        if code not in allowed:
            self.process.fail(f"{path} answered {code}: {answer[:300]!r}")
        return json.loads(answer)

    def token(self):
        return self.post("/v1/mesh/tokens", {})["token"]

    def join(self, host):
        self.id = self.post("/v1/mesh/join", {"token": host.token()})["node"]["id"]

    def reach(self, of):
        """linked, away, or None where nothing is known of it."""
        return next((node["reach"] for node in self.get("/v1/mesh/nodes")["nodes"] if node["id"] == of.id), None)

    def sees(self, names):
        return set(names) <= {model["id"] for model in self.get("/v1/models")["data"]}

    def processes(self):
        """All that runs on its machine."""
        inode = _inode(self.space)
        return [pid for pid in all_pids() if _inode(f"/proc/{pid}/ns/net") == inode]

    def family(self):
        """Its children and theirs, those that are locked in included, which live on no machine."""
        parents = {pid: parent_of(pid) for pid in all_pids()}
        found, news = set(), {self.process.child.pid}
        while news:
            found |= news
            news = {pid for pid, parent in parents.items() if parent in news}
        return found


def _inode(path):
    try:
        return os.stat(path).st_ino
    except OSError:
        return None


def get(connection, path):
    connection.reopen_if_closed()
    connection.send("GET", path)
    code, headers = connection.read_head()
    body = connection.read_body(headers)
    if code != 200:
        raise RuntimeError(f"{path} answered {code}: {body[:300]!r}")
    return json.loads(body)


def make(first, *others):
    """All of them one mesh, and all of them linked."""
    first.id = first.post("/v1/mesh/create", {})["node"]["id"]
    for other in others:
        other.join(first)
    nodes = (first, *others)
    for one in nodes:
        for other in nodes:
            if one is not other:
                when(lambda: one.reach(other) == "linked", f"{one.name} is linked to {other.name}", one)
    return nodes


def when(holds, what, node, seconds=90):
    """The moment at which `holds()` is seen true."""
    deadline = time.monotonic() + seconds
    while True:
        if holds():
            return time.monotonic()
        if time.monotonic() > deadline:
            node.process.fail(f"not after {seconds} s: {what}")
        time.sleep(PAUSE)


def all_when(conditions):
    """The moments of several conditions, [(holds, what, node)], each watched by a thread of its own."""
    moments, threads = [None] * len(conditions), []
    for place, condition in enumerate(conditions):
        def watch(place=place, condition=condition):
            moments[place] = when(*condition)
        threads.append(threading.Thread(target=watch, daemon=True))
        threads[-1].start()
    for thread in threads:
        thread.join()
    if None in moments:
        raise SystemExit(1)
    return moments
