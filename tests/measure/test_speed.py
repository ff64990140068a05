import numpy as np
import pytest

from longarena.measure.speed import Participant, Patience, Turn, spread, take_turns, uncertainty

PATIENCE = Patience(min_turns=5, max_turns=40, steady_below=0.02)


def steady():
    return Participant(lambda: Turn(1.0))


def noisy(scale=0.5, seed=0):
    rng = np.random.default_rng(seed)
    return Participant(lambda: Turn(float(1 + scale * rng.random())))


def test_a_quiet_machine_needs_the_fewest_turns():
    participants = [steady(), steady()]
    take_turns(participants, PATIENCE)
    assert [len(p.seconds) for p in participants] == [5, 5]


def test_everyone_goes_on_while_one_is_noisy():
    participants = [steady(), noisy(scale=0.2)]
    take_turns(participants, PATIENCE)
    turns = {len(p.seconds) for p in participants}
    assert len(turns) == 1
    assert 5 < turns.pop() < 40
    assert uncertainty(participants[1].seconds) < 0.02


def test_patience_ends():
    participants = [noisy(scale=100.0)]
    take_turns(participants, PATIENCE)
    assert len(participants[0].seconds) == 40


def test_nobody_waits_for_a_yardstick():
    rng = np.random.default_rng(0)
    yardstick = Participant(lambda: Turn(float(rng.random())), is_yardstick=True)
    take_turns([steady(), yardstick], PATIENCE)
    assert len(yardstick.seconds) == 5


def test_who_drops_out_is_asked_no_more_and_the_others_go_on():
    answers = iter([Turn(1.0), Turn(1.0), None])
    leaving, other = Participant(lambda: next(answers)), steady()
    take_turns([leaving, other], PATIENCE)
    assert (len(leaving.seconds), len(other.seconds)) == (2, 5)


def test_when_all_have_left_it_ends():
    leaving = Participant(lambda: None)
    take_turns([leaving, Participant(lambda: Turn(1.0), is_yardstick=True)], PATIENCE)
    assert leaving.seconds == []


def test_everyone_is_first_in_turn():
    order = []
    participants = [Participant(lambda i=i: order.append(i) or Turn(1.0)) for i in range(3)]
    take_turns(participants, Patience(min_turns=3))
    assert [sorted(order[i : i + 3]) for i in (0, 3, 6)] == [[0, 1, 2]] * 3
    assert {order[0], order[3], order[6]} == {0, 1, 2}


def test_a_bad_minute_hurts_all_alike():
    clock = iter(np.repeat([1.0, 7.0, 1.0], 8))
    one, other = (Participant(lambda: Turn(float(next(clock)))) for _ in range(2))
    take_turns([one, other], Patience(min_turns=12, max_turns=12))
    assert np.median(one.seconds) == np.median(other.seconds) == 1.0


def crowded(shares, rng):
    """Whoever waits for a core takes twice as long, and how often that is is a matter of luck."""
    waits = iter(rng.random(1000) < shares)
    return Participant(lambda: Turn(2.0, waited=0.5) if next(waits) else Turn(1.0))


def test_turns_that_waited_for_a_core_do_not_count():
    rng = np.random.default_rng(0)
    one, other = crowded(0.3, rng), crowded(0.7, rng)
    take_turns([one, other], PATIENCE)
    assert set(one.seconds) == set(other.seconds) == {1.0}
    assert min(len(one.seconds), len(other.seconds)) == 5
    assert len(one.turns) == len(other.turns) > 5


def test_where_all_turns_wait_the_calmest_count():
    turns = iter([Turn(1 + waited, waited) for waited in np.linspace(0.9, 0.1, 40).tolist()])
    busy = Participant(lambda: next(turns))
    take_turns([busy], PATIENCE)
    assert len(busy.turns) == 40
    assert len(busy.seconds) == 5
    assert max(busy.seconds) < 1.2


@pytest.mark.parametrize("turns", [9, 25, 100])
def test_the_uncertainty_is_the_standard_error_of_the_median(turns):
    samples = 1 + 0.05 * np.random.default_rng(0).standard_normal((2000, turns))
    estimated = np.mean([uncertainty(sample) for sample in samples.tolist()])
    assert estimated == pytest.approx(np.std(np.median(samples, axis=1)), rel=0.2)


def test_the_spread_has_no_unit():
    assert spread([1.0, 2.0, 4.0]) == pytest.approx(spread([10.0, 20.0, 40.0]))
