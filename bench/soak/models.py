"""The models of all types, and the configuration that declares those which aren't files."""
import json

from harness import programs, servers

LLMS = ("scripted-hello", "scripted-unicode", "scripted-tool-call", "tiny-llama", "tiny-qwen3", "tiny-moe", "tiny-vision")
EMBEDDER, RERANKER, LISTENER, SPEAKER = "tiny-embed", "tiny-rerank", "scripted-whisper", "espeak-ng"
PAINTERS = ("painter", "sketcher")  # two, in one slot
ALL = (*LLMS, EMBEDDER, RERANKER, LISTENER, SPEAKER, *PAINTERS)

PAUSE = 30  # ms that an image takes, so that kills and clients that leave meet some

PAINTER = """
[models.{name}]
recipe = "sd-cpp"
checkpoint = "{checkpoint}"
program = "{program}"
args = ["--steps", "{steps}"]
"""


def files(stage):
    made = programs.models()
    vision = programs.models_of_kind("vision", stage.folder / "vision")
    of_vision = [vision / f"{name}.gguf" for name in ("tiny-vision", "mmproj-tiny-vision")]
    plain = [made / f"{name}.gguf" for name in (*LLMS, EMBEDDER, RERANKER) if name != "tiny-vision"]
    return [*plain, *of_vision, made / f"{LISTENER}.bin"]


def painting_program(folder):
    """The program that plays stable-diffusion.cpp's server."""
    behaviour = folder / "sd-server.json"
    behaviour.write_text(json.dumps({"hold": str(folder / "hold"), "log": str(folder / "log"), "pause": PAUSE}))
    program = folder / "sd-server"
    played = programs.REPO / "tests/support/fake-sd-server.mjs"
    program.write_text(f'#!/bin/sh\nexec "{programs.installed("node")}" "{played}" "{behaviour}" "$@"\n')
    program.chmod(0o755)
    return program


def serve(stage):
    """A server that knows them all; espeak-ng it knows where that is installed."""
    programs.installed("espeak-ng")
    folder = stage.folder / "config"
    folder.mkdir()
    (folder / "config.toml").touch()
    checkpoint = folder / "sd.safetensors"
    checkpoint.write_text("x")
    program = painting_program(folder)
    entries = [PAINTER.format(name=name, checkpoint=checkpoint, program=program, steps=steps) for steps, name in enumerate(PAINTERS, 4)]
    (folder / "models.toml").write_text("".join(entries))
    return servers.corral_serve(stage, servers.model_folder(stage, files(stage)), "--config", folder / "config.toml")
