"""1,000 idle conversations, then one of them speaks: its first token against that of a fresh engine."""
from engine.common import Section, Verdict, milliseconds
from harness import load, report, servers
from harness.processes import resident_bytes, stage
from harness.prompts import Prompts, answer_tokens, completion

TITLE = "Idle sessions"
METHOD = ("Over HTTP a session is a conversation that the engine stores. One of the thousand continues; a second engine "
          "without sessions gets an unknown conversation of the same length, in turn with the first.")
PROMPT, ANSWER, MORE = 24, 4, 8


def speak(server, prompt):
    return load.run(server, [load.request("one", completion(prompt, ANSWER))]).first_token()


def measure(setting):
    count, asked = setting.pick(1000, 100), setting.pick(15, 5)
    with stage() as started:
        fresh = servers.corral_engine(started, setting.model, name="corral fresh")
        crowded = servers.corral_engine(started, setting.model, name="corral crowded")
        prompts = Prompts(crowded)
        for server in (fresh, crowded):
            speak(server, prompts.tokens(PROMPT))
        before = resident_bytes(crowded.process.child.pid)
        histories = [prompts.tokens(PROMPT) for _ in range(count)]
        requests = [load.request(f"idle {number}", completion(history, ANSWER)) for number, history in enumerate(histories)]
        answers = load.run(crowded, requests, at_once=16).streams
        after = resident_bytes(crowded.process.child.pid)
        times = {"a fresh engine": [], f"{count} idle conversations": []}
        unknown, known = times.values()
        for number in range(asked):
            at = number * count // asked  # from the oldest on
            unknown.append(speak(fresh, prompts.tokens(PROMPT + ANSWER + MORE)))
            known.append(speak(crowded, histories[at] + answer_tokens(answers[at].text) + prompts.tokens(MORE)))
    rows = [[name, milliseconds(report.median(values)), milliseconds(max(values))] for name, values in times.items()]
    ratio = report.median(known) / report.median(unknown)
    report.note(f"  first token {milliseconds(report.median(unknown))} ms fresh, {milliseconds(report.median(known))} ms with {count} idle")
    table = report.table(["engine", "first token p50 ms", "longest ms"], rows)
    text = f"The resident memory grew by {(after - before) / 2**20:.0f} MiB with the {count} conversations."
    return Section(f"{text}\n\n{table}", [Verdict(f"first token with {count} idle conversations / fresh", ratio, 1.2, at_most=True)])
