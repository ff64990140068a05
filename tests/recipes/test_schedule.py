import itertools
import math

import pytest

from longarena.recipes.schedule import SHAPES, Schedule, rate


def rates(kind, warmup=10, steps=100, peak=1.0):
    return [
        rate(Schedule(kind=kind, warmup_steps=warmup), peak, step, steps) for step in range(steps)
    ]


@pytest.mark.parametrize("kind", SHAPES)
def test_it_rises_to_the_end_of_the_warm_up_and_never_after(kind):
    values = rates(kind)
    assert all(a < b for a, b in itertools.pairwise(values[:10]))
    assert all(a >= b for a, b in itertools.pairwise(values[10:]))
    assert all(value > 0 for value in values)


@pytest.mark.parametrize("kind", ["cosine", "linear", "constant", "one-cycle"])
def test_the_peak_is_the_rate_of_the_recipe(kind):
    assert max(rates(kind, peak=0.3)) == pytest.approx(0.3)


def test_the_official_text_schedule_peaks_at_the_rate_over_the_root_of_the_warm_up():
    values = rates("rsqrt", warmup=1000, steps=5000, peak=0.05)
    assert max(values) == pytest.approx(0.05 / math.sqrt(1000))
    assert values[-1] == pytest.approx(0.05 / math.sqrt(5000))


def test_one_cycle_starts_and_ends_where_torch_does():
    values = rates("one-cycle", warmup=1000, steps=5000)
    assert values[0] == pytest.approx(1 / 25, rel=0.03)
    assert values[-1] < 1e-3


def test_without_warm_up_it_starts_at_the_peak():
    assert rates("linear", warmup=0)[0] == 1.0
