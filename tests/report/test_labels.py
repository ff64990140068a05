import random
from itertools import combinations

import pytest

from longarena.report.labels import CLEARANCE, LINE_HEIGHT, spread


@pytest.mark.parametrize("seed", range(5))
def test_names_at_the_ends_of_lines_never_overlap(seed):
    rng = random.Random(seed)
    ends = [(400.0, rng.uniform(100, 200)) for _ in range(18)]
    heights = spread(ends, width=120, height=340)
    gaps = [abs(a - b) for a, b in combinations(heights, 2)]
    assert min(gaps) > LINE_HEIGHT - 0.5
    assert min(heights) >= 0
    assert max(heights) <= 340


def test_names_keep_the_order_of_their_points():
    heights = spread([(0.0, 100.0 + i) for i in range(6)], width=100, height=340)
    assert heights == sorted(heights)


def test_a_name_gives_way_to_a_point_on_its_right():
    left, right = spread([(0.0, 100.0), (60.0, 101.0)], width=100, height=340)
    assert left <= 101 - CLEARANCE
    assert right - left > LINE_HEIGHT - 0.5


def test_a_name_alone_stands_at_its_point():
    assert spread([(0.0, 100.0), (500.0, 101.0)], width=100, height=340) == [100.0, 101.0]
