"""The plan of a contest: what was decided before training, written down.

The schedule of a run depends on its last step, so the number of steps is fixed once. A command that
was stopped reads the plan again and makes the same decisions, whatever the clock says then.
"""

from pathlib import Path
from statistics import median

from pydantic import Field, ValidationError

from longarena.choose.budget import PARTS, Contest, Price
from longarena.data.files import write_atomically
from longarena.options import Options
from longarena.recipes.recipe import Recipe, replace
from longarena.records.record import MeasureRecord


class Measured(Options):
    """What a training step takes at the length of the data."""

    seconds_per_step: float
    peak_bytes: int

    @classmethod
    def of(cls, record: MeasureRecord) -> "Measured":
        """Read it from a measurement that succeeded."""
        if record.metrics is None:
            raise ValueError(f"{record.model.mixer} was not measured: {record.reason}")
        return cls(
            seconds_per_step=median(record.metrics.seconds_per_step),
            peak_bytes=record.metrics.peak_live_bytes,
        )


class Plan(Options):
    """Who takes part for how many steps, and why the others do not.

    `recipes` are the preset's, with what the user set. `most` are how many could go on after each
    rung so far, by what was left of the `seconds`; `noise` is by how much validations may differ by
    chance.
    """

    id: str
    steps: int
    length: int
    test_examples: int
    workers: int
    recipes: dict[str, Recipe]
    prices: dict[str, Price]
    measured: dict[str, Measured]
    left_out: dict[str, str]
    seconds: float
    noise: float
    most: list[int] = Field(default_factory=list)

    @property
    def runs(self) -> dict[str, Recipe]:
        """The recipes of the contest, at the preset's rate."""
        return {name: with_steps(recipe, self.steps) for name, recipe in self.recipes.items()}

    def stage_seconds(self, yardstick: str) -> list[float]:
        """Return how long each rung may take."""
        return Contest(self.prices, self.workers, yardstick).stage_seconds(self.steps)


def plan_path(folder: Path, name: str) -> Path:
    """Return where the plan of a question is kept."""
    return folder / f"plan-{name}.json"


def write_plan(folder: Path, plan: Plan) -> None:
    """Write a plan down."""
    write_atomically(plan_path(folder, plan.id), plan.model_dump_json(indent=2) + "\n")


def read_plan(folder: Path, name: str) -> Plan | None:
    """Read the plan of a question; None if there is none that can be read."""
    try:
        return Plan.model_validate_json(plan_path(folder, name).read_text(encoding="utf-8"))
    except (OSError, ValidationError):
        return None


def with_steps(recipe: Recipe, steps: int) -> Recipe:
    """Derive the recipe of a full run of some steps: it validates at every eighth of them.

    A tenth of the steps is warm-up where the recipe has any.
    """
    part = steps // PARTS
    warmup = min(recipe.schedule.warmup_steps, steps // 10)
    return replace(
        recipe,
        steps=steps,
        evaluate_every=part,
        checkpoint_every=part,
        log_every=max(1, part // 2),
        schedule=recipe.schedule.model_dump() | {"warmup_steps": warmup},
    )
