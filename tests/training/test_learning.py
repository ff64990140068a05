"""Every mechanism learns: a broken mixer, mask or head shows here as a score of chance."""

import math

import pytest
from representatives import mark_others
from training.runs import small_recipe

from longarena.attention import MIXERS
from longarena.recipes.presets import preset
from longarena.recipes.recipe import override
from longarena.training.loop import train

# the plain case; the others learn in `make test-all`
LEARNERS = ("transformer",)
SHORT_LISTOPS = [
    "task.min_length=5",
    "task.max_length=40",
    "task.max_depth=3",
    "task.size=0.1",
    "model.width=32",
    "model.mlp_width=64",
    "model.dropout=0.0",
    "batch_size=64",
    "optimiser.rate=0.004",
    "schedule.warmup_steps=20",
    "steps=120",
    "evaluate_every=120",
    "log_every=20",
    "checkpoint_every=120",
]


@pytest.fixture(autouse=True)
def shared_home(tmp_path_factory, own_home, monkeypatch):
    """Prepare the data once for all mixers."""
    monkeypatch.setenv("LONGARENA_HOME", str(tmp_path_factory.getbasetemp() / "learning-home"))


@pytest.mark.slow
@pytest.mark.parametrize("mixer", mark_others(MIXERS, LEARNERS))
def test_on_short_listops_it_ends_above_the_level(mixer, tmp_path):
    record = train(small_recipe(mixer, *SHORT_LISTOPS), tmp_path / "runs")
    metrics = record.metrics
    error = math.sqrt(metrics.level * (1 - metrics.level) / metrics.test.examples)
    assert metrics.test.value > metrics.level + 3 * error
    assert record.status == "finished"


TINY_RECALL = [
    "task.length=16",
    "task.pairs=2",
    "task.vocabulary=12",
    "task.size=0.1",
    "model.width=32",
    "optimiser.rate=0.01",
    "schedule.warmup_steps=12",
    "steps=120",
    "evaluate_every=120",
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mixer", "is_able"),
    mark_others([("transformer", True), ("long-conv", False)], [("transformer", True)]),
)
def test_recall_is_learnt_by_attention_and_not_by_a_fixed_filter(mixer, is_able, tmp_path):
    recipe = override(preset("recall", mixer, "cpu"), TINY_RECALL)
    reached = train(recipe, tmp_path / "runs").metrics.test.value
    # one of the two values is right half of the time
    assert reached > 0.95 if is_able else reached < 0.7
