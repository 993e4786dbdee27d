"""Tokens per second of 1 to 32 streams, beside llama-batched-bench and llama-server."""
import dataclasses
import functools
import json
import subprocess

from engine.common import Section, Verdict, counted, interleave, median_ratio
from harness import load, programs, report, servers
from harness.processes import stage
from harness.prompts import Prompts, completion

TITLE = "Throughput"
METHOD = ("Every stream is a client with its own prompt. \"decode\" counts the tokens that arrived while all streams "
          "were decoding, as in llama-batched-bench; \"whole\" counts all tokens over the whole time, including "
          "prefill. llama.cpp's programs are run with unified KV and with per-sequence KV; the faster one is then "
          "measured in turn with corral. A ratio is corral's value over the row's, with corral's runs just before and "
          "just after.")
KV_MODES = {"unified": "-kvu", "split": "-no-kvu"}
PEERS = ("llama-server", "llama-batched-bench")
PROMPT = 64
HEAD = ["streams", "program", "decode tok/s", "whole tok/s", "first token p50 ms", "decode ratio", "whole ratio"]


@dataclasses.dataclass(frozen=True)
class Rates:
    decode: float
    whole: float
    first_token: float | None = None
    client_cost: float = 0  # seconds of processor time per event


class Clients:
    """The same number of clients, again and again, each time with new prompts."""

    def __init__(self, server, count, tokens):
        self._server, self._count, self._tokens, self._prompts = server, count, tokens, Prompts(server)
        self._run(8)  # the pages of the file, the first graphs

    def _run(self, tokens):
        requests = [load.request(f"client {number}", completion(self._prompts.tokens(PROMPT), tokens, letters=False))
                    for number in range(self._count)]
        return load.run(self._server, requests)

    def measure(self):
        done = self._run(self._tokens)
        return Rates(done.decode_rate(), done.whole_rate(), done.first_token(), done.cpu_seconds / done.events)


def batched_bench(model, count, tokens, flag):
    """llama-batched-bench: no HTTP, no sampling, lock step."""
    command = [programs.llama("llama-batched-bench"), "-m", model, "-c", count * (PROMPT + tokens) + 256, "-npp", PROMPT, "-ntg", tokens,
               "-npl", count, "--output-format", "jsonl", flag, *servers.threads_flag()]
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    line = next((line for line in done.stdout.splitlines() if line.startswith("{")), None)
    if done.returncode != 0 or not line:
        programs.give_up(f"llama-batched-bench failed:\n{done.stderr[-2000:]}")
    got = json.loads(line)
    return Rates(got["speed_tg"], got["pl"] * got["tg"] / got["t"])


def fastest(modes):
    """The name of the mode that decodes fastest, tried once each."""
    tried = {mode: measure() for mode, measure in modes.items()}
    return max(tried, key=lambda mode: tried[mode].decode)


def cells(tokens):
    """Of each place. A multiple of 256, as libllama would round it: the same memory for everybody."""
    return -(-(PROMPT + tokens + 16) // 256) * 256


def one_count(setting, count, places=None):
    """Our results, and those of each peer in its better mode, by the name to be shown. `places` for clients, else one for each."""
    places = places or count
    room = cells(setting.tokens) * places
    with stage() as started:
        ours = Clients(servers.corral_engine(started, setting.model, parallel=places, ctx_size=room), count, setting.tokens)
        peers, kinds = {}, {kind: {} for kind in setting.peers}
        for mode, flag in KV_MODES.items():
            if "llama-server" in kinds:
                server = servers.llama_server(started, setting.model, "-np", places, "-c", room, flag, name=f"llama-server {mode}")
                kinds["llama-server"][mode] = Clients(server, count, setting.tokens).measure
            if "llama-batched-bench" in kinds:
                kinds["llama-batched-bench"][mode] = functools.partial(batched_bench, setting.model, count, setting.tokens, flag)
        for kind, modes in kinds.items():
            mode = fastest(modes)
            peers[f"{kind} ({mode})"] = modes[mode]
        return interleave(ours.measure, peers, setting.rounds)


def rates_row(results):
    first = [result.first_token for result in results if result.first_token]
    return [f"{report.median([result.decode for result in results]):.1f}", f"{report.median([result.whole for result in results]):.1f}",
            f"{report.median(first) * 1000:.0f}" if first else ""]


def compare(rows, streams, mine, theirs):
    """Adds the lines of one number of streams to a table. Returns each peer's name with ours over its decode and whole rates."""
    ratios = []
    rows.append([streams, "**corral engine**", *rates_row(mine), "", ""])
    for name, pairs in theirs.items():
        decode, whole = median_ratio(pairs, lambda rates: rates.decode), median_ratio(pairs, lambda rates: rates.whole)
        rows.append([streams, name, *rates_row([other for other, _ in pairs]), f"{decode:.2f}", f"{whole:.2f}"])
        report.note(f"  {streams}: decode {decode:.2f}, whole {whole:.2f} of {name}")
        ratios.append((name, decode, whole))
    return ratios


def measure(setting):
    rows, verdicts, costs = [], [], []
    for count in setting.streams or setting.pick((1, 4, 8, 16, 32), (1, 4)):
        mine, theirs = one_count(setting, count)
        costs += [rates.client_cost for rates in mine]
        streams = counted(count, "stream")
        for name, decode, whole in compare(rows, count, mine, theirs):
            if not name.startswith("llama-server"):
                verdicts.append(Verdict(f"decode of {streams} / llama-batched-bench's", decode, 0.98))
            elif count < 8:
                verdicts += [Verdict(f"decode of {streams} / llama-server's", decode, 1),
                             Verdict(f"whole of {streams} / llama-server's", whole, 1)]
    text = (f"{PROMPT} tokens of prompt, {setting.tokens} generated by each stream; medians of {counted(setting.rounds, 'round')}. "
            f"The clients took {report.median(costs) * 1e6:.0f} µs of processor time per event.")
    return Section(f"{text}\n\n{report.table(HEAD, rows)}", verdicts)
