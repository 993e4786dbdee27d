"""Pictures, sounds and forms as requests have them, and what images say of themselves."""
import base64
import io
import json
import wave

from harness import pictures

BOUNDARY = "a-line-between-parts"


def picture(width, height, salt):
    """A part of a message; the colours of the picture follow from `salt`."""
    rows = b"".join(b"\0" + bytes((x * 7 + y * 13 * colour + salt * 50 * (colour + (x >> 4) + (y >> 4))) % 256
                                  for x in range(width) for colour in (1, 2, 3)) for y in range(height))
    return pictures.picture(pictures.png_of(width, height, rows))


def silence(seconds):
    """A wav file."""
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setparams((1, 2, 8000, 0, "NONE", ""))
        sound.writeframes(bytes(2 * 8000 * seconds))
    return file.getvalue()


def form(fields, sound):
    """A body with these fields and the sound as a file, and its content type."""
    parts = [f'name="{name}"\r\n\r\n{value}'.encode() for name, value in fields.items()]
    parts.append(b'name="file"; filename="a.wav"\r\nContent-Type: audio/wav\r\n\r\n' + sound)
    lines = b"".join(f"--{BOUNDARY}\r\nContent-Disposition: form-data; ".encode() + part + b"\r\n" for part in parts)
    return lines + f"--{BOUNDARY}--\r\n".encode(), f"multipart/form-data; boundary={BOUNDARY}"


def described(item):
    """What the simulated sd-server has written into its image, without its port, which is another one after each start."""
    file = base64.b64decode(item["b64_json"])
    got = json.loads(file[41:41 + int.from_bytes(file[33:37], "big")])
    del got["words"][got["words"].index("--listen-port") + 1]
    return file[:33] + json.dumps(got).encode()
