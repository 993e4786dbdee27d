"""Where the programs and models under test are, and clear words when one is missing."""
import os
import pathlib
import shutil
import subprocess
import sys

REPO = pathlib.Path(__file__).resolve().parents[2]


class GaveUp(SystemExit):
    """Ends the script; one that has more to measure may catch it."""


def give_up(message):
    print(f"error: {message}", file=sys.stderr)
    raise GaveUp(1)


def _built(name, variable):
    path = pathlib.Path(os.environ.get(variable, REPO / "build/release/bin" / name))
    if not path.exists():
        give_up(f"{path} is missing: run script/build release {name}")
    return str(path)


def models_of_kind(kind, folder):
    """Models that only few measurements need, made into a folder: corral-make-models --KIND."""
    command = [_built("corral-make-models", "CORRAL_MAKE_MODELS"), f"--{kind}", "--out", str(folder)]
    if subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode != 0:
        give_up(f"{' '.join(command)} has failed")
    return pathlib.Path(folder)


def corral():
    return _built("corral", "CORRAL_PROGRAM")


def schema_judge():
    return _built("corral-schema-judge", "CORRAL_SCHEMA_JUDGE")


def stream_load():
    return _built("corral-stream-load", "CORRAL_STREAM_LOAD")


def pass_recorder():
    return _built("libcorral-pass-recorder.so", "CORRAL_PASS_RECORDER")


def wire():
    return _built("corral-wire", "CORRAL_WIRE")


def tunnel():
    return _built("corral-tunnel", "CORRAL_TUNNEL")


def installed(name):
    path = shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")
    if not path:
        give_up(f"{name} is missing: run script/bootstrap --test")
    return path


def llama(name):
    """One of llama.cpp's own programs, of the release that corral is built with."""
    folder = os.environ.get("CORRAL_LLAMA_BIN", "")
    path = pathlib.Path(folder) / name
    if not folder or not path.exists():
        give_up(f"llama.cpp's {name} is missing: run script/bootstrap --test, and start this with script/bench")
    return str(path)


def models(*arguments):
    """The folder with the made models (see script/models)."""
    made = subprocess.run([REPO / "script/models", *arguments], stdout=subprocess.PIPE, text=True)
    if made.returncode != 0:
        give_up("script/models failed")
    return pathlib.Path(made.stdout.strip().splitlines()[-1])
