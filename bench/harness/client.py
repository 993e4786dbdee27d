"""A small HTTP/1.1 client on one kept connection, for when every microsecond of the client would be in the number."""
import contextlib
import json
import select
import socket
import time

from harness.lab import inside


def status(port, path):
    """The status of a GET, or None when nobody answers."""
    with contextlib.suppress(OSError), contextlib.closing(Connection(port, timeout=5)) as connection:
        connection.send("GET", path)
        return connection.read_head()[0]
    return None


class Connection:
    """`space`: the machine of a lab that the client is on."""

    def __init__(self, port, timeout=120, host="127.0.0.1", space=None):
        self.port, self.timeout, self.host, self.space = port, timeout, host, space
        self._open()

    def _open(self):
        with inside(self.space):
            self.socket = socket.create_connection((self.host, self.port), self.timeout)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = b""

    def close(self):
        self.socket.close()

    def reopen_if_closed(self):
        """Not part of a request's time: some servers close a connection that they said would be kept."""
        if select.select([self.socket], [], [], 0)[0]:
            self._reopen()

    def _reopen(self):
        self.close()
        self._open()

    def send(self, method, path, body=b"", content_type="application/json"):
        head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {content_type}\r\nContent-Length: {len(body)}\r\n\r\n"
        self.socket.sendall(head.encode() + body)

    def read_head(self):
        """Returns status and headers (names in lower case)."""
        head = self._until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        headers = {}
        for line in head[1:]:
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        return int(head[0].split()[1]), headers

    def read_body(self, headers):
        if "chunked" in headers.get("transfer-encoding", ""):
            return b"".join(self._chunks())
        return self._exactly(int(headers.get("content-length", 0)))

    def ask(self, path, body):
        """Status and whole body of a POST. Asked again, on a new connection, when the old one was about to be closed."""
        try:
            self.send("POST", path, body)
            code, headers = self.read_head()
        except ConnectionError:
            if self.buffer:
                raise
            self._reopen()
            self.send("POST", path, body)
            code, headers = self.read_head()
        return code, self.read_body(headers)

    def events(self, path, body=None):
        """Yields (arrival, object) for each event of a streamed answer; comments and [DONE] are left out. A GET without a body."""
        self.send("GET" if body is None else "POST", path, body or b"")
        code, headers = self.read_head()
        if code != 200 or "event-stream" not in headers.get("content-type", ""):
            raise RuntimeError(f"no stream but {code}: {self.read_body(headers)[:300]!r}")
        pending = b""
        for piece in self._chunks():
            now = time.perf_counter()
            *events, pending = (pending + piece).split(b"\n\n")
            for event in events:
                data = event.partition(b"data: ")[2]  # names and numbers of events stand before it
                if data.startswith(b"{"):
                    yield now, json.loads(data)

    def _chunks(self):
        while size := int(self._until(b"\r\n").split(b";")[0], 16):
            yield self._exactly(size)
            self._until(b"\r\n")
        self._until(b"\r\n")

    def _fill(self):
        piece = self.socket.recv(1 << 20)
        if not piece:
            raise ConnectionError("the server closed the connection")
        self.buffer += piece

    def _until(self, mark):
        while mark not in self.buffer:
            self._fill()
        found, _, self.buffer = self.buffer.partition(mark)
        return found

    def _exactly(self, size):
        while len(self.buffer) < size:
            self._fill()
        found, self.buffer = self.buffer[:size], self.buffer[size:]
        return found
