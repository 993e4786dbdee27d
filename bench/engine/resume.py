"""First token on return to a conversation of 4,096 tokens that lost its KV cells, and after unload and reload."""
from engine.common import Section, Verdict, milliseconds
from harness import load, report, servers
from harness.processes import stage
from harness.prompts import Prompts, answer_tokens, completion

TITLE = "Return"
METHOD = ("A conversation of 4,096 tokens is followed by two others that fill the KV cache of 8,192 cells; then it "
          "continues with its own output and 16 more tokens. After a reload: the engine is stopped as by an unload "
          "(SIGTERM) and started again with the same `park_dir`; the load time is not included. Both are compared with "
          "the first prefill of the conversation.")
LENGTH, ANSWER, MORE, OTHERS = 4096, 16, 16, 2
CELLS = 8192
UNLOAD_SECONDS = 30


class Conversation:
    def __init__(self, prompts):
        self._prompts = prompts
        self._history = prompts.tokens(LENGTH)

    def turn(self, server):
        """Seconds to the first token of the next answer, which then belongs to the conversation."""
        done, = load.run(server, [load.request("turn", completion(self._history, ANSWER))]).streams
        self._history += answer_tokens(done.text) + self._prompts.tokens(MORE)
        return done.first_token()


def warm_up(server, prompts):
    load.run(server, [load.request("warm", completion(prompts.tokens(512), 4))])


def after_parking(setting, rounds):
    first, back = [], []
    with stage() as started:
        server = servers.corral_engine(started, setting.model, ctx_size=CELLS)
        prompts = Prompts(server)
        warm_up(server, prompts)
        for _ in range(rounds):
            conversation = Conversation(prompts)
            first.append(conversation.turn(server))
            for _ in range(OTHERS):
                Conversation(prompts).turn(server)
            back.append(conversation.turn(server))
    return report.median(first), report.median(back)


def after_reload(setting, rounds):
    first, back = [], []
    for number in range(rounds):
        with stage() as started:
            parked = started.folder / "parked"
            parked.mkdir()
            options = {"ctx_size": CELLS, "park_dir": str(parked)}
            server = servers.corral_engine(started, setting.model, name="corral before", **options)
            prompts = Prompts(server, seed=number)
            warm_up(server, prompts)
            conversation = Conversation(prompts)
            first.append(conversation.turn(server))
            server.process.stop(UNLOAD_SECONDS)
            server = servers.corral_engine(started, setting.model, name="corral after", **options)
            warm_up(server, prompts)
            back.append(conversation.turn(server))
    return report.median(first), report.median(back)


def measure(setting):
    rows, ratios = [], []
    for name, how in (("its cells were taken", after_parking), ("unload and reload", after_reload)):
        first, back = how(setting, setting.rounds)
        ratios.append(back / first)
        rows.append([name, milliseconds(first), milliseconds(back), f"1/{first / back:.1f}"])
        report.note(f"  {name}: full prefill {milliseconds(first)} ms, return {milliseconds(back)} ms")
    table = report.table(["between the turns", "full prefill ms", "return ms", "ratio"], rows)
    return Section(table, [Verdict("first token on return after parking / full prefill", ratios[0], 1 / 50, at_most=True),
                           Verdict("first token on return after a reload / full prefill", ratios[1], 1 / 10, at_most=True)])
