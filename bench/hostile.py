#!/usr/bin/env python3
"""What the worst requests cost, and what a good client notices of them.

Each request is sent once, alone: the processor time and the memory that the router and the engine take for it. Then as
many as --beside of it are under way at a time, from another address, while a good client asks for short chats one after
the other, as it did alone before. One process of processor time is what a core gives; memory is how far each process
grew at most."""
import argparse
import contextlib
import json
import multiprocessing
import pathlib
import socket
import tempfile
import time

from harness import client, programs, report, servers
from harness.processes import cpu_seconds, resident_bytes, stage

MODEL = "tiny-llama"
# Models of corral-make-models --pretokenizers.
BY_REGEX = "tiny-gpt-4o"
BY_SQUARE = "tiny-superbpe"
CHAT = "/v1/chat/completions"
COMPLETION = "/v1/completion"
STRANGER = "127.0.0.2"


def arguments():
    parser = argparse.ArgumentParser(prog="script/bench hostile", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="rows whose name contains this")
    parser.add_argument("--model", default=MODEL, help="default %(default)s")
    parser.add_argument("--beside", type=int, default=4, help="of a hostile request at a time (default %(default)s)")
    parser.add_argument("--seconds", type=float, default=3, help="of each run beside one (default %(default)s)")
    parser.add_argument("--write", action="store_true", help="put the table into docs/benchmarks.md")
    return parser.parse_args()


def schema(count, optional=0):
    names = [f"property_{i}" for i in range(count)]
    return {"type": "object", "properties": {name: {"type": "string", "description": "what it is"} for name in names}, "required": names[optional:]}


def tools(count, parameters):
    return [{"type": "function", "function": {"name": f"tool_{i}", "description": "d" * 64, "parameters": parameters}} for i in range(count)]


def call(arguments):
    return {"id": "c", "type": "function", "function": {"name": "f", "arguments": arguments}}


def requests():
    """name -> (path, body): the largest of each kind that the rules take, and what they refuse last."""
    said = [{"role": "user", "content": "hi"}]
    turn = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]

    def chat(**more):
        return CHAT, {"messages": said, "max_tokens": 1, **more}

    def told(**more):
        return COMPLETION, {"prompt": "hi", "n_predict": 1, **more}

    wide = schema(60)
    rows = {
        "512 small tools": chat(tools=tools(512, {"type": "object"})),
        "80 tools of 60 properties": chat(tools=tools(80, wide)),
        "7 tools of 128 that may be left out": chat(tools=tools(7, schema(128, 128))),
        "required call, 80 tools": chat(tools=tools(80, wide), tool_choice="required"),
        "4,095 messages": chat(messages=turn * 2047 + said),
        "4,095 messages and a tool": chat(messages=turn * 2047 + said, tools=tools(1, {"type": "object"})),
        "1,000 messages and 80 tools": chat(messages=turn * 500 + said, tools=tools(80, wide)),
        "256 messages of 256 calls": chat(messages=(said + [{"role": "assistant", "tool_calls": [call("{}")] * 256}]) * 128 + said),
        "arguments of 8 MiB": chat(messages=said + [{"role": "assistant", "tool_calls": [call(json.dumps({"a": "x" * (8 << 20)}))]}] + said),
        "arguments of a million values": chat(messages=said + [{"role": "assistant", "tool_calls": [call({"a": [{}] * 1_000_000})]}] + said),
        "thoughts of 8 MiB": chat(messages=said + [{"role": "assistant", "content": "x", "reasoning_content": "x" * (8 << 20)}] + said),
        "an unknown member of a million values": chat(messages=[{**said[0], "extra": [{}] * 1_000_000}]),
        "an unknown member of 8 MiB": chat(messages=[{**said[0], "extra": "x" * (8 << 20)}]),
        "template arguments of a million values": chat(chat_template_kwargs={"a": [{}] * 1_000_000}),
        "10,000 template arguments": chat(chat_template_kwargs={f"a{i}": i for i in range(10_000)}),
        "a schema of 512 properties": chat(json_schema=schema(512)),
        "a schema of 128 that may be left out": chat(json_schema=schema(128, 128)),
        "a schema of 4,000 choices": chat(json_schema={"anyOf": [{"type": "null"}] * 4000}),
        "a schema with 8 MiB in definitions": chat(json_schema={"$defs": {f"d{i}": {"const": "x" * 64} for i in range(100_000)}, "anyOf": [{"$ref": f"#/$defs/d{i}"} for i in range(128)]}),
        "values of 8 MiB": chat(json_schema={"enum": ["x" * (8 << 10) for _ in range(1000)]}),
        "the longest text": chat(json_schema={"type": "string", "minLength": 10_000, "maxLength": 20_000}),
        "32 answers with a schema": chat(n=32, json_schema=schema(128, 128)),
        "a grammar of 256 KiB": told(grammar="root ::= a\na ::= " + " | ".join(f'"{"x" * 50}{i}"' for i in range(4000))),
        "1,024 prompts": told(prompt=["hi"] * 1024),
        "a million fields": (CHAT, '{"messages":[],' + ",".join(f'"a{i}":0' for i in range(1_000_000)) + "}"),
        "16 MiB of brackets": (CHAT, '{"messages":[' + ",".join(["[" * 200 + "]" * 200] * 40_000) + "]}"),
        "16 MiB of escapes": (CHAT, '{"messages":[],"x":[' + ",".join(['"\\n"'] * 3_200_000) + "]}"),
    }
    # Each is about how that model's tokenizer splits texts into words, with std::regex.
    deep = "[" * 100_000 + "]" * 100_000
    runs = {
        "50,000 equal letters": chat(model=BY_REGEX, messages=[{"role": "user", "content": "A" * 50_000}]),
        "50,000 in a tool's output": chat(model=BY_REGEX, messages=said + [{"role": "assistant", "tool_calls": [call("{}")]}, {"role": "tool", "tool_call_id": "c", "content": "A" * 50_000}]),
        "a million equal letters": chat(model=BY_REGEX, messages=[{"role": "user", "content": "A" * 1_000_000}]),
        "a million, to be tokenised": ("/tokenize", {"model": BY_REGEX, "content": "A" * 1_000_000}),
        "2 MiB of them, to be tokenised": ("/tokenize", {"model": BY_REGEX, "content": "A" * (2 << 20)}),
        "arguments 100,000 deep": chat(model=BY_REGEX, messages=said + [{"role": "assistant", "tool_calls": [call(deep)]}] + said),
        "1,000 digits": chat(model=BY_SQUARE, messages=[{"role": "user", "content": "7" * 1000}]),
        "20,000 digits": chat(model=BY_SQUARE, messages=[{"role": "user", "content": "7" * 20_000}]),
    }
    return rows | runs


