"""What 7 running streams notice of an 8,000-token prompt, and how long its sender waits."""
from engine.common import Section, Verdict, counted, milliseconds
from harness import load, programs, report, servers
from harness.processes import stage
from harness.prompts import Prompts, completion

TITLE = "Stall"
METHOD = ("Seven streams of letters (each token is its own piece of text). Undisturbed: the times between two pieces "
          "while all seven run, for as many tokens as they generate beside the new prompt, because steps get longer "
          "with the output. Disturbed: the times between the new request and its first token. The seven continue until "
          "the new request has its output.")
RUNNING, PROMPT, NEWCOMER = 7, 32, 8000
LEAST, LONGEST = 200, 1000  # tokens of the seven
CELLS = 16384


def p99(gaps):
    if not gaps:
        programs.give_up("the seven streams didn't run at the same time: the machine has no time for them, or the model is too small")
    return report.percentile(gaps, 0.99)


def running(prompts, tokens, **conditions):
    return [load.request(f"running {number}", completion(prompts.tokens(PROMPT), tokens), **conditions) for number in range(RUNNING)]


def undisturbed(server, prompts, tokens):
    streams = load.run(server, running(prompts, tokens)).streams
    begin, end = max(stream.pieces[0] for stream in streams), min(stream.pieces[-1] for stream in streams)
    return [gap for stream in streams for gap in stream.gaps(begin, end)]


def disturbed(server, prompts):
    """The gaps of the seven, the newcomer's time to its first token, and how many tokens each of the seven had by then."""
    newcomer = load.request("newcomer", completion(prompts.tokens(NEWCOMER), 4), after_events=8)
    done = load.run(server, [*running(prompts, LONGEST, background=True), newcomer])
    came, = done.named("newcomer")
    streams = done.named("running")
    if any(stream.ended >= 0 and stream.ended < came.pieces[0] for stream in streams):
        report.note("  a running stream ended before the newcomer's first token: the prompt took long")
    tokens = max(sum(piece <= came.pieces[0] for piece in stream.pieces) for stream in streams)
    return [gap for stream in streams for gap in stream.gaps(came.began, came.pieces[0])], came.first_token(), tokens


def one_server(server, rounds):
    prompts = Prompts(server)
    load.run(server, running(prompts, 8))
    quiet, pairs = [], []
    for _ in range(rounds):
        gaps, first_token, tokens = disturbed(server, prompts)
        quiet.append(p99(undisturbed(server, prompts, max(LEAST, tokens))))
        pairs.append((p99(gaps), max(gaps), report.median(gaps), first_token))
    columns = [report.median(column) for column in zip(*pairs)]
    return report.median(quiet), *columns


def measure(setting):
    makers = {
        "**corral engine**": lambda on: servers.corral_engine(on, setting.model, parallel=RUNNING + 1, ctx_size=CELLS),
        "llama-server": lambda on: servers.llama_server(on, setting.model, "-np", RUNNING + 1, "-c", CELLS, "-kvu"),
    }
    rows, results = [], []
    for name, make in makers.items():
        with stage() as started:
            result = one_server(make(started), setting.rounds)
        results.append(result)
        quiet, beside, longest, middle, first_token = result
        rows.append([name, *map(milliseconds, (quiet, middle, beside, longest)), f"{beside / quiet:.1f}", f"{first_token:.2f}"])
        report.note(f"  {name}: p99 {milliseconds(quiet)} ms undisturbed, {milliseconds(beside)} ms beside; newcomer {first_token:.2f} s")
    ours, peer = results
    head = ["server", "undisturbed p99 ms", "beside the prompt p50 ms", "p99 ms", "longest ms", "p99 ratio", "newcomer's first token s"]
    text = f"A prompt of {NEWCOMER:,} tokens beside {RUNNING} streams; medians of {counted(setting.rounds, 'round')}."
    return Section(f"{text}\n\n{report.table(head, rows)}", [
        Verdict("p99 of 7 streams beside a long prompt / undisturbed", ours[1] / ours[0], 2, at_most=True),
        Verdict("newcomer's first token / llama-server's", ours[4] / peer[4], 1.5, at_most=True)])
