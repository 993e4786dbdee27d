"""64 sessions of 1,024 tokens in 16,384 KV cells, together and one after another: same text, more tokens per second."""
import os.path

from engine.common import Section, Verdict
from harness import load, report, servers
from harness.processes import stage
from harness.prompts import Prompts, completion

TITLE = "Crowd"
METHOD = ("All 64 requests are sent at once, though a quarter of them fits. Greedy answers of letters, so that the place of"
          " a difference is counted in tokens. One after another: the same requests to a fresh engine (16 of them: it is a "
          "rate). llama-server has 16 slots over the same cells, and half of the sessions, which are twice its slots all the same. "
          "The model is made of random numbers and so sensitive that another rounding changes its words: llama-server, too, says something "
          "else from the first token on when it takes the prompt from its cache.")
SESSIONS, PROMPT, ANSWER, CELLS = 64, 512, 512, 16384


def requests(server, count):
    prompts = Prompts(server)
    return [load.request(f"session {number}", completion(prompts.tokens(PROMPT), ANSWER, temperature=0)) for number in range(count)]


def crowd(make, count, at_once, **options):
    with stage() as started:
        server = make(started)
        load.run(server, [load.request("warm", completion(Prompts(server, seed=99).tokens(64), 4))])
        return load.run(server, requests(server, count), at_once, seconds=900, **options)


def first_difference(one, other):
    """How many letters two texts have in common, or None when they are the same."""
    return None if one == other else len(os.path.commonprefix([one, other]))


def measure(setting):
    def corral(on):
        return servers.corral_engine(on, setting.model, ctx_size=CELLS)

    def peer(on):
        return servers.llama_server(on, setting.model, "-np", 16, "-c", CELLS, "-kvu")

    alone_count = setting.pick(16, 8)
    together = crowd(corral, SESSIONS, 0)
    alone = crowd(corral, alone_count, 1)
    other = crowd(peer, SESSIONS // 2, 0, failures_allowed=True)
    runs = {"**corral engine**, all at once": together, "corral engine, one after another": alone, "llama-server, all at once": other}
    rows = []
    for name, run in runs.items():
        finished = sum(stream.tokens == ANSWER for stream in run.streams)
        rows.append([name, f"{finished} of {len(run.streams)}", f"{run.whole_rate():.1f}", f"{run.seconds:.1f}"])
        report.note(f"  {name}: {rows[-1][1]} finished, {rows[-1][2]} tok/s")
    differences = [first_difference(a.text, b.text) for a, b in zip(together.streams, alone.streams)]
    equal = differences.count(None)
    words = f"{equal} of {alone_count} texts are the same together and alone"
    if equal < alone_count:
        places = sorted(at for at in differences if at is not None)
        words += f"; the others part after {', '.join(map(str, places))} of {ANSWER} tokens"
    report.note(f"  {words}")
    text = f"{SESSIONS} sessions of {PROMPT} + {ANSWER} tokens in {CELLS:,} cells; tokens are generated ones, over the whole time. {words}."
    table = report.table(["server", "finished", "tok/s", "seconds"], rows)
    return Section(f"{text}\n\n{table}", [
        Verdict("sessions that finish, of 64", sum(stream.tokens == ANSWER for stream in together.streams), SESSIONS),
        Verdict("same text together and alone (share)", equal / alone_count, 1),
        Verdict("tokens per second together / one after another", together.whole_rate() / alone.whole_rate(), 2)])
