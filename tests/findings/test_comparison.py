"""Runs are compared by their answers, seeds of a recipe together; other data is refused."""

import numpy as np
import pytest
from report.examples import run_record

from longarena.attention import MixerCard, OwnMixer
from longarena.errors import UserError
from longarena.findings.comparison import AnsweredRun, compare
from longarena.records.answers import Answers
from longarena.tracks.metric import ACCURACY

EXAMPLES = 500


def answered(mixer="transformer", accuracy=0.5, seed=0, draw=None, **fields):
    """A run whose answers are right with a probability; `draw` makes those of others differ."""
    key = sum(map(ord, mixer)) if draw is None else draw
    scores = (np.random.default_rng([key, seed]).random(EXAMPLES) < accuracy).astype(np.float32)
    answers = Answers(scores, np.zeros(EXAMPLES, np.int64))
    record = run_record(mixer, seed=seed, answers=answers.digest, **fields)
    test = record.metrics.test.model_copy(update={"weight": EXAMPLES, "examples": EXAMPLES})
    metrics = record.metrics.model_copy(update={"test": test})
    return AnsweredRun(record.model_copy(update={"metrics": metrics}), answers)


def test_the_best_comes_first_and_the_others_say_by_how_much_it_is_better():
    found = compare([answered("linear", 0.3), answered("transformer", 0.6)])
    first, second = found.places
    assert (first.name, first.verdict) == ("transformer", "best")
    assert (second.name, second.verdict) == ("linear", "worse")
    assert 0.15 < second.behind.low < second.behind.value < second.behind.high < 0.45
    assert found.chance < 1e-6
    assert not found.has_seeds


def test_equal_models_are_tied():
    found = compare([answered("linear", 0.5), answered("transformer", 0.5)])
    assert [place.verdict for place in found.places] == ["best", "tied"]
    assert found.chance > 0.05


def test_seeds_of_one_recipe_are_one_contestant():
    runs = [answered(mixer, 0.5, seed) for mixer in ("linear", "local") for seed in range(3)]
    found = compare(runs)
    assert sorted(place.name for place in found.places) == ["linear", "local"]
    assert {len(place.runs) for place in found.places} == {3}
    assert found.has_seeds
    assert found.chance is None


def test_seeds_alone_are_compared_with_each_other():
    found = compare([answered("linear", 0.5, seed) for seed in range(2)])
    assert sorted(place.name for place in found.places) == ["linear seed 0", "linear seed 1"]


def test_what_differs_names_contestants_of_one_mechanism():
    found = compare([answered(draw=1), answered(draw=2, sets=["optimiser.rate=0.1"])])
    rate = run_record().recipe.optimiser.rate
    expected = {f"transformer optimiser.rate={each}" for each in (rate, 0.1)}
    assert {place.name for place in found.places} == expected


@pytest.mark.parametrize(
    ("other", "word"),
    [
        ({"fingerprint": "e" * 16}, "fingerprint eeeeeeee"),
        ({"variant": "max_length=512"}, "max_length=512"),
        ({"metric": ACCURACY.model_copy(update={"name": "score"})}, "not scored alike"),
    ],
    ids=["data", "variant", "metric"],
)
def test_runs_on_different_data_are_refused_in_one_line(other, word):
    with pytest.raises(UserError, match=word) as refused:
        compare([answered("linear"), answered("transformer", **other)])
    assert "\n" not in str(refused.value)


def test_a_run_is_not_compared_with_itself():
    with pytest.raises(UserError, match="different runs"):
        compare([answered("linear"), answered("linear")])


def of_source(source, accuracy):
    """A run of a user's own mixer with some source."""
    run = answered("mine:Own", accuracy, draw=ord(source))
    own = OwnMixer(source=source, card=MixerCard(title="Mine"))
    model = run.record.recipe.model.model_copy(update={"own": own})
    recipe = run.record.recipe.model_copy(update={"model": model})
    record = run.record.model_copy(update={"recipe": recipe, "id": recipe.id})
    return AnsweredRun(record, run.answers)


def test_a_mixer_is_compared_with_what_it_was_before_an_edit():
    found = compare([of_source("a", 0.3), of_source("b", 0.6)])
    assert [place.name for place in found.places] == ["mine:Own source b", "mine:Own source a"]
    assert found.places[1].verdict == "worse"
