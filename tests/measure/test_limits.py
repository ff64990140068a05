import pytest

from longarena.measure.limits import COPIED_BYTES, PRODUCT_FLOPS, product_timer, rates
from longarena.measure.speed import Timing


def test_a_limit_is_the_best_that_was_seen():
    timings = [Timing(seconds=9.0, product_seconds=seconds) for seconds in (4.0, 2.0, 3.0)]
    copies = [Timing(seconds=seconds, product_seconds=1.0) for seconds in (1.0, 0.5)]
    found = rates(timings, copies)
    assert found.flops_per_second == pytest.approx(PRODUCT_FLOPS / 2)
    assert found.copy_bytes_per_second == pytest.approx(2 * COPIED_BYTES / 0.5)
    assert found.typical_flops_per_second == pytest.approx(PRODUCT_FLOPS / 3)


def test_without_timings_there_is_no_limit():
    assert rates([], [Timing(seconds=1.0, product_seconds=1.0)]) is None


def test_a_product_is_timed_by_the_mean_of_many(monkeypatch):
    ticks = iter([0.0, 0.03, 0.06, 0.12])
    monkeypatch.setattr("time.perf_counter", lambda: next(ticks))
    assert product_timer()() == pytest.approx(0.04)
