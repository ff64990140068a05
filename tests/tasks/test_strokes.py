"""Stamps are compared with Pillow's: these are digests of what Pillow 13 drew."""

import hashlib

import numpy as np
import pytest

from longarena.tasks.generate import strokes


def digest(arrays):
    return hashlib.sha256(b"".join(array.tobytes() for array in arrays)).hexdigest()[:16]


@pytest.mark.parametrize(
    ("length", "thickness", "margin", "expected"),
    [
        (2, 0.5, 1, "4d4e3c0f542d5f2d"),
        (5, 1, 1, "21e0e69aff83611f"),
        (5, 1.5, 2, "9a7ec3f1af5a0a2f"),
        (5, 1.5, 3, "b99b1bb6ee6ffb19"),
        (5, 2, 3, "9f42e19f3ddd4569"),
    ],
)
def test_strokes_and_zones_are_pillows_to_the_byte(length, thickness, margin, expected):
    angles = np.arange(-180, 180) * np.pi / 180
    drawn = [strokes.stroke(angle, length, thickness, margin) for angle in angles]
    assert digest(array for pair in drawn for array in pair) == expected


@pytest.mark.parametrize(
    ("radius", "expected"),
    [
        (1.5, "02cb4658bfc218d7"),
        (2.5, "87c194437bafa703"),
        (3.0, "4b4af0ec33025b53"),
        (5.0, "ea3a530a55818f70"),
    ],
)
def test_discs_are_pillows_to_the_byte(radius, expected):
    assert digest([strokes.disc(radius)]) == expected
