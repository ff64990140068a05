"""A trial: a run that is trained up to a step and validated, but not tested.

It is a run like any other that was stopped: the same recipe, folder and checkpoints. If it is
chosen, `train` goes on from there and ends with the same bits as if nobody had tried it.
"""

from pathlib import Path

from pydantic import ValidationError

from longarena.options import Options
from longarena.progress import SILENT, Progress
from longarena.recipes.recipe import Recipe, build_task, note_source
from longarena.records.record import RunRecord
from longarena.tracks.metric import Metric
from longarena.training.checkpoint import latest_state
from longarena.training.devices import launch
from longarena.training.folder import RunFolder
from longarena.training.loop import begin, bring_start, lock
from longarena.training.run import Host, Progressed, Run
from longarena.training.stop import stop_requests


class Trial(Options):
    """The step that a run has reached, and its validation scores so far.

    A run that has ended goes no further: it diverged, its patience was over, or it has a record.
    """

    step: int
    curve_steps: list[int]
    curve_values: list[float]
    has_ended: bool = False
    has_diverged: bool = False

    @classmethod
    def of_state(cls, state: Progressed, recipe: Recipe, *, has_diverged: bool = False) -> "Trial":
        """Tell how far a run in progress has come."""
        return cls(
            step=state.step,
            curve_steps=state.curve_steps,
            curve_values=state.curve_values,
            has_ended=has_diverged or state.is_exhausted(recipe.patience),
            has_diverged=has_diverged,
        )

    @classmethod
    def of_record(cls, record: RunRecord) -> "Trial":
        """Tell what a run that has ended scored on validation."""
        return cls(
            step=record.metrics.steps,
            curve_steps=record.curve.steps,
            curve_values=record.curve.values,
            has_ended=True,
            has_diverged=record.status == "diverged",
        )

    def has_reached(self, step: int) -> bool:
        """Tell whether there is nothing left to train up to a step."""
        return self.has_ended or self.step >= step

    def best_by(self, step: int, metric: Metric) -> float | None:
        """Return the best score up to a step; None if the run had diverged by then."""
        # a record says what it likes, so the lists may differ in length
        points = zip(self.curve_steps, self.curve_values, strict=False)
        values = [value for at, value in points if at <= step]
        is_lost = self.has_diverged and self.step <= step
        return None if is_lost or not values else metric.best(values)


def try_until(
    recipe: Recipe, step: int, runs: Path = Path("runs"), progress: Progress = SILENT
) -> Trial:
    """Bring the run of a recipe to a step at which it validates; its test split is not read."""
    recipe = note_source(recipe)
    folder, task = RunFolder.of(runs, recipe), build_task(recipe)
    with lock(folder):
        record = folder.read_record(recipe)
        if record is not None:
            return Trial.of_record(record)
        data, host = begin(recipe, task, folder, progress), Host(launch(recipe), progress)
        start = bring_start(host, recipe, runs)
        run = Run(host, recipe, task, folder, data, start=start)
        with stop_requests() as stop:
            status = run.fit(stop, until=step)
    return Trial.of_state(run.state, recipe, has_diverged=status == "diverged")


def read_trial(folder: RunFolder, recipe: Recipe) -> Trial | None:
    """Tell by its newest checkpoint how far a run has come; None if it has not begun."""
    found = latest_state(folder.checkpoints)
    try:
        return Trial.of_state(Progressed.model_validate(found), recipe) if found else None
    except ValidationError:
        return None
