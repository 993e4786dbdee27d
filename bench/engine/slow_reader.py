"""7 clients beside one that never reads its answer, against 7 alone."""
import contextlib
import json
import time

from engine.common import Section, Verdict, interleave, median_ratio
from harness import client, load, programs, report, servers
from harness.processes import stage
from harness.prompts import Prompts, completion

TITLE = "Slow reader"
METHOD = ("The client that never reads starts first; the seven others start when the engine has stopped decoding for "
          "it. Whole tokens per second of the seven, with and without it in turn.")
READERS, PROMPT, TOKENS = 7, 32, 160
ENDLESS = 5000  # tokens asked for by the one that doesn't read
PATIENCE = 120  # seconds until its buffers must be full


def stats(server):
    with contextlib.closing(client.Connection(server.port)) as connection:
        connection.send("GET", "/v1/stats")
        return json.loads(connection.read_body(connection.read_head()[1]))


def wait_until_it_rests(server, before):
    """Returns the tokens that were made for a client that doesn't take them."""
    seen, deadline = before, time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        time.sleep(0.5)
        now = stats(server)
        made = now["predicted_tokens"]
        if made == seen and made > before:
            if now["generating"] == 0:
                programs.give_up("the engine has ended an answer that nobody read: its buffers took all of it")
            return made - before
        seen = made
    programs.give_up(f"the engine still decodes for a client that has read nothing for {PATIENCE} s")


def measure(setting):
    with stage() as started:
        server = servers.corral_engine(started, setting.model)
        prompts = Prompts(server)
        made = []

        def seven():
            requests = [load.request(f"reader {number}", completion(prompts.tokens(PROMPT), TOKENS)) for number in range(READERS)]
            return load.run(server, requests)

        def beside_one_that_never_reads():
            before = stats(server)["predicted_tokens"]
            with load.held(server, [load.request("deaf", completion(prompts.tokens(PROMPT), ENDLESS), read=False)]):
                made.append(wait_until_it_rests(server, before))
                return seven()

        seven()
        name = "beside one that never reads"
        alone, beside = interleave(seven, {name: beside_one_that_never_reads}, setting.rounds)
    ratio = 1 / median_ratio(beside[name], lambda run: run.whole_rate())
    rows = [[what, f"{report.median([run.whole_rate() for run in runs]):.1f}"]
            for what, runs in (("alone", alone), (name, [run for run, _ in beside[name]]))]
    report.note(f"  {rows[0][1]} tok/s alone, {rows[1][1]} beside; it rested after {max(made)} tokens")
    text = f"{READERS} clients, {PROMPT} + {TOKENS} tokens each. The engine rested after {max(made)} tokens for the one that doesn't read."
    return Section(f"{text}\n\n{report.table(['7 clients', 'tok/s'], rows)}",
                   [Verdict("tokens per second beside one that never reads / alone", ratio, 0.97)])
