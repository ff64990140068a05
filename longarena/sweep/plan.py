"""Plan a sweep: how far every run has come, and how long the rest may take.

done          its record is among the records, or in its folder
interrupted   it has a checkpoint to go on from
failed        it ended in an error before; it is tried again
to do         it has not begun

Choice: a run is expected to be as fast as earlier runs of the same task, model and batch; without
        such runs the time is unknown. Validation and the start of a process are not in the
        estimate. Steps of pretraining count like others, until the run itself has begun.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Literal, NamedTuple

from longarena.errors import UserError
from longarena.findings.changes import flatten, write
from longarena.model.config import ModelConfig
from longarena.options import Value
from longarena.recipes.recipe import Recipe, build_task, signature_of
from longarena.records.folder import Records, find_run_record, write_record
from longarena.records.record import FailureRecord, RunRecord
from longarena.records.summary import Run, RunSummary, any_seed, whole
from longarena.tracks import track_of
from longarena.tracks.metric import Metric
from longarena.training.folder import RunFolder
from longarena.training.trial import Trial, read_trial

# what of a model decides its speed
MODEL = set(ModelConfig.model_fields) - {"own"}

State = Literal["done", "interrupted", "failed", "to do"]
Stored = Run | FailureRecord


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

    `is_stored` says that its record is among the records, not only in its folder. With `until` it
    is only tried up to that step, and is done once it has got there.
    """

    recipe: Recipe
    names: Names
    state: State
    step: int = 0
    error: str = ""
    record: Run | None = None
    until: int | None = None
    trial: Trial | None = None
    is_stored: bool = False

    @property
    def last_step(self) -> int:
        """The step at which it is done."""
        return self.recipe.steps if self.until is None else self.until


def plan(
    recipes: Sequence[Recipe], places: Places, stored: Mapping[str, Stored] | None = None
) -> list[PlannedRun]:
    """Find out for every recipe how far its run has come.

    `stored` is what all records say, by the ids of the runs (`stored_runs`); a sweep of many runs
    is planned faster by them than by looking for the record of each.
    """
    return [
        _look(recipe, names, places, _find(recipe, places, stored))
        for recipe, names in zip(recipes, name_all(recipes), strict=True)
    ]


def stored_runs(records: Records) -> dict[str, Stored]:
    """List the runs that records tell of by their ids, a success rather than a failure."""
    every: list[Stored] = [*records.failures, *records.runs]
    return {record.id: record for record in every if not record.is_mislabelled}


def _find(recipe: Recipe, places: Places, stored: Mapping[str, Stored] | None) -> Stored | None:
    return find_run_record(places.store, recipe) if stored is None else stored.get(recipe.id)


def name_all(recipes: Sequence[Recipe]) -> list[Names]:
    """Name task, mechanism and seed of runs, with what tells those of the same names apart."""
    flat = [flatten(recipe) for recipe in recipes]
    alike: dict[tuple[str, str], list[dict[str, Value]]] = defaultdict(list)
    for recipe, values in zip(recipes, flat, strict=True):
        alike[recipe.task.name, recipe.model.mixer].append(values)
    telling = {pair: _telling(found) for pair, found in alike.items()}
    return [
        _names(recipe, values, telling[recipe.task.name, recipe.model.mixer])
        for recipe, values in zip(recipes, flat, strict=True)
    ]


def _telling(recipes: Sequence[Mapping[str, Value]]) -> set[str]:
    """Return the keys whose values differ between some recipes, beside their seeds."""
    first = recipes[0]
    keys = {key for values in recipes for key in values if key != "seed"}
    return {
        key
        for key in keys
        if any(values.get(key, ...) != first.get(key, ...) for values in recipes)
    }


def _names(recipe: Recipe, values: Mapping[str, Value], telling: Collection[str]) -> Names:
    own = {key: value for key, value in values.items() if key in telling}
    task = write({key: value for key, value in own.items() if key.startswith("task.")})
    mixer = write({key: value for key, value in own.items() if not key.startswith("task.")})
    pair = (recipe.task.name, recipe.model.mixer)
    return Names(f"{pair[0]} {task}".strip(), f"{pair[1]} {mixer}".strip(), str(recipe.seed))


def look(recipe: Recipe, names: Names, places: Places, until: int | None = None) -> PlannedRun:
    """Find out how far a run has come, or whether it has been tried up to a step."""
    run = _look(recipe, names, places, find_run_record(places.store, recipe))
    if until is None:
        return run
    folder = RunFolder.of(places.runs, recipe)
    trial = Trial.of_record(whole(run.record)) if run.record else read_trial(folder, recipe)
    if trial is None or not trial.has_reached(until):
        return replace(run, until=until)
    # without the record: what the test split says is nothing to choose by
    return replace(run, state="done", until=until, trial=trial, record=None)


def _look(recipe: Recipe, names: Names, places: Places, found: Stored | None) -> PlannedRun:
    if isinstance(found, RunRecord | RunSummary):
        steps = found.metrics.steps
        return PlannedRun(recipe, names, "done", steps, record=found, is_stored=True)
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
    if run.record is None or run.is_stored:
        return
    if not isinstance(find_run_record(places.store, run.recipe), RunRecord):
        keep_record(whole(run.record), places)


def keep_record(record: RunRecord, places: Places) -> None:
    """Write the record of a run to the records, with the answers that are in the run's folder."""
    answers = None
    with suppress(UserError):  # the record is worth keeping without its answers
        answers = RunFolder.of(places.runs, record.recipe).read_answers(record)
    write_record(places.store, record, answers)


class Estimates:
    """Expected seconds of training, from the rates of earlier runs.

    Records were made on another day, perhaps beside other work. What the sweep itself has finished
    tells how fast the machine is now: runs of one kind are expected to go on at the rate of those,
    and the rates of records are corrected by the median of what they were off by so far.
    """

    def __init__(self, runs: Iterable[Run]) -> None:
        self._recorded: dict[str, list[float]] = defaultdict(list)
        # runs are learnt from when one of the same task and mechanism is asked about
        self._runs: dict[tuple[str, str], list[Run]] = defaultdict(list)
        self._finished: dict[str, list[float]] = defaultdict(list)
        self._paces: list[float] = []
        for run in runs:
            if run.metrics.steps_per_second > 0:
                self._runs[run.task_name, run.mixer].append(run)

    def add_finished(self, run: Run) -> None:
        """Learn from a run that the sweep has finished."""
        recipe, rate = any_seed(run), run.metrics.steps_per_second
        if rate > 0:
            if recorded := self._recorded_rates(recipe):
                self._paces.append(rate / median(recorded))
            self._finished[_kind(recipe)].append(rate)

    def seconds(self, recipe: Recipe, step: int, until: int | None = None) -> float | None:
        """Return how long the steps after `step` may take; None where nothing is known."""
        rate = self._rate(recipe)
        last = recipe.steps if until is None else until
        left = max(0, last - step)
        if recipe.pretraining and step == 0 and recipe.extension is None:
            left += recipe.pretraining.steps
        return left / rate if rate else None

    def _rate(self, recipe: Recipe) -> float | None:
        if finished := self._finished.get(_kind(recipe)):
            return median(finished)
        if recorded := self._recorded_rates(recipe):
            return median(recorded) * (median(self._paces) if self._paces else 1)
        return None

    def _recorded_rates(self, recipe: Recipe) -> list[float]:
        for run in self._runs.pop((recipe.task.name, recipe.model.mixer), []):
            self._recorded[_kind(any_seed(run))].append(run.metrics.steps_per_second)
        return self._recorded.get(_kind(recipe), [])

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
