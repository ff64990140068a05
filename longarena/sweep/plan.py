"""Plan a sweep: how far every run has come, and how long the rest may take.

done          its record is among the records, or in its folder
interrupted   it has a checkpoint to go on from
failed        it ended in an error before; it is tried again
to do         it has not begun

Choice: a run is expected to be as fast as earlier runs of the same task, model and batch, at their
        median rate; without such runs the time is unknown. Validation and the start of a process
        are not in the estimate. Steps of pretraining count like others, until the run itself has
        begun.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Literal, NamedTuple

from longarena.errors import UserError
from longarena.findings.changes import flatten, write
from longarena.model.config import ModelConfig
from longarena.recipes.recipe import Recipe, build_task, signature_of
from longarena.records.folder import find_run_record, write_record
from longarena.records.record import RunRecord
from longarena.tracks import track_of
from longarena.tracks.metric import Metric
from longarena.training.folder import RunFolder
from longarena.training.trial import Trial, read_trial

# what of a model decides its speed
MODEL = set(ModelConfig.model_fields) - {"own"}

State = Literal["done", "interrupted", "failed", "to do"]


@dataclass(frozen=True)
class Places:
    """Where runs live and where their records go."""

    runs: Path
    store: Path


class Names(NamedTuple):
    """What a run is called in tables."""

    task: str
    mixer: str
    seed: str


@dataclass(frozen=True)
class PlannedRun:
    """One run of a sweep before it is begun; `step` is where it would go on.

    With `until` it is only tried up to that step, and is done once it has got there.
    """

    recipe: Recipe
    names: Names
    state: State
    step: int = 0
    error: str = ""
    record: RunRecord | None = None
    until: int | None = None
    trial: Trial | None = None

    @property
    def last_step(self) -> int:
        """The step at which it is done."""
        return self.recipe.steps if self.until is None else self.until


def plan(recipes: Sequence[Recipe], places: Places) -> list[PlannedRun]:
    """Find out for every recipe how far its run has come."""
    return [look(recipe, name(recipe, recipes), places) for recipe in recipes]


def name(recipe: Recipe, recipes: Iterable[Recipe]) -> Names:
    """Name task, mechanism and seed, with what tells this run from others of the same names."""
    pair = (recipe.task.name, recipe.model.mixer)
    others = [flatten(each) for each in recipes if (each.task.name, each.model.mixer) == pair]
    own = {
        key: value
        for key, value in flatten(recipe).items()
        if key != "seed" and any(other.get(key, ...) != value for other in others)
    }
    task = write({key: value for key, value in own.items() if key.startswith("task.")})
    mixer = write({key: value for key, value in own.items() if not key.startswith("task.")})
    return Names(f"{pair[0]} {task}".strip(), f"{pair[1]} {mixer}".strip(), str(recipe.seed))


def look(recipe: Recipe, names: Names, places: Places, until: int | None = None) -> PlannedRun:
    """Find out how far a run has come, or whether it has been tried up to a step."""
    run = _look(recipe, names, places)
    if until is None:
        return run
    folder = RunFolder.of(places.runs, recipe)
    trial = Trial.of_record(run.record) if run.record else read_trial(folder, recipe)
    if trial is None or not trial.has_reached(until):
        return replace(run, until=until)
    # without the record: what the test split says is nothing to choose by
    return replace(run, state="done", until=until, trial=trial, record=None)


def _look(recipe: Recipe, names: Names, places: Places) -> PlannedRun:
    found = find_run_record(places.store, recipe)
    if isinstance(found, RunRecord):
        return PlannedRun(recipe, names, "done", found.metrics.steps, record=found)
    folder = RunFolder.of(places.runs, recipe)
    try:
        record = folder.read_record(recipe)
    except UserError as error:
        return PlannedRun(recipe, names, "failed", error=str(error))
    if record is not None:
        return PlannedRun(recipe, names, "done", record.metrics.steps, record=record)
    step = folder.last_checkpoint()
    if found is not None:
        return PlannedRun(recipe, names, "failed", step, error=found.error)
    return PlannedRun(recipe, names, "interrupted" if step else "to do", step)


def metric_of(recipe: Recipe) -> Metric:
    """Return the metric that a recipe's runs are scored by."""
    return track_of(signature_of(recipe, build_task(recipe))).metric


def keep(run: PlannedRun, places: Places) -> None:
    """Copy the record of a run to the records if only the run's folder has it."""
    if run.record is None:
        return
    if not isinstance(find_run_record(places.store, run.recipe), RunRecord):
        keep_record(run.record, places)


def keep_record(record: RunRecord, places: Places) -> None:
    """Write the record of a run to the records, with the answers that are in the run's folder."""
    answers = None
    with suppress(UserError):  # the record is worth keeping without its answers
        answers = RunFolder.of(places.runs, record.recipe).read_answers(record)
    write_record(places.store, record, answers)


class Estimates:
    """Expected seconds of training, from the rates of earlier runs."""

    def __init__(self, runs: Iterable[RunRecord]) -> None:
        self._rates: dict[str, list[float]] = defaultdict(list)
        for record in runs:
            self.add(record)

    def add(self, record: RunRecord) -> None:
        """Learn from a run."""
        if record.metrics.steps_per_second > 0:
            self._rates[_kind(record.recipe)].append(record.metrics.steps_per_second)

    def seconds(self, recipe: Recipe, step: int, until: int | None = None) -> float | None:
        """Return how long the steps after `step` may take; None where nothing is known."""
        rates = self._rates.get(_kind(recipe))
        last = recipe.steps if until is None else until
        left = max(0, last - step)
        if recipe.pretraining and step == 0:
            left += recipe.pretraining.steps
        return left / median(rates) if rates else None

    def total(self, runs: Sequence[PlannedRun], num_workers: int) -> tuple[float, int]:
        """Return the seconds that all runs may take, and how many of them are unknown."""
        pending = [run for run in runs if run.state != "done"]
        left = [self.seconds(run.recipe, run.step, run.until) for run in pending]
        known = [seconds for seconds in left if seconds is not None]
        return sum(known) / num_workers, len(left) - len(known)


def _kind(recipe: Recipe) -> str:
    """Return what decides how long a step takes."""
    task = {"name", "options"}
    return recipe.model_dump_json(
        include={"task": task, "model": MODEL, "batch_size": True, "precision": True}
    )
