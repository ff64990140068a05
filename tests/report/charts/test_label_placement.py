import random
from itertools import combinations

import numpy as np
import pytest

from longarena.report.charts.label_placement import (
    LINE_HEIGHT,
    Dot,
    around,
    column,
    covered,
    name_box,
)


@pytest.mark.parametrize("seed", range(5))
def test_names_in_a_column_never_overlap_and_stay_inside(seed):
    rng = random.Random(seed)
    heights = column([rng.uniform(100, 200) for _ in range(18)], limit=340)
    gaps = [abs(a - b) for a, b in combinations(heights, 2)]
    assert min(gaps) > LINE_HEIGHT - 1e-6
    assert min(heights) >= 0
    assert max(heights) <= 340


def test_names_in_a_column_keep_the_order_of_their_lines():
    heights = column([105.0, 100.0, 103.0, 101.0], limit=340)
    assert sorted(range(4), key=heights.__getitem__) == [1, 3, 2, 0]


def test_a_column_that_is_too_full_is_set_closer():
    heights = column([50.0] * 41, limit=400)
    assert (min(heights), max(heights)) == (0.0, 400.0)


def test_a_name_alone_stands_at_its_line():
    assert column([100.0, 300.0], limit=340) == [100.0, 300.0]
    assert column([], limit=340) == []


def test_a_name_alone_stands_right_of_its_dot():
    (spot,) = around([Dot(100, 100, 10, "Transformer")], (640, 400))
    assert (spot.dx, spot.dy, spot.side) == (14.0, 0.0, "left")
    assert not spot.is_away


def test_a_name_at_the_right_edge_stands_left_of_its_dot():
    (spot,) = around([Dot(630, 100, 10, "Transformer")], (640, 400))
    assert spot.side == "right"
    assert spot.dx < 0


@pytest.mark.parametrize("seed", range(5))
def test_eighteen_names_cover_neither_each_other_nor_a_dot(seed):
    rng = random.Random(seed)
    dots = [
        Dot(rng.uniform(150, 500), rng.uniform(50, 350), rng.uniform(5, 14), "n" * 14)
        for _ in range(18)
    ]
    boxes = np.array([name_box(d, s) for d, s in zip(dots, around(dots, (640, 400)), strict=True)])
    between = covered(boxes, boxes)
    np.fill_diagonal(between, 0)
    circles = np.array([[d.x - 4, d.y - 4, d.x + 4, d.y + 4] for d in dots])
    assert between.sum() < 40  # of 18 x 1128 square pixels
    assert covered(boxes, circles).sum() < 40


def test_a_name_keeps_off_a_line():
    (spot,) = around([Dot(100, 100, 5, "Linear")], (640, 400), [(100, 100), (400, 100)])
    assert abs(spot.dy) > LINE_HEIGHT / 2
