"""Recordings of every width become numbers from -1 to 1."""

import struct

import numpy as np
import pytest
from tasks.sources import wav

from longarena.data.wav import decode
from longarena.errors import UserError

MOST = 1000


@pytest.mark.parametrize(
    ("width", "content"),
    [
        (1, bytes([0, 64, 128, 192])),
        (2, np.array([-32768, -16384, 0, 16384], "<i2").tobytes()),
        (3, b"".join(struct.pack("<i", n << 22)[1:] for n in (-512, -256, 0, 256))),
        (4, np.array([-(2**31), -(2**30), 0, 2**30], "<i4").tobytes()),
    ],
)
def test_samples_of_every_width_have_the_same_scale(width, content):
    found = decode(wav(content, width=width), "a.wav", MOST)
    assert found.samples.tolist() == [-1, -0.5, 0, 0.5]
    assert found.rate == 8000


def test_two_channels_become_their_mean():
    found = decode(wav([100, 300, -50, 50], channels=2), "a.wav", MOST)
    np.testing.assert_allclose(found.samples * 32768, [200, 0])


def test_a_lower_rate_averages_neighbours():
    found = decode(wav([0, 200, 400, 600, 999]), "a.wav", MOST).at_rate(4000, "a.wav")
    np.testing.assert_allclose(found.samples * 32768, [100, 500])
    assert found.rate == 4000


@pytest.mark.parametrize("rate", [3000, 16000])
def test_a_rate_that_does_not_divide_is_refused(rate):
    with pytest.raises(UserError, match="cannot be averaged"):
        decode(wav([1, 2]), "a.wav", MOST).at_rate(rate, "a.wav")


FLOATS = bytearray(wav([1, 2]))
FLOATS[20] = 3  # the format: IEEE floats


@pytest.mark.parametrize(
    ("content", "answer"),
    [
        (b"", "is not a WAV file"),
        (b"RIFF", "is not a WAV file"),
        (b"ID3\x03 this is an mp3", "is not a WAV file"),
        (bytes(FLOATS), "unknown format: 3"),
        (wav([1] * 2000), "2,000 samples; cut it"),
        (wav([1, 2, 3])[:-1], "ends inside a sample"),
    ],
)
def test_what_cannot_be_read_is_refused_in_one_line(content, answer):
    with pytest.raises(UserError, match=answer) as refusal:
        decode(content, "a.wav", MOST)
    assert "a.wav" in str(refusal.value)
    assert "\n" not in str(refusal.value)
