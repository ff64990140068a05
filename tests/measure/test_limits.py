import pytest

from longarena.measure.limits import COPIED_BYTES, PRODUCT_FLOPS, rates


def test_a_limit_is_the_best_that_was_seen():
    found = rates([4.0, 2.0, 3.0], [1.0, 0.5])
    assert found.flops_per_second == pytest.approx(PRODUCT_FLOPS / 2)
    assert found.copy_bytes_per_second == pytest.approx(2 * COPIED_BYTES / 0.5)
    assert found.typical_flops_per_second == pytest.approx(PRODUCT_FLOPS / 3)


def test_without_turns_there_is_no_limit():
    assert rates([], [1.0]) is None
