"""The budget is a pure function: what fits, and who is left out where nothing does."""

import pytest

from longarena.choose.budget import (
    FEWEST_STEPS,
    START_SECONDS,
    Contest,
    Price,
    num_kept,
    plan_budget,
    rungs_of,
    steps_within,
)
from longarena.errors import UserError

EQUAL = {name: Price(step=0.1) for name in "abcd"}


def contest(prices=EQUAL, workers=1, yardstick=""):
    return Contest(prices, workers, yardstick)


@pytest.mark.parametrize(
    ("count", "yardstick", "counts"),
    [
        (2, "", [2, 2, 2, 2]),
        (3, "", [3, 3, 3, 3]),
        (4, "", [4, 3, 3, 3]),
        (4, "m0", [4, 4, 4, 4]),
        (40, "", [40, 20, 10, 3]),
        (40, "m7", [40, 21, 12, 4]),
        (40, "absent", [40, 20, 10, 3]),
    ],
)
def test_half_go_on_and_three_reach_the_final_beside_the_yardstick(count, yardstick, counts):
    prices = {f"m{i}": Price(step=0.1) for i in range(count)}
    assert Contest(prices, 1, yardstick).counts == counts


def test_the_rungs_end_at_the_last_step():
    assert rungs_of(8) == [1, 2, 4, 8]
    assert [num_kept(rung, 2) for rung in range(3)] == [2, 2, 2]


def test_a_contest_takes_what_its_trials_take():
    price = Price(step=0.1, validation=2.0, test=5.0)
    first, second, third, final = Contest({"a": price, "b": price}, 1).stage_seconds(80)
    assert first == pytest.approx(6 * (START_SECONDS + 10 * 0.1 + 2))
    assert second == pytest.approx(2 * (START_SECONDS + 10 * 0.1 + 2))
    assert third == pytest.approx(2 * (START_SECONDS + 20 * 0.1 + 2 * 2))
    assert final == pytest.approx(2 * (START_SECONDS + 40 * 0.1 + 4 * 2 + 5))


def test_more_workers_are_faster_until_the_longest_run_decides():
    one, two, many = (contest(workers=n).seconds(800) for n in (1, 2, 1000))
    assert one == pytest.approx(2 * two)
    longest = 4 * START_SECONDS + 800 * 0.1
    assert many == pytest.approx(longest)


@pytest.mark.parametrize("seconds", [100, 500, 1000, 5000])
@pytest.mark.parametrize("workers", [1, 3])
def test_the_steps_are_the_most_that_fit(seconds, workers):
    found = contest(workers=workers)
    steps = steps_within(found, seconds, 10**6)
    assert steps % 8 == 0
    assert steps == 0 or found.seconds(steps) <= seconds
    assert found.seconds(steps + 8) > seconds


def test_the_preset_bounds_the_steps_in_whole_eighths():
    assert plan_budget(contest(), 1003, 60, 1e6).steps == 1000
    assert plan_budget(contest(), 12, 60, 1e6).steps == 8


def test_the_slowest_are_left_out_first_and_told_the_minutes_that_they_need():
    prices = EQUAL | {"slow": Price(step=2.0), "slower": Price(step=30.0)}
    budget = plan_budget(contest(prices), 1000, 5, 270)
    assert list(budget.contest.prices) == list("abcd")
    assert budget.steps >= FEWEST_STEPS
    assert list(budget.left_out) == ["slower", "slow"]
    assert budget.left_out["slower"] > budget.left_out["slow"] > 5
    # with the minutes that were named it does take part
    minutes = budget.left_out["slow"]
    rest = {name: price for name, price in prices.items() if name != "slower"}
    assert not plan_budget(contest(rest), 1000, minutes, 270 * minutes / 5).left_out


def test_even_the_yardstick_is_left_out_if_it_is_left_out():
    prices = EQUAL | {"transformer": Price(step=50.0)}
    budget = plan_budget(contest(prices, yardstick="transformer"), 1000, 5, 270)
    assert list(budget.left_out) == ["transformer"]


def test_of_many_those_are_left_out_first_whose_family_has_others():
    prices = {f"wide{i}": Price(step=0.3) for i in range(8)} | {
        "rare": Price(step=0.4),
        "transformer": Price(step=0.5),
    }
    families = {name: "wide" if name.startswith("wide") else "rare" for name in prices}
    found = Contest(prices, 1, "transformer", families)
    budget = plan_budget(found, 2000, 40, 2400)
    assert budget.steps >= 1000, "half of the preset's"
    assert len(budget.contest.prices) < len(prices)
    assert {"rare", "transformer"} <= budget.contest.prices.keys()


@pytest.mark.parametrize(("step", "stays"), [(0.5, True), (50.0, False)])
def test_the_yardstick_stays_unless_it_takes_as_long_as_many(step, stays):
    prices = {f"m{i}": Price(step=0.3) for i in range(9)} | {"transformer": Price(step=step)}
    budget = plan_budget(contest(prices, yardstick="transformer"), 2000, 20, 1200)
    assert ("transformer" in budget.contest.prices) == stays
    assert budget.left_out


def test_a_few_are_trained_for_shorter_and_all_take_part():
    six, seven = ({f"m{i}": Price(step=0.3) for i in range(count)} for count in (6, 7))
    budget = plan_budget(contest(six), 2000, 10, 600)
    assert FEWEST_STEPS <= budget.steps < 1000
    assert budget.left_out == {}
    assert len(plan_budget(contest(seven), 2000, 10, 600).contest.prices) == 6


def test_two_that_do_not_fit_are_refused_with_the_minutes_that_would_do():
    prices = {name: Price(step=10.0) for name in "abc"}
    with pytest.raises(UserError, match=r"--minutes 1 is too short: even b and c alone need") as at:
        plan_budget(contest(prices), 1000, 1, 50)
    minutes = int(str(at.value).split()[-1])
    two = Contest({name: prices[name] for name in "bc"}, 1)
    assert plan_budget(two, 1000, minutes, 50 * minutes).steps >= FEWEST_STEPS


def test_a_short_preset_is_not_too_short():
    assert plan_budget(contest(), 16, 1, 1000).steps == 16
