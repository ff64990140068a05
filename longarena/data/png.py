"""Read and write grey PNG images of 8 bits, one byte per pixel.

A PNG is a signature and chunks (length, kind, content, checksum). The IDAT chunks hold the pixels,
compressed by zlib. Before compression each row is filtered: one byte says how, and then follow the
differences between the pixels and a guess from their neighbours left, above, and above left:

    0 none   1 left   2 above   3 (left + above) // 2   4 whichever is nearest left + above - corner

Standard: https://www.w3.org/TR/png-3/
Choice:   other depths, colours and interlacing are refused; rows are written with filter 2.
"""

import struct
import zlib
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from longarena.errors import UserError
from longarena.runtime import compiled

SIGNATURE = b"\x89PNG\r\n\x1a\n"
HEADER = struct.Struct(">IIBBBBB")
GREY = (8, 0, 0, 0, 0)  # bits, colour type, compression, filter method, interlacing
MAX_PIXELS = 1 << 26

Grey = NDArray[np.uint8]


def decode(content: bytes, name: str) -> Grey:
    """Return the pixels (height, width) of a PNG; refuse any other content by its name."""
    try:
        chunks = list(_chunks(content))
        width, height, *kind = HEADER.unpack(dict(chunks)[b"IHDR"])
        if tuple(kind) != GREY or not 0 < width * height <= MAX_PIXELS:
            raise ValueError(f"{width} x {height}, format {kind}")
        size = height * (width + 1)
        packed = b"".join(data for kind, data in chunks if kind == b"IDAT")
        rows = np.frombuffer(zlib.decompressobj().decompress(packed, size), np.uint8)
        pixels = np.empty((height, width), np.uint8)
        if rows.size != size or not restore(rows.reshape(height, width + 1), pixels):
            raise ValueError("its rows are damaged")
    except (ValueError, LookupError, struct.error, zlib.error) as error:
        raise UserError(f"{name} is not a grey PNG image of 8 bits ({error})") from None
    return pixels


def encode(pixels: Grey) -> bytes:
    """Write the pixels (height, width) as a PNG."""
    height, width = pixels.shape
    above = np.vstack([np.zeros((1, width), np.uint8), pixels[:-1]])
    rows = np.hstack([np.full((height, 1), 2, np.uint8), pixels - above])
    parts = (
        (b"IHDR", HEADER.pack(width, height, *GREY)),
        (b"IDAT", zlib.compress(rows.tobytes(), 9)),
        (b"IEND", b""),
    )
    return SIGNATURE + b"".join(_pack(kind, data) for kind, data in parts)


def _pack(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _chunks(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    if not content.startswith(SIGNATURE):
        raise ValueError("it does not begin like one")
    start, kind = len(SIGNATURE), b""
    while kind != b"IEND":
        length, kind = struct.unpack_from(">I4s", content, start)
        data = content[start + 8 : start + 8 + length]
        (checksum,) = struct.unpack_from(">I", content, start + 8 + length)
        if zlib.crc32(kind + data) != checksum:
            raise ValueError("a checksum is wrong")
        yield kind, data
        start += length + 12


@compiled
def restore(rows, pixels):  # type: ignore[no-untyped-def]
    """Undo the filter of every row; False if one has a filter that does not exist."""
    height, width = pixels.shape
    for i in range(height):
        for j in range(width):
            left = int(pixels[i, j - 1]) if j else 0
            above = int(pixels[i - 1, j]) if i else 0
            corner = int(pixels[i - 1, j - 1]) if i and j else 0
            if rows[i, 0] == 0:
                guess = 0
            elif rows[i, 0] == 1:
                guess = left
            elif rows[i, 0] == 2:
                guess = above
            elif rows[i, 0] == 3:
                guess = (left + above) // 2
            elif rows[i, 0] == 4:
                guess = nearest(left, above, corner)
            else:
                return False
            pixels[i, j] = (rows[i, j + 1] + guess) & 255
    return True


@compiled
def nearest(left, above, corner):  # type: ignore[no-untyped-def]
    """Return the neighbour that is nearest their linear guess: left, above, corner in a tie."""
    guess = left + above - corner
    to_left, to_above, to_corner = abs(guess - left), abs(guess - above), abs(guess - corner)
    if to_left <= to_above and to_left <= to_corner:
        return left
    return above if to_above <= to_corner else corner
