"""First token of a second session whose first 2,048 tokens another session has had."""
from engine.common import Section, Verdict, milliseconds
from harness import load, report, servers
from harness.processes import stage
from harness.prompts import Prompts, completion

TITLE = "Shared prefix"
METHOD = ("Two sessions one after the other, with the same first 2,048 tokens and 16 different ones after them; each "
          "round with a new prefix.")
SHARED, OWN = 2048, 16


def first_token(server, prompt):
    return load.run(server, [load.request("one", completion(prompt, 4))]).first_token()


def one_server(server, rounds):
    prompts = Prompts(server)
    first_token(server, prompts.tokens(SHARED))
    firsts, seconds = [], []
    for _ in range(rounds):
        shared = prompts.tokens(SHARED)
        firsts.append(first_token(server, shared + prompts.tokens(OWN)))
        seconds.append(first_token(server, shared + prompts.tokens(OWN)))
    return report.median(firsts), report.median(seconds)


def measure(setting):
    rows, ratios = [], []
    for name, make in (("**corral engine**", servers.corral_engine), ("llama-server", servers.llama_server)):
        with stage() as started:
            first, second = one_server(make(started, setting.model), setting.rounds + setting.pick(3, 0))
        ratios.append(second / first)
        rows.append([name, milliseconds(first), milliseconds(second), f"1/{first / second:.0f}"])
        report.note(f"  {name}: {milliseconds(first)} ms, then {milliseconds(second)} ms")
    table = report.table(["server", "first session ms", "second session ms", "ratio"], rows)
    return Section(table, [Verdict("first token with a shared prefix of 2,048 tokens / without", ratios[0], 1 / 20, at_most=True)])
