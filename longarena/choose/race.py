"""Who goes on: the mechanisms of a contest, what each has scored, and the better half of them.

At the first rung every mechanism is tried with each of the rates, and keeps the best, or the
preset's where none is better beyond `noise`; from then on it is that one run. The yardstick goes on
to the final however it scores.

Choice: a run is as good as its best validation so far, since those parameters would be tested.
Choice: of equal mechanisms the first is better; one that has diverged or failed is worse than all.
Choice: a mechanism none of whose rates has a score does not go on, nor does the yardstick then.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from longarena.choose.budget import RATES, num_kept, rungs_of
from longarena.recipes.recipe import Recipe, replace
from longarena.sweep.tuning import best
from longarena.tracks.metric import Metric
from longarena.training.trial import Trial

# where the preset's own rate stands among them
USUAL = RATES.index(1.0)


def candidates(recipe: Recipe) -> list[Recipe]:
    """Derive the recipes of all rates, the same multiples for every mechanism."""
    return [_at_rate(recipe, float(f"{factor * recipe.optimiser.rate:.3g}")) for factor in RATES]


def _at_rate(recipe: Recipe, rate: float) -> Recipe:
    return replace(recipe, optimiser=recipe.optimiser.model_dump() | {"rate": rate})


@dataclass(eq=False)
class Runner:
    """One mechanism: its candidates, then the one with the best rate, and the scores of both."""

    name: str
    candidates: list[Recipe]
    first_scores: list[float | None] = field(default_factory=list)
    kept: Recipe | None = None
    scores: list[float | None] = field(default_factory=list)
    reason: str = ""

    @property
    def trying(self) -> list[Recipe]:
        """The recipes that are brought to the next rung."""
        return self.candidates if self.kept is None else [self.kept]

    @property
    def is_on(self) -> bool:
        """Whether it has not been dropped."""
        return not self.reason


@dataclass(eq=False)
class Race:
    """All runners of a contest."""

    runners: list[Runner]
    steps: int
    metric: Metric
    yardstick: str = ""
    noise: float = 0.0

    @classmethod
    def of(
        cls,
        recipes: Mapping[str, Recipe],
        steps: int,
        metric: Metric,
        yardstick: str = "",
        noise: float = 0.0,
    ) -> "Race":
        """Start a contest between mechanisms whose recipes have that many steps."""
        runners = [Runner(name, candidates(recipe)) for name, recipe in recipes.items()]
        return cls(runners, steps, metric, yardstick, noise)

    @property
    def left(self) -> list[Runner]:
        """Those that have not been dropped."""
        return [runner for runner in self.runners if runner.is_on]

    def settle(
        self, rung: int, found: Mapping[str, Trial], failed: Mapping[str, str], most: int
    ) -> list[Runner]:
        """Note what a rung's trials scored by their run, drop the worse runners and return them.

        No more than `most` go on, and the yardstick.
        """
        until, before = rungs_of(self.steps)[rung], self.left
        for runner in before:
            self._note(runner, found, until)
        lost = [runner for runner in before if runner.scores[-1] is None]
        for runner in lost:
            runner.reason = _why(runner, failed) + f" by step {until:,}"
        rest = self.left
        kept = self._better(rest, min(most, num_kept(rung, len(before))))
        for runner in rest:
            if runner not in kept:
                runner.reason = f"worse than others at step {until:,}"
        return [runner for runner in before if not runner.is_on]

    def _note(self, runner: Runner, found: Mapping[str, Trial], until: int) -> None:
        scores = [_score(found.get(recipe.id), until, self.metric) for recipe in runner.trying]
        if runner.kept is None:
            place = self._best_rate(scores)
            runner.first_scores, runner.kept = scores, runner.candidates[place]
            scores = [scores[place]]
        runner.scores += scores

    def _best_rate(self, scores: Sequence[float | None]) -> int:
        """Return the place of the best rate, or of the preset's if that may be as good."""
        (place,) = best(scores, 1, self.metric)
        found, usual = scores[place], scores[USUAL]
        if found is None or usual is None or abs(found - usual) > self.noise:
            return place
        return USUAL

    def _better(self, runners: Sequence[Runner], count: int) -> list[Runner]:
        """Return the best of some runners, and the yardstick whatever it scored."""
        places = best([runner.scores[-1] for runner in runners], count, self.metric)
        return [
            runner
            for place, runner in enumerate(runners)
            if place in places or runner.name == self.yardstick
        ]


def _score(trial: Trial | None, until: int, metric: Metric) -> float | None:
    return None if trial is None else trial.best_by(until, metric)


def _why(runner: Runner, failed: Mapping[str, str]) -> str:
    """Say why a runner has no score."""
    errors = [failed[recipe.id] for recipe in runner.trying if recipe.id in failed]
    return f"failed ({errors[0]})" if errors else "diverged"
