"""A learning curve in the terminal, fitted to its width.

    36.4 |                *****
         |        ********
         |   *****
    17.0 |***. . . . . . . . .
         +--------------------
          50       1,000 steps

The dots are those of braille, eight to a character, or stars where the output is not UTF-8.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

Dot = tuple[int, int]
HEIGHT = 8
# the bits of a braille character: two columns of four dots
BRAILLE = 0x2800
BITS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))


@dataclass(frozen=True)
class Pen:
    """What is drawn with: dots per character, across and down, and the lines of the axes."""

    across: int
    down: int
    axis: str
    corner: str
    base: str
    character: Callable[[Iterable[Dot], Iterable[Dot]], str]


def _braille(curve: Iterable[Dot], level: Iterable[Dot]) -> str:
    bits = sum(BITS[x][y] for x, y in {*curve, *level})
    return chr(BRAILLE + bits) if bits else " "


def _plain(curve: Iterable[Dot], level: Iterable[Dot]) -> str:
    return "*" if curve else "." if level else " "


FINE = Pen(2, 4, "│", "└", "─", _braille)
PLAIN = Pen(1, 1, "|", "+", "-", _plain)


@dataclass(frozen=True)
class Picture:
    """The points of a curve, the height of its level, and how heights are written."""

    steps: Sequence[int]
    values: Sequence[float]
    level: float | None
    write: Callable[[float], str]

    @property
    def limits(self) -> tuple[float, float]:
        """The lowest and the highest number, of the level too."""
        every = [*self.values, *([] if self.level is None else [self.level])]
        return min(every), max(every)


def plot(picture: Picture, width: int, pen: Pen, end: str = "") -> list[str]:
    """Draw a curve with its axes; `end` is written after the last step."""
    labels = _labels(picture)
    margin = max(map(len, labels.values()))
    columns = max(1, width - margin - 2)
    rows = _rows(picture, columns, pen)
    first, last = f"{picture.steps[0]:,}", f"{picture.steps[-1]:,} steps{end}"
    gap = " " * max(1, columns - len(first) - len(last))
    below = f"{first}{gap}{last}" if len(picture.steps) > 1 else last
    return [
        *(
            f"{labels.get(at, ''):>{margin}} {pen.axis}{row}".rstrip()
            for at, row in enumerate(rows)
        ),
        f"{'':>{margin}} {pen.corner}{pen.base * columns}",
        f"{'':>{margin}}  {below}",
    ]


def _labels(picture: Picture) -> Mapping[int, str]:
    """Write the heights of the top, of the level and of the bottom beside their rows."""
    low, high = picture.limits
    if low == high:
        return {HEIGHT - 1: picture.write(low)}
    heights = [] if picture.level is None else [picture.level]
    rows = {_down(height, low, high, HEIGHT): height for height in (*heights, low, high)}
    return {row: picture.write(height) for row, height in rows.items()}


def _rows(picture: Picture, columns: int, pen: Pen) -> list[str]:
    width, height = columns * pen.across, HEIGHT * pen.down
    low, high = picture.limits
    curve, level = set(_line(picture, width, height)), set[Dot]()
    if picture.level is not None:
        at = _down(picture.level, low, high, height)
        level = {(x, at) for x in range(0, width, 2 * pen.across)}
    return [
        "".join(
            pen.character(_inside(curve, x, y, pen), _inside(level, x, y, pen))
            for x in range(columns)
        )
        for y in range(HEIGHT)
    ]


def _inside(dots: set[Dot], x: int, y: int, pen: Pen) -> list[Dot]:
    """Return the dots of a character, counted from its own corner."""
    return [
        (across, down)
        for across in range(pen.across)
        for down in range(pen.down)
        if (x * pen.across + across, y * pen.down + down) in dots
    ]


def _line(picture: Picture, width: int, height: int) -> Iterable[Dot]:
    """Join the points by lines without gaps."""
    low, high = picture.limits
    first, last = picture.steps[0], picture.steps[-1]
    corners = [
        (
            round((width - 1) * (step - first) / max(1, last - first)),
            _down(value, low, high, height),
        )
        for step, value in zip(picture.steps, picture.values, strict=True)
    ]
    yield corners[0]
    for (x, y), (to_x, to_y) in pairwise(corners):
        count = max(abs(to_x - x), abs(to_y - y), 1)
        for i in range(1, count + 1):
            yield x + round(i * (to_x - x) / count), y + round(i * (to_y - y) / count)


def _down(value: float, low: float, high: float, height: int) -> int:
    """Return the row of a value, counted from the top; a flat curve lies at the bottom."""
    return height - 1 - round((height - 1) * (value - low) / ((high - low) or 1.0))
