"""What a tuning tries: the same values for every mechanism, and the step at which it compares.

    --tune optimiser.rate=1e-4,1e-3 --tune schedule.kind=cosine,linear     four candidates each

Without halving every candidate is trained to its last step. With halving all are compared at half
of the steps, and only the best goes on.

Choice: no candidate is stopped earlier, as successive halving would do. At a quarter of the steps
        of Retrieval (preset cpu) hardly anybody has left chance: that comparison dropped the rate
        with which S4D ends at 67.0 % for one with 55.0, and saves an eighth of the steps of three
        candidates.
Choice: candidates are compared where their runs validate anyway, at the first validation that is
        not before the half. One more would change the chosen run.
Choice: the schedule is that of the whole run, so that the chosen one can go on.
Choice: only the first seed is tuned; the chosen values are then trained with every seed.
"""

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from longarena.errors import UserError
from longarena.findings.changes import assign
from longarena.options import Value, read_value
from longarena.recipes.recipe import ID_LENGTH, Recipe, id_without_seed, override

TuningGrid = Mapping[str, Sequence[Value]]
Point = dict[str, Value]

HALF = 0.5
# they decide what is compared, or for how long
FIXED = {
    "preset",
    "seed",
    "model.mixer",
    "steps",
    "evaluate_every",
    "validate_on",
    "patience",
    "log_every",
    "checkpoint_every",
    "pretraining.steps",
}


def read_grid(assignments: Iterable[str]) -> dict[str, list[Value]]:
    """Read lines of `key=value,value`.

    >>> read_grid(["optimiser.rate=1e-4,1e-3", "schedule.kind=cosine,linear"])
    {'optimiser.rate': [0.0001, 0.001], 'schedule.kind': ['cosine', 'linear']}
    """
    grid: dict[str, list[Value]] = {}
    for assignment in assignments:
        key, equals, text = (part.strip() for part in assignment.partition("="))
        if not equals:
            raise UserError(f"--tune {assignment!r} is not of the form key=value,value")
        if key in grid:
            raise UserError(f"--tune {key} is given twice; name all its values once")
        grid[key] = _values(text)
    return grid


def _values(text: str) -> list[Value]:
    """Read values that are separated by commas; each is JSON, or else a plain word."""
    listed = read_value(f"[{text}]")
    return listed if isinstance(listed, list) else [read_value(word) for word in text.split(",")]


@dataclass(frozen=True)
class Question:
    """Which values suit one mechanism on one task best; `recipe` has the seed that is tuned on."""

    recipe: Recipe
    grid: TuningGrid
    halve: bool = False

    @cached_property
    def points(self) -> list[Point]:
        """The points of the grid, in its order."""
        return [
            dict(zip(self.grid, values, strict=True)) for values in product(*self.grid.values())
        ]

    @cached_property
    def candidates(self) -> list[Recipe]:
        """The recipe of every point."""
        return [at_point(self.recipe, point) for point in self.points]

    @property
    def compared_at(self) -> int:
        """The step at which the candidates are compared and the best is chosen."""
        steps, every = self.recipe.steps, self.recipe.evaluate_every
        return min(steps, every * math.ceil(HALF * steps / every)) if self.halve else steps

    @cached_property
    def id(self) -> str:
        """The name of the tuning: a digest of its candidates and of when they are compared."""
        text = json.dumps([[each.id for each in self.candidates], [self.compared_at]])
        return hashlib.sha256(text.encode()).hexdigest()[:ID_LENGTH]


def at_point(recipe: Recipe, point: Point) -> Recipe:
    """Derive the recipe that has the values of a point."""
    return override(recipe, [assign(key, value) for key, value in point.items()])


def ask(recipes: Sequence[Recipe], grid: TuningGrid, *, halve: bool = False) -> list[Question]:
    """Ask for every mechanism and task once, with the first of its seeds; refuse bad grids."""
    _check_grid(grid)
    first = {id_without_seed(recipe): recipe for recipe in reversed(recipes)}
    chosen = [recipe for recipe in recipes if first[id_without_seed(recipe)] is recipe]
    questions = [Question(recipe, grid, halve) for recipe in chosen]
    for question in questions:
        _check(question)
    return questions


def _check_grid(grid: TuningGrid) -> None:
    for key, values in grid.items():
        if key in FIXED or key.startswith("task."):
            raise UserError(
                f"{key} cannot be tuned: it decides what is compared, or for how long; "
                "tune a key of optimiser, schedule or model"
            )
        if len(values) < 2:
            raise UserError(f"--tune {key} has one value; give at least two, or use --set")


def _check(question: Question) -> None:
    ids = [recipe.id for recipe in question.candidates]
    if len(set(ids)) < len(ids):
        raise UserError("two points of the grid are the same recipe; name every value once")
    steps, every = question.recipe.steps, question.recipe.evaluate_every
    if question.halve and question.compared_at == steps:
        raise UserError(
            f"--halve needs a validation before the last of {steps} steps, and there is one every "
            f"{every}; add --set evaluate_every={max(1, steps // 4)}"
        )
