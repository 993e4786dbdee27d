"""Kills processes of each type of model, and changes settings, at random."""
import contextlib
import json
import os
import pathlib
import random
import signal
import time
import typing

from soak.holdings import processes
from soak.models import SPEECH
from soak.world import TYPES

BAG = (*TYPES, "llm", "llm")  # most models are of this type
LOOKS = 100  # for a process that works, one each 20 ms


class Victim(typing.NamedTuple):
    model: str
    pid: int
    busy: bool


def health(world):
    with contextlib.closing(world.connection()) as connection:
        connection.send("GET", "/v1/health")
        _, headers = connection.read_head()
        return json.loads(connection.read_body(headers))


def settings(world, values):
    with contextlib.closing(world.connection()) as connection:
        code, body = connection.ask("/internal/set", json.dumps(values).encode())
    world.count("settings")
    if code != 200:
        world.fail(f"set {values}: {code} {body[:300]!r}")


def victims(world, type):
    if type == "tts":  # a process for each request, which health doesn't list
        return [Victim(SPEECH, pid, True) for pid in processes(world) if name_of(pid) == "espeak-ng"]
    there = health(world)
    return [Victim(entry["model_name"], entry["pid"], entry["is_busy"])
            for entry in there["all_models_loaded"] + there["stopping"] if entry["type"] == type and entry.get("pid")]


def name_of(pid):
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()


def kill(world, type, choices):
    """Sometimes the first process of that type that is seen, sometimes one that works, if there is one soon."""
    patience = choices.choice((1, LOOKS))
    for look in range(1, LOOKS + 1):
        there = victims(world, type)
        busy = [victim for victim in there if victim.busy]
        if busy or there and look >= patience:
            break
        if world.ended.wait(0.02):
            return
    if not there:
        return
    victim = choices.choice(busy or there)
    world.kills[victim.model].append(time.monotonic())  # before it, so that no request meets one that isn't known
    with contextlib.suppress(ProcessLookupError):
        os.kill(victim.pid, signal.SIGKILL)
        world.count(f"{type} killed")


def destroy(world, seed):
    """Every now and then kills a process or changes a setting."""
    try:
        destroy_at_random(world, random.Random(seed))
        settings(world, {"max_loaded_models": "llm=3", "swap_patience": "2s"})
    except OSError as error:
        world.fail(f"health or settings: {type(error).__name__}: {error}")


def destroy_at_random(world, choices):
    bag = []
    while not world.ended.wait(choices.uniform(0.2, 3)):
        if choices.random() < 0.5:
            bag = bag or choices.sample(BAG, len(BAG))
            kill(world, bag.pop(), choices)
        else:
            limits, patience = f"llm={choices.randint(1, 3)}", choices.choice(("0s", "200ms", "2s"))
            settings(world, choices.choice(({"max_loaded_models": limits}, {"swap_patience": patience})))
