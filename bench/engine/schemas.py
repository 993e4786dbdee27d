"""What a token of an answer with a JSON schema costs beside one without, and beside llama-server's."""
import dataclasses

from engine.common import Section, Verdict, interleave
from harness import load, report, servers
from harness.processes import stage
from harness.prompts import Prompts, completion

TITLE = "Answers with a schema"
METHOD = ("One stream. Weights are random, so the model proposes any of its tokens and almost none fits where the schema "
          "expects a name or a digit: the dearest case. A token's time is the time between two pieces of text. \"first "
          "token\" has the time for making the grammar. What a schema costs is the median time of a token with it, less "
          "the median without.")
PROMPT, ANSWER = 64, 96
TEXT = {"type": "string", "maxLength": 6}


def small():
    return {"type": "object", "properties": {"name": TEXT, "age": {"type": "integer", "minimum": 0, "maximum": 150}, "kind": {"enum": ["cat", "dog", "horse"]}},
            "required": ["name", "age", "kind"], "additionalProperties": False}


def large():
    """200 KB, in the shape of Kubernetes' definitions: 240 objects in a tree, with descriptions."""
    count, about = 240, "What this part of the object is for, and which values it takes. " * 2
    definitions = {}
    for number in range(count):
        properties = {f"field{number}x{at}": {**TEXT, "description": about} for at in range(3)}
        for inner in (2 * number + 1, 2 * number + 2):
            if inner < count:
                properties[f"part{inner}"] = {"$ref": f"#/$defs/part{inner}"}
        definitions[f"part{number}"] = {"type": "object", "description": about, "properties": properties, "required": list(properties),
                                        "additionalProperties": False}
    return {"$ref": "#/$defs/part0", "$defs": definitions}


def recursive():
    tree = {"type": "object", "properties": {"name": TEXT, "children": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/tree"}}},
            "required": ["name", "children"], "additionalProperties": False}
    return {"$ref": "#/$defs/tree", "$defs": {"tree": tree}}


SCHEMAS = {"none": None, "small": small(), "large": large(), "recursive": recursive()}


@dataclasses.dataclass(frozen=True)
class Times:
    first: float
    gaps: list

    def token(self):
        return report.median(self.gaps)


def times(server, prompts, schema, rounds):
    """Of a few answers; the small schema's answers end early, so there are as many as make up for it."""
    firsts, gaps = [], []
    for _ in range(rounds):
        body = completion(prompts.tokens(PROMPT), ANSWER, letters=False)
        if schema:
            del body["ignore_eos"]
            # Without end, so that all schemas have as many tokens.
            body["json_schema"] = {"type": "array", "items": schema, "minItems": 100} if "$ref" not in schema else schema
        answer = load.run(server, [load.request("one", body)]).streams[0]
        firsts.append(answer.first_token())
        gaps += [b - a for a, b in zip(answer.pieces, answer.pieces[1:])]
    return Times(report.median(firsts), gaps)


def measure(setting):
    rows, verdicts = [], []
    with stage() as started:
        ours = servers.corral_engine(started, setting.model, parallel=1, ctx_size=512)
        theirs = servers.llama_server(started, setting.model, "-np", 1, "-c", 512)
        mine, others = Prompts(ours), Prompts(theirs)
        costs = {}
        for name, schema in SCHEMAS.items():
            count = setting.pick(3, 1)
            own, pairs = interleave(lambda: times(ours, mine, schema, count), {"llama-server": lambda: times(theirs, others, schema, count)}, setting.rounds)
            for server, results in (("**corral engine**", own), ("llama-server", [other for other, _ in pairs["llama-server"]])):
                every = Times(report.median([one.first for one in results]), sum((one.gaps for one in results), []))
                cost = costs.setdefault(server, {})
                cost[name] = every.token() - cost.get("free", 0)
                if not schema:
                    cost["free"] = every.token()
                milli = [f"{value * 1000:.1f}" for value in (every.first, every.token(), report.percentile(every.gaps, 0.99))]
                rows.append([name, server, *milli, f"{cost[name] * 1000:.2f}" if schema else ""])
                report.note(f"  {name}: {' '.join(rows[-1][1:])}")
            if schema:
                ratio = report.median([one.token() for one in own]) / report.median([other.token() for other, _ in pairs["llama-server"]])
                verdicts.append(Verdict(f"a token, {name} schema / llama-server's", ratio, 1, at_most=True))
    table = report.table(["schema", "server", "first token ms", "a token ms", "99 % ms", "the schema's share ms"], rows)
    return Section(table, verdicts)
