import numpy as np
import pytest

from longarena.findings.timings import spread
from longarena.measure.speed import (
    TIMINGS_PER_TURN,
    Participant,
    StoppingRule,
    Timing,
    calm,
    take_turns,
    uncertainty,
)

PATIENCE = StoppingRule(min_turns=5, max_turns=40, steady_below=0.02)


def turn(seconds, waited=0.0, product_seconds=1.0):
    timing = Timing(seconds=float(seconds), product_seconds=product_seconds, waited=waited)
    return [timing] * TIMINGS_PER_TURN


def steady():
    return Participant(lambda: turn(1.0))


def noisy(scale=0.5, seed=0):
    rng = np.random.default_rng(seed)
    return Participant(lambda: turn(1 + scale * rng.random()))


def test_a_quiet_machine_needs_the_fewest_turns():
    participants = [steady(), steady()]
    take_turns(participants, PATIENCE)
    assert [len(p.timings) for p in participants] == [10, 10]


def test_everyone_goes_on_while_one_is_noisy():
    participants = [steady(), noisy(scale=0.2)]
    take_turns(participants, PATIENCE)
    counts = {len(p.timings) for p in participants}
    assert len(counts) == 1
    assert 10 < counts.pop() < 80
    assert uncertainty(participants[1].products) < 0.02


def test_patience_ends():
    participants = [noisy(scale=100.0)]
    take_turns(participants, PATIENCE)
    assert len(participants[0].timings) == 80


def test_nobody_waits_for_a_yardstick():
    rng = np.random.default_rng(0)
    yardstick = Participant(lambda: turn(rng.random()), is_yardstick=True)
    take_turns([steady(), yardstick], PATIENCE)
    assert len(yardstick.timings) == 10


def test_who_drops_out_is_asked_no_more_and_the_others_go_on():
    answers = iter([turn(1.0), turn(1.0), []])
    leaving, other = Participant(lambda: next(answers)), steady()
    take_turns([leaving, other], PATIENCE)
    assert (len(leaving.timings), len(other.timings)) == (4, 10)


def test_when_all_have_left_it_ends():
    leaving = Participant(list)
    take_turns([leaving, Participant(lambda: turn(1.0), is_yardstick=True)], PATIENCE)
    assert leaving.timings == []


def test_everyone_is_first_in_turn():
    order = []
    participants = [Participant(lambda i=i: order.append(i) or turn(1.0)) for i in range(3)]
    take_turns(participants, StoppingRule(min_turns=3))
    assert [sorted(order[i : i + 3]) for i in (0, 3, 6)] == [[0, 1, 2]] * 3
    assert {order[0], order[3], order[6]} == {0, 1, 2}


def test_a_bad_minute_hurts_all_alike():
    clock = iter(np.repeat([1.0, 7.0, 1.0], 8))
    one, other = (Participant(lambda: turn(next(clock))) for _ in range(2))
    take_turns([one, other], StoppingRule(min_turns=12, max_turns=12))
    assert np.median(one.products) == np.median(other.products) == 1.0


def test_the_pace_of_the_machine_cancels_out():
    rng = np.random.default_rng(0)
    paces = iter(rng.uniform(1.0, 2.0, 1000).tolist())

    def uneven(products):
        pace = next(paces)
        return turn(products * pace, product_seconds=pace)

    one, other = Participant(lambda: uneven(3.0)), Participant(lambda: uneven(6.0))
    take_turns([one, other], PATIENCE)
    assert len(one.timings) == 10
    assert np.allclose(one.products, 3.0)
    assert np.allclose(other.products, 6.0)


def test_the_calmest_count_where_few_are_calm():
    timings = [
        Timing(seconds=1.0, product_seconds=1.0, waited=waited) for waited in (0.0, 0.5, 0.01, 0.3)
    ]
    assert [timing.waited for timing in calm(timings, fewest=2)] == [0.0, 0.01]
    assert [timing.waited for timing in calm(timings, fewest=3)] == [0.0, 0.01, 0.3]


def crowded(shares, rng):
    """Whoever waits for a core takes twice as long, and how often that is is a matter of luck."""
    waits = iter(rng.random(1000) < shares)
    return Participant(lambda: turn(2.0, waited=0.5) if next(waits) else turn(1.0))


def test_turns_that_waited_for_a_core_do_not_count():
    rng = np.random.default_rng(0)
    one, other = crowded(0.3, rng), crowded(0.7, rng)
    take_turns([one, other], PATIENCE)
    assert set(one.products) == set(other.products) == {1.0}
    assert min(len(one.counting), len(other.counting)) == 10
    assert len(one.timings) == len(other.timings) > 10


def test_where_all_turns_wait_the_calmest_count():
    turns = iter([turn(1 + waited, waited) for waited in np.linspace(0.9, 0.1, 40).tolist()])
    busy = Participant(lambda: next(turns))
    take_turns([busy], PATIENCE)
    assert len(busy.timings) == 80
    assert len(busy.counting) == 10
    assert max(busy.products) < 1.2


@pytest.mark.parametrize("turns", [9, 25, 100])
def test_the_uncertainty_is_the_standard_error_of_the_median(turns):
    samples = 1 + 0.05 * np.random.default_rng(0).standard_normal((2000, turns))
    estimated = np.mean([uncertainty(sample) for sample in samples.tolist()])
    assert estimated == pytest.approx(np.std(np.median(samples, axis=1)), rel=0.2)


def test_the_spread_has_no_unit():
    assert spread([1.0, 2.0, 4.0]) == pytest.approx(spread([10.0, 20.0, 40.0]))