def model_of(body, otherwise):
    return otherwise if isinstance(body, str) else body.get("model", otherwise)


def ask(port, path, body, source=None):
    """The status of the answer; 0 when there is none."""
    with contextlib.suppress(OSError), contextlib.closing(socket.create_connection(("127.0.0.1", port), 120, source and (source, 0))) as peer:
        head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        peer.sendall(head.encode() + body)
        first = peer.recv(64)
        while peer.recv(1 << 16):
            pass
        return int(first.split()[1])
    return 0


def keep_asking(port, path, body, ended):
    while not ended.is_set():
        ask(port, path, body, STRANGER)


@contextlib.contextmanager
def crowd(count, port, path, body):
    context = multiprocessing.get_context("fork")
    ended = context.Event()
    workers = [context.Process(target=keep_asking, args=(port, path, body, ended), daemon=True) for _ in range(count)]
    for worker in workers:
        worker.start()
    try:
        yield
    finally:
        ended.set()
        for worker in workers:
            worker.join(150)


def peak_bytes(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM:"))


class Cost:
    """Processor time and growth of processes while it is open."""

    def __init__(self, pids):
        self.pids = pids

    def __enter__(self):
        for pid in self.pids:
            pathlib.Path(f"/proc/{pid}/clear_refs").write_text("5")  # the peak begins anew
        self.resident = [resident_bytes(pid) for pid in self.pids]
        self.cpu = cpu_seconds(self.pids)
        return self

    def __exit__(self, *_):
        self.cpu = cpu_seconds(self.pids) - self.cpu
        self.grown = [max(0, peak_bytes(pid) - before) >> 20 for pid, before in zip(self.pids, self.resident)]


def good(port, seconds, model=MODEL):
    """Milliseconds that each of the good client's chats took."""
    body = json.dumps({"model": model, "messages": [{"role": "user", "content": "hello"}], "max_tokens": 4, "temperature": 0}).encode()
    took = []
    connection = client.Connection(port)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        began = time.perf_counter()
        status, answer = connection.ask(CHAT, body)
        took.append((time.perf_counter() - began) * 1000)
        if status != 200:
            programs.give_up(f"the good client got {status}: {answer[:300]!r}")
    connection.close()
    return took


def engine_of(port):
    connection = client.Connection(port)
    connection.send("GET", "/v1/health")
    health = json.loads(connection.read_body(connection.read_head()[1]))
    connection.close()
    return health["all_models_loaded"][0]["pid"]


def measure(options, model, file, rows):
    """Lines of the table: a good client of this model alone, and beside each row."""
    table = []
    with stage() as started:
        server = servers.corral_serve(started, servers.model_folder(started, [file]), "--ctx-size", "32768")
        good(server.port, 0.5, model)  # loads it
        pids = [server.process.child.pid, engine_of(server.port)]
        alone = good(server.port, options.seconds, model)
        table.append([f"({model} alone)", "", "", "", "", *figures(alone)])
        for name, (path, body) in rows.items():
            text = (body if isinstance(body, str) else json.dumps({"model": model, **body})).encode()
            with Cost(pids) as cost:
                status = ask(server.port, path, text)
            with crowd(options.beside, server.port, path, text):
                time.sleep(0.1)
                took = good(server.port, options.seconds, model)
            table.append([name, f"{len(text) / 1024:,.0f}", status, f"{cost.cpu:.2f}", " + ".join(map(str, cost.grown)), *figures(took)])
            report.note(" | ".join(map(str, table[-1])))
            good(server.port, 0.5, model)
    return table


def figures(took):
    return [f"{report.median(took):.1f}", f"{report.percentile(took, 0.99):.1f}", f"{max(took):.1f}"]


def main():
    options = arguments()
    rows = {name: row for name, row in requests().items() if not options.only or options.only in name}
    machine = report.machine()
    made = programs.models()
    table = []
    with tempfile.TemporaryDirectory() as folder:
        others = programs.models_of_kind("pretokenizers", folder)
        for model in dict.fromkeys(model_of(body, options.model) for _, body in rows.values()):
            of_model = {name: row for name, row in rows.items() if model_of(row[1], options.model) == model}
            file = next(place / f"{model}.gguf" for place in (made, others) if (place / f"{model}.gguf").exists())
            table += measure(options, model, file, of_model)
    head = ["request", "KiB", "status", "CPU s", "router + engine MiB", "good p50 ms", "p99", "max"]
    report.publish("hostile", f"{machine}. {options.beside} of each at a time beside the good client.\n\n{report.table(head, table)}", options.write)


if __name__ == "__main__":
    main()
