"""64 sessions of 1,024 tokens in 16,384 KV cells, together and one after another: same text, more tokens per second."""
import os.path

from engine.common import Section, Verdict
from harness import load, programs, report, servers
from harness.processes import stage
from harness.prompts import Prompts, completion

TITLE = "Crowd"
METHOD = ("All 64 requests are sent at once, but only a quarter of them fits. One after another: the same requests to a "
          "fresh engine (16 of them, because it is a rate). llama-server has 16 slots over the same cells and gets half "
          "of the sessions, still twice its slots. Output is greedy and consists of letters, so that the position of a "
          "difference is counted in tokens. Texts are compared on a small model with 32-bit weights. With quantised "
          "weights and activations, the last bit of a sum depends on the position in the cache and on the other rows of "
          "the pass, and decides between close tokens, also in llama-server.")
SESSIONS, PROMPT, ANSWER, CELLS = 64, 512, 512, 16384


def requests(server, count):
    prompts = Prompts(server)
    return [load.request(f"session {number}", completion(prompts.tokens(PROMPT), ANSWER, temperature=0)) for number in range(count)]


def crowd(make, count, at_once, **options):
    with stage() as started:
        server = make(started)
        load.run(server, [load.request("warm", completion(Prompts(server, seed=99).tokens(64), 4))])
        return load.run(server, requests(server, count), at_once, seconds=900, **options)


def corral(model):
    return lambda on: servers.corral_engine(on, model, ctx_size=CELLS)


def peer(model):
    return lambda on: servers.llama_server(on, model, "-np", 16, "-c", CELLS, "-kvu")


def first_difference(one, other):
    """How many letters two texts have in common, or None when they are the same."""
    return None if one == other else len(os.path.commonprefix([one, other]))


def compare(together, alone):
    """How many of the texts that were finished both times are the same, and that in words."""
    differences = [first_difference(a.text, b.text) for a, b in zip(together.streams, alone.streams)
                   if a.tokens == b.tokens == ANSWER]
    equal = differences.count(None)
    places = sorted(at for at in differences if at is not None)
    parted = f" (the others part after {', '.join(map(str, places))} of {ANSWER} tokens)" if places else ""
    return equal, f"{equal} of {len(differences)} texts are the same{parted}"


def compare_texts():
    """On the small model: all of ours, and what llama-server finishes, each beside its own answers one after another."""
    exact = programs.models() / "tiny-llama.gguf"
    equal, ours = compare(crowd(corral(exact), SESSIONS, 0), crowd(corral(exact), SESSIONS, 1))
    _, others = compare(crowd(peer(exact), SESSIONS // 2, 0, failures_allowed=True), crowd(peer(exact), SESSIONS // 2, 1))
    return equal, f"Together and one after another, model {exact.name}: {ours}; llama-server: {others}."


def measure(setting):
    together = crowd(corral(setting.model), SESSIONS, 0)
    alone = crowd(corral(setting.model), setting.pick(16, 8), 1)
    other = crowd(peer(setting.model), SESSIONS // 2, 0, failures_allowed=True)
    runs = {"**corral engine**, all at once": together, "corral engine, one after another": alone, "llama-server, all at once": other}
    rows = []
    for name, run in runs.items():
        finished = sum(stream.tokens == ANSWER for stream in run.streams)
        rows.append([name, f"{finished} of {len(run.streams)}", f"{run.whole_rate():.1f}", f"{run.seconds:.1f}"])
        report.note(f"  {name}: {rows[-1][1]} finished, {rows[-1][2]} tok/s")
    _, words = compare(together, alone)
    equal, exactly = compare_texts()
    words = f"{exactly} Model {setting.model.name}: {words}."
    report.note(f"  {words}")
    text = f"{SESSIONS} sessions of {PROMPT} + {ANSWER} tokens in {CELLS:,} cells; tokens are generated ones, over the whole time."
    table = report.table(["server", "finished", "tok/s", "seconds"], rows)
    return Section(f"{text}\n\n{table}\n\n{words}", [
        Verdict("sessions that finish, of 64", sum(stream.tokens == ANSWER for stream in together.streams), SESSIONS),
        Verdict("same text together and alone, of 64", equal, SESSIONS),
        Verdict("tokens per second together / one after another", together.whole_rate() / alone.whole_rate(), 2)])
