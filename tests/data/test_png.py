import struct
import zlib

import numpy as np
import pytest

from longarena.data.png import decode, encode
from longarena.errors import UserError


def png(header, rows):
    """Write a PNG from its header and its filtered rows, by the letter of the standard."""
    parts = ((b"IHDR", struct.pack(">IIBBBBB", *header)), (b"IDAT", zlib.compress(rows)))
    chunks = [
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in (*parts, (b"IEND", b""))
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (32, 32), (5, 130)])
def test_what_is_written_is_read(shape):
    pixels = np.random.default_rng(0).integers(0, 256, shape, np.uint8)
    np.testing.assert_array_equal(decode(encode(pixels), "a.png"), pixels)


def test_every_filter_is_undone():
    # worked by hand: guesses 0 0 | 10 | 10 30 | 5 then 15 + 20 / 2 | Paeth
    rows = bytes([0, 10, 20, 1, 10, 20, 2, 5, 5, 3, 250, 3, 4, 1, 2])
    expected = [[10, 20], [10, 30], [15, 35], [1, 21], [2, 23]]
    assert decode(png((2, 5, 8, 0, 0, 0, 0), rows), "a.png").tolist() == expected


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "begin"),
        (b"GIF89a", "begin"),
        (encode(np.zeros((4, 4), np.uint8))[:30], "not a grey PNG"),
        (encode(np.zeros((4, 4), np.uint8))[:-20], "not a grey PNG"),
        (encode(np.zeros((4, 4), np.uint8)).replace(b"IDAT", b"IDAX"), "checksum"),
        (png((2, 1, 8, 2, 0, 0, 0), bytes(7)), "format"),
        (png((2, 1, 8, 0, 0, 0, 0), b"\x05\x00\x00"), "damaged"),
        (png((2, 2, 8, 0, 0, 0, 0), bytes(3)), "damaged"),
        (png((1 << 20, 1 << 20, 8, 0, 0, 0, 0), bytes(3)), "1048576"),
    ],
)
def test_what_is_no_grey_png_is_refused_by_name(content, why):
    with pytest.raises(UserError, match=rf"imgs/0/sample_1\.png.*{why}"):
        decode(content, "imgs/0/sample_1.png")
