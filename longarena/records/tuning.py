"""The record of a tuning: which values were tried, what each scored on validation, which won.

It stands beside the records of the runs, which say nothing of it: the record of the chosen run is
that of the same recipe trained without tuning, and a run that was finished before needs no other.
"""

from typing import Literal

from pydantic import Field, model_validator

from longarena.model.config import MAX_NAME
from longarena.options import Choices, Natural, Options, Value, Values
from longarena.recipes.recipe import Recipe
from longarena.runtime import Machine, Versions
from longarena.tracks.metric import Metric

Edge = Literal["smallest", "largest"]


class Candidate(Options):
    """One point of the grid, its run, and its best validation score by each rung that it reached.

    A run that had diverged by a rung has None there.
    """

    run: str
    values: Values
    scores: list[float | None] = Field(min_length=1)


class TuningRecord(Options):
    """How the values of a recipe were chosen for one mechanism on one task.

    `recipe` is the chosen one, with the seed that was tuned on; the values hold for every seed.
    `rungs` are the steps at which the candidates were compared and the worse ones were stopped.
    """

    format: Literal[2] = 2
    kind: Literal["tuning"] = "tuning"
    id: str = Field(min_length=1, max_length=MAX_NAME)
    recipe: Recipe
    metric: Metric
    variant: str
    grid: Choices = Field(min_length=1)
    rungs: list[Natural] = Field(min_length=1)
    candidates: list[Candidate]
    machine: Machine
    versions: Versions
    finished_at: str

    @model_validator(mode="after")
    def _belongs_together(self) -> "TuningRecord":
        if self.recipe.id not in {each.run for each in self.candidates}:
            raise ValueError("the chosen recipe is none of the candidates")
        if any(set(each.values) != set(self.grid) for each in self.candidates):
            raise ValueError("a candidate has other keys than the grid")
        if any(len(each.scores) > len(self.rungs) for each in self.candidates):
            raise ValueError("a candidate has more scores than there are rungs")
        return self

    @property
    def chosen(self) -> Candidate:
        """The candidate that won."""
        return next(each for each in self.candidates if each.run == self.recipe.id)

    @property
    def is_halved(self) -> bool:
        """Whether the worse candidates were stopped before their last step."""
        return self.rungs[-1] < self.recipe.steps

    @property
    def budget(self) -> int:
        """The steps that all candidates together were given."""
        return sum(self.rungs[len(each.scores) - 1] for each in self.candidates)

    @property
    def edges(self) -> dict[str, Edge]:
        """The keys whose chosen value is the smallest or the largest number that was tried."""
        found = {key: edge(self.chosen.values[key], tried) for key, tried in self.grid.items()}
        return {key: which for key, which in found.items() if which is not None}


def edge(value: Value, tried: list[Value]) -> Edge | None:
    """Tell whether a value is at the edge of some numbers; words and switches have none.

    >>> edge(0.1, [0.1, 0.2, 0.3]), edge(0.2, [0.1, 0.2, 0.3]), edge("a", ["a", "b"])
    ('smallest', None, None)
    """
    numbers = [x for x in tried if isinstance(x, int | float) and not isinstance(x, bool)]
    if not numbers or len(numbers) < len(tried):
        return None
    if value == min(numbers):
        return "smallest"
    return "largest" if value == max(numbers) else None
