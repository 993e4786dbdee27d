"""Pictures that no server has seen, and the parts of a chat's message."""
import base64
import struct
import zlib

SIDE = 4  # pixels of a square of one colour: a file has about as many bytes as a photo's


def png(width, height, random):
    """A file of squares in random colours."""
    rows = bytearray()
    for top in range(0, height, SIDE):
        line = b"".join(random.randbytes(3) * SIDE for _ in range(0, width, SIDE))[:3 * width]
        rows += (b"\0" + line) * min(SIDE, height - top)
    return png_of(width, height, rows)


def png_of(width, height, rows):
    """A file of these rows: each is a zero and three bytes for each pixel."""
    sizes = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", sizes) + _chunk(b"IDAT", zlib.compress(rows)) + _chunk(b"IEND", b"")


def _chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def picture(file):
    return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{base64.b64encode(file).decode()}"}}


def text(words):
    return {"type": "text", "text": words}


def user(*parts):
    return {"role": "user", "content": list(parts)}


def assistant(words):
    return {"role": "assistant", "content": words}
