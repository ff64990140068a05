"""Learning curves drawn for the terminal, against pictures made by hand."""

import pytest

from longarena.cli.plot import FINE, HEIGHT, PLAIN, Picture, plot

RISE = Picture([10, 20, 30], [0.1, 0.5, 0.8], level=0.3, write="{:.1f}".format)


def test_a_curve_is_drawn_with_plain_characters():
    assert plot(RISE, 24, PLAIN, " (9 s)") == [
        "0.8 |                 **",
        "    |              ***",
        "    |           ***",
        "    |        ***",
        "    |      **",
        "0.3 |. . **. . . . . . .",
        "    |  **",
        "0.1 |**",
        "    +-------------------",
        "     10   30 steps (9 s)",
    ]


def test_a_curve_is_drawn_with_braille():
    lines = plot(Picture([1, 9], [0.0, 1.0], None, str), 12, FINE)
    assert lines[0] == "1.0 │      ⡜"
    assert lines[HEIGHT - 1] == "0.0 │⡜"
    assert lines[HEIGHT:] == ["    └───────", "     1 9 steps"]


@pytest.mark.parametrize("pen", [FINE, PLAIN])
@pytest.mark.parametrize("width", [30, 79, 100])
def test_a_curve_is_as_wide_as_it_may_be_and_no_wider(pen, width):
    lines = plot(RISE, width, pen)
    assert max(map(len, lines)) == width


def test_less_is_drawn_lower_whichever_way_is_better():
    falling = Picture([10, 20], [2.0, 1.0], level=1.5, write=str)
    lines = plot(falling, 20, PLAIN)
    assert lines[0].startswith("2.0 |*")
    assert lines[HEIGHT - 1].endswith("*")


def test_a_flat_curve_and_a_single_point_are_drawn():
    flat = plot(Picture([1, 2], [0.5, 0.5], 0.5, str), 12, PLAIN)
    assert flat[HEIGHT - 1] == "0.5 |*******"
    assert [line.strip() for line in flat[: HEIGHT - 1]] == ["|"] * (HEIGHT - 1)
    single = plot(Picture([7], [0.5], None, str), 12, PLAIN)
    assert single[HEIGHT - 1] == "0.5 |*"
    assert single[-1].strip() == "7 steps"


def test_a_plain_picture_is_ascii():
    assert all(line.isascii() for line in plot(RISE, 60, PLAIN))
