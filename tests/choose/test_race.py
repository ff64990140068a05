"""Who goes on, by pure values: no run is trained here."""

import pytest
from training.runs import small_recipe

from longarena.choose.race import Race, candidates
from longarena.tracks.metric import ACCURACY, Metric
from longarena.training.trial import Trial

LOSS = Metric(name="loss", title="Loss", unit="", better="less")
RECIPE = small_recipe("linear", "steps=16", "evaluate_every=2")


def recipes(*names):
    """One recipe per name; the seed tells their runs apart."""
    return {name: RECIPE.model_copy(update={"seed": i}) for i, name in enumerate(names)}


def trial(score, until):
    steps, values = ([], []) if score is None else ([until], [score])
    return Trial(step=until, curve_steps=steps, curve_values=values, has_diverged=score is None)


def settle(race, rung, scores, failed=None, most=99):
    """Settle a rung; `scores` are by name, or by name and place of the rate."""
    until = race.steps * (1, 2, 4)[rung] // 8
    found = {}
    for runner in race.left:
        for place, recipe in enumerate(runner.trying):
            score = scores.get((runner.name, place), scores.get(runner.name))
            if recipe.id not in (failed or {}):
                found[recipe.id] = trial(score, until)
    return [runner.name for runner in race.settle(rung, found, failed or {}, most)]


def names(race):
    return [runner.name for runner in race.left]


def test_all_get_the_same_three_rates():
    rates = [recipe.optimiser.rate for recipe in candidates(RECIPE)]
    rate = RECIPE.optimiser.rate
    assert rates == pytest.approx([rate / 3, rate, 3 * rate], rel=1e-2)
    assert len({recipe.id for recipe in candidates(RECIPE)}) == 3


def test_each_keeps_its_best_rate_and_the_better_half_goes_on():
    race = Race.of(recipes(*"abcdefgh"), 16, ACCURACY)
    scores = {name: 0.1 * i for i, name in enumerate("abcdefgh")} | {("h", 2): 0.9, ("g", 0): 0.8}
    assert settle(race, 0, scores) == list("abcd")
    assert names(race) == list("efgh")
    assert [race.runners[i].kept for i in (6, 7)] == [
        race.runners[6].candidates[0],
        race.runners[7].candidates[2],
    ]
    assert race.runners[7].first_scores == pytest.approx([0.7, 0.7, 0.9])
    # from now on each is one run
    assert [len(runner.trying) for runner in race.left] == [1] * 4
    assert settle(race, 1, {"e": 0.4, "f": 0.3, "g": 0.2, "h": 0.1}) == ["h"]
    assert settle(race, 2, {"e": 0.4, "f": 0.3, "g": 0.2}) == []
    assert race.runners[4].scores == [0.4, 0.4, 0.4]
    assert race.runners[7].reason == "worse than others at step 4"


@pytest.mark.parametrize(("score", "place"), [(0.54, 1), (0.56, 2)])
def test_the_rate_of_the_preset_stays_unless_another_is_better_beyond_noise(score, place):
    race = Race.of(recipes("a", "b"), 16, ACCURACY, noise=0.05)
    settle(race, 0, {"a": 0.5, ("a", 2): score, "b": 0.4})
    kept = race.runners[0]
    assert kept.kept == kept.candidates[place]
    assert kept.scores == [0.5 if place == 1 else score]


def test_less_is_better_where_the_metric_says_so():
    race = Race.of(recipes(*"abcd"), 16, LOSS)
    assert settle(race, 0, {"a": 4.0, "b": 1.0, "c": 2.0, "d": 3.0}) == ["a"]


def test_the_yardstick_goes_on_however_it_scores():
    race = Race.of(recipes(*"abcdefg", "transformer"), 16, ACCURACY, "transformer")
    scores = dict.fromkeys("abcdefg", 0.5) | {"transformer": 0.1}
    assert settle(race, 0, scores) == list("efg")
    assert settle(race, 1, scores) == ["d"]
    assert settle(race, 2, scores) == []
    assert names(race) == [*"abc", "transformer"]


def test_where_time_is_short_fewer_go_on_beside_the_yardstick():
    race = Race.of(recipes(*"abcdefg", "transformer"), 16, ACCURACY, "transformer")
    scores = {name: 0.1 * i for i, name in enumerate("abcdefg")} | {"transformer": 0.0}
    assert settle(race, 0, scores, most=2) == list("abcde")
    assert names(race) == ["f", "g", "transformer"]


def test_of_equal_ones_the_first_goes_on_with_the_rate_of_the_preset():
    race = Race.of(recipes(*"abcd"), 16, ACCURACY)
    assert settle(race, 0, dict.fromkeys("abcd", 0.5)) == ["d"]
    assert race.runners[0].kept == race.runners[0].candidates[1]


def test_who_diverged_or_failed_at_every_rate_is_dropped_even_the_yardstick():
    race = Race.of(recipes("a", "b", "transformer", "d"), 16, ACCURACY, "transformer")
    failed = {recipe.id: "out of memory" for recipe in race.runners[1].candidates}
    scores = {"a": 0.1, "transformer": None, "d": 0.2}
    assert settle(race, 0, scores, failed) == ["b", "transformer"]
    assert race.runners[1].reason == "failed (out of memory) by step 2"
    assert race.runners[2].reason == "diverged by step 2"


def test_one_rate_that_diverges_costs_nothing():
    race = Race.of(recipes(*"ab"), 16, ACCURACY)
    settle(race, 0, {"a": 0.1, ("a", 2): None, "b": 0.2})
    assert names(race) == ["a", "b"]
    assert race.runners[0].first_scores == [0.1, 0.1, None]


def test_a_late_score_does_not_count_at_an_early_rung():
    race = Race.of(recipes(*"ab"), 16, ACCURACY)
    # a run that was finished before knows its future
    found = {
        recipe.id: Trial(step=16, curve_steps=[2, 16], curve_values=[0.1, 0.9], has_ended=True)
        for runner in race.left
        for recipe in runner.trying
    }
    race.settle(0, found, {}, 99)
    assert race.runners[0].scores == [0.1]
