"""Translations by what they cost: runs that differ in nothing but mechanism, size and seed.

The cost is the Mult-Adds of a sentence of 30 tokens, without embedding and output map, by kind of
layer, as the record of a run states it; a run whose record does not is left out.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import NamedTuple

from pydantic import TypeAdapter, ValidationError

from longarena.findings.changes import setting
from longarena.findings.scores import Row, ScoreTable, group, row_order
from longarena.records.summary import Run

# what makes a model larger, and the rate, which goes with the size
SIZES = (
    *(f"model.{name}" for name in ("width", "qkv_width", "mlp_width", "depth", "num_heads")),
    "optimiser.rate",
)
TOTAL = "total"
_COUNTS = TypeAdapter(dict[str, int])


class Setting(NamedTuple):
    """What models of one comparison have in common."""

    task: str
    variant: str
    preset: str
    changes: str


@dataclass(frozen=True)
class Translator:
    """A mechanism at one size and rate; `mult_adds` has the kinds of layers and their total."""

    row: Row
    width: int
    rate: float
    mult_adds: Mapping[str, int]
    runs: tuple[Run, ...]

    @property
    def values(self) -> list[float]:
        """The test BLEU of every seed."""
        return [run.metrics.test.value for run in self.runs if run.metrics.test]

    @property
    def bleu(self) -> float:
        """The mean over seeds."""
        return fmean(self.values)

    @property
    def validated(self) -> float:
        """The validation BLEU, the mean over seeds."""
        return fmean(run.metrics.valid.value if run.metrics.valid else 0.0 for run in self.runs)


def translators(scores: ScoreTable) -> dict[Setting, list[Translator]]:
    """Return the models of every comparison, the sizes of a mechanism one after the other."""
    runs = [run for score in scores.scores.values() for run in score.runs if run.metrics.test]
    # a run with tuned values may stand in two places
    once = {id(run): run for run in runs if mult_adds(run)}.values()
    models = group(once, lambda run: (_setting(run), _row(run), mult_adds(run)[TOTAL], _rate(run)))
    found: dict[Setting, list[Translator]] = {_setting(run): [] for run in once}
    for key in sorted(models, key=lambda key: (row_order(key[1]), *key[2:])):
        common, row, _, rate = key
        seeds = sorted(models[key], key=lambda run: run.recipe.seed)
        width, costs = seeds[0].recipe.model.width, mult_adds(seeds[0])
        found[common].append(Translator(row, width, rate, costs, tuple(seeds)))
    return found


def best_rates(models: list[Translator]) -> list[Translator]:
    """Keep every mechanism and size once: with the rate that did best on validation."""
    by_size = group(models, lambda model: (model.row, model.mult_adds[TOTAL]))
    return [max(rates, key=lambda model: model.validated) for rates in by_size.values()]


def mult_adds(run: Run) -> dict[str, int]:
    """Return the Mult-Adds of a sentence by kind of layer; nothing if its record has no total."""
    try:
        counts = _COUNTS.validate_python(run.metrics.details.get("mult_adds"))
    except ValidationError:
        return {}
    return counts if counts.get(TOTAL, 0) > 0 else {}


def _setting(run: Run) -> Setting:
    recipe = run.recipe
    _, others = setting(recipe, SIZES)
    return Setting(recipe.task.name, run.variant, recipe.preset, others)


def _row(run: Run) -> Row:
    options, _ = setting(run.recipe, SIZES)
    return Row(run.recipe.model.mixer, options)


def _rate(run: Run) -> float:
    return run.recipe.optimiser.rate
