"""The models of all types, and the configuration that declares those which aren't files."""
import json

from harness import programs, servers

LLMS = ("scripted-hello", "scripted-unicode", "scripted-tool-call", "tiny-llama", "tiny-qwen3", "tiny-moe", "tiny-vision")
EMBEDDING, RERANKING, TRANSCRIPTION, SPEECH = "tiny-embed", "tiny-rerank", "scripted-whisper", "espeak-ng"
IMAGES = ("image-one", "image-two")  # two, in one slot
ALL = (*LLMS, EMBEDDING, RERANKING, TRANSCRIPTION, SPEECH, *IMAGES)

PAUSE = 30  # ms that an image takes, so that kills and clients that leave meet some

IMAGE_ENTRY = """
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
    plain = [made / f"{name}.gguf" for name in (*LLMS, EMBEDDING, RERANKING) if name != "tiny-vision"]
    return [*plain, *of_vision, made / f"{TRANSCRIPTION}.bin"]


def image_program(folder):
    """A simulated sd-server."""
    behaviour = folder / "sd-server.json"
    behaviour.write_text(json.dumps({"hold": str(folder / "hold"), "log": str(folder / "log"), "pause": PAUSE}))
    program = folder / "sd-server"
    simulator = programs.REPO / "tests/support/fake-sd-server.mjs"
    program.write_text(f'#!/bin/sh\nexec "{programs.installed("node")}" "{simulator}" "{behaviour}" "$@"\n')
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
    program = image_program(folder)
    entries = [IMAGE_ENTRY.format(name=name, checkpoint=checkpoint, program=program, steps=steps) for steps, name in enumerate(IMAGES, 4)]
    (folder / "models.toml").write_text("".join(entries))
    return servers.corral_serve(stage, servers.model_folder(stage, files(stage)), "--config", folder / "config.toml")
