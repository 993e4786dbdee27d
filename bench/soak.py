#!/usr/bin/env python3
"""Random traffic over thirteen models of all types with kills and changed settings: no wrong answer, nothing leaked.

Chats, with pictures too, embeddings, reranking, images, speech and transcription: clients ask, stream, leave in the middle, load,
unload, pin and send nonsense, while processes of each type are killed and limits change. Types have one slot, chats one to three.
Every answer is compared with the one the model gave alone. Images come from a simulated sd-server.
Ends with 1 if anything was wrong, missing or left behind, or if some kind of request had no answer or some type no kill."""
import argparse
import random
import threading
import time

from harness import report
from harness.processes import stage
from soak import models
from soak.clients import Client
from soak.destroyer import destroy, settings
from soak.holdings import Holdings
from soak.world import PATIENCE, World

MANY = 20  # failures, with which it ends


def arguments():
    parser = argparse.ArgumentParser(prog="script/bench soak", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30, help="how long (default %(default)s)")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30), help="of the random choices (default: a random one)")
    parser.add_argument("--clients", type=int, default=8, help="(default %(default)s)")
    return parser.parse_args()


def run(world, args):
    clients = [Client(world, args.seed + number) for number in range(args.clients)]
    destroyer = threading.Thread(target=destroy, args=(world, args.seed - 1), daemon=True)
    for thread in (*clients, destroyer):
        thread.start()
    end, reported = time.monotonic() + args.minutes * 60, time.monotonic()
    while time.monotonic() < end and len(world.failures) < MANY and not world.server_ended():
        time.sleep(0.5)
        if time.monotonic() - reported > 60:
            reported = time.monotonic()
            report.note(f"  {(end - reported) / 60:.0f} minutes left: {dict(world.counts)}")
    world.ended.set()
    for thread in (*clients, destroyer):
        thread.join(PATIENCE + 30)
        if thread.is_alive():
            world.fail(f"a request never ended ({thread})")


def main():
    args = arguments()
    report.note(f"seed {args.seed}, {args.minutes:g} minutes, {args.clients} clients")
    with stage() as started:
        world = World(models.serve(started), started.folder)
        settings(world, {"max_loaded_models": "llm=3"})
        world.learn()
        first = Holdings(world)
        run(world, args)
        last = None if world.server_ended() else Holdings(world)
        log = world.server.process.log.read_text(errors="replace")
    report.note(f"done: {dict(world.counts)}")
    report.note(f"before: {first}\nafter:  {last or 'the server has ended'}")
    world.failures += world.missing()
    world.failures += last.left_behind(first) if last else [f"the server has ended with {world.server.process.child.returncode}"]
    if world.failures:
        report.note(f"{len(world.failures)} failures; seed {args.seed}\n" + "\n".join(world.failures[:MANY]) + f"\n{log[-4000:]}")
        raise SystemExit(1)
    report.note("nothing wrong, nothing missing, nothing left behind")


if __name__ == "__main__":
    main()
