"""Memory that goes when an engine is downsized, and the first token after it comes back."""
import re

from engine.common import Section, Verdict, milliseconds
from harness import load, programs, report, servers
from harness.processes import resident_bytes, stage
from harness.prompts import Prompts, completion

TITLE = "Downsize"
METHOD = ("Resident memory of the engine process before and after `{\"downsize\":{}}` on its control channel. The "
          "expected reduction is what llama-server of the same build reports for KV cells, compute and output buffers "
          "of the same sizes.")
CELLS, SEQUENCES, BATCH = 8192, 16, 512  # the engine's defaults
CONVERSATION, MORE = 1024, 16
ANSWER_SECONDS = 20


def allocated(model):
    """Bytes of the context's buffers, by llama-server's log."""
    with stage() as started:
        server = servers.llama_server(started, model, "-c", CELLS, "-np", SEQUENCES, "-b", BATCH, "-ub", BATCH, "-kvu", "-lv", 4)
        log = server.process.log.read_text(errors="replace")
    sizes = re.findall(r"(?:KV|compute|output) buffer size = +([0-9.]+) MiB", log)
    if len(sizes) < 3:
        programs.give_up("llama-server's log doesn't tell the sizes of its buffers")
    return sum(map(float, sizes)) * 2**20


def measure(setting):
    with stage() as started:
        server = servers.corral_engine(started, setting.model, ctx_size=CELLS, parallel=SEQUENCES)
        prompts, pid = Prompts(server), server.process.child.pid
        # Every page of the buffers is touched: full batches, all sequences.
        load.run(server, [load.request(f"client {number}", completion(prompts.tokens(BATCH - 32), 16)) for number in range(SEQUENCES)])
        history = prompts.tokens(CONVERSATION)

        def speak():
            return load.run(server, [load.request("one", completion(history, 4))]).first_token()

        fresh = speak()
        history += prompts.tokens(MORE)
        kept = speak()
        before = resident_bytes(pid)
        server.control.tell({"downsize": {}})
        answer = server.control.answer(("downsized",), ANSWER_SECONDS)
        if not answer or not answer["downsized"]["done"]:
            why = "says that it is busy" if answer else "has no answer"
            report.note(f"  skipped: the engine {why}")
            return Section(f"Skipped: to `downsize` on its control channel this engine {why}.", [])
        after = resident_bytes(pid)
        history += prompts.tokens(MORE)
        restored = speak()
        again = resident_bytes(pid)
    should = allocated(setting.model)
    sizes = {"before": before, "after": after, "after the next request": again, "KV, compute and output buffers": should}
    rows = [[what, f"{value / 2**20:.0f}"] for what, value in sizes.items()]
    waits = {"nothing of it known": fresh, "KV in place": kept, "downsized": restored}
    times = [[what, milliseconds(value)] for what, value in waits.items()]
    report.note(f"  {(before - after) / 2**20:.0f} of {should / 2**20:.0f} MiB went; first token {milliseconds(restored)} ms")
    text = (f"{report.table(['resident', 'MiB'], rows)}\n\nA conversation of {CONVERSATION:,} tokens continues:\n\n"
            f"{report.table(['state', 'first token ms'], times)}")
    return Section(text, [Verdict("share of KV and compute bytes that went", (before - after) / should, 0.95)])
