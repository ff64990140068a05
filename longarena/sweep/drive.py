"""Work through a plan: start runs while there is room, and settle those that have ended.

The crew may be processes on this machine (local.py) or tasks on many (ray.py); the rules are the
same. A run that fails is recorded with its error and does not stop the others.

Choice: a run whose process was killed goes to the end of the queue and is tried once more from
        its checkpoint, because its neighbours may have filled the memory. Killed again, it has
        failed.
Choice: a run that another sweep is working on is waited for, after all others. If that sweep
        finishes it, it counts as done; if that sweep drops it, this one takes it.
Choice: runs that begin with the same pretraining wait while one of them trains it, so that it is
        trained once and no worker is idle meanwhile.
"""

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, Protocol

from longarena.data.files import locked
from longarena.data.storage import StorageError
from longarena.errors import Busy, UserError
from longarena.progress import Progress
from longarena.recipes.pretraining import start_of
from longarena.recipes.recipe import Recipe, build_task
from longarena.records.folder import find_run_record, write_record
from longarena.records.record import FailureRecord, RunRecord
from longarena.records.summary import Run
from longarena.runtime import machine, versions
from longarena.sweep.plan import Estimates, Places, PlannedRun, keep, look
from longarena.sweep.worker import Outcome
from longarena.training.folder import RunFolder
from longarena.training.stop import StopRequest
from longarena.training.trial import Trial

SECONDS_BETWEEN_LOOKS = 0.2
TRIES = 2

Standing = Literal["skipped", "waiting", "running", "elsewhere", "finished", "failed", "stopped"]


class Crew(Protocol):
    """The workers of a sweep."""

    @property
    def num_workers(self) -> int:
        """How many runs are done at a time."""

    @property
    def has_room(self) -> bool:
        """Whether one more run can be started."""

    def prepare(self, recipe: Recipe, progress: Progress) -> None:
        """Have the data of a recipe ready for all of them; raise UserError if it cannot be had."""

    def start(self, recipe: Recipe, until: int | None = None) -> None:
        """Start a run, or try it up to a step."""

    def ended(self) -> list[tuple[Recipe, Outcome]]:
        """Return the runs that have ended since the last call."""

    def news(self) -> list[str]:
        """Return what the workers said since the last call."""

    def stop(self) -> None:
        """Ask every run to save itself and end."""


@dataclass
class Entry:
    """One run of a sweep in progress."""

    planned: PlannedRun
    standing: Standing = "waiting"
    reason: str = ""
    record: Run | None = None
    trial: Trial | None = None
    tries: int = 0
    started_at: float = 0.0


@dataclass
class Sweep:
    """All runs of a sweep, and where they are kept."""

    entries: list[Entry]
    places: Places
    estimates: Estimates
    started_at: float = field(default_factory=time.monotonic)
    was_stopped: bool = False

    @classmethod
    def of(cls, runs: Sequence[PlannedRun], places: Places, estimates: Estimates) -> "Sweep":
        """Start a sweep; runs that are done already are skipped."""
        for run in runs:
            keep(run, places)
        entries = [
            Entry(run, "skipped" if run.state == "done" else "waiting", "", run.record, run.trial)
            for run in runs
        ]
        return cls(entries, places, estimates)

    def count(self, *standings: Standing) -> int:
        """Count the runs with one of these standings."""
        return sum(entry.standing in standings for entry in self.entries)


class Display(Protocol):
    """What shows a sweep to a person."""

    def show(self, sweep: Sweep) -> None:
        """Show where the sweep stands."""

    def tell(self, line: str) -> None:
        """Show a line that a worker said."""


def prepare_all(sweep: Sweep, crew: Crew, progress: Progress) -> None:
    """Prepare the data of all runs, each once; runs whose data is missing have failed."""
    refused: dict[Path | str, str] = {}
    for entry in sweep.entries:
        if entry.standing != "waiting":
            continue
        choice = entry.planned.recipe.task.model_dump_json()
        if choice not in refused:
            refused[choice] = _refusal(entry.planned.recipe, crew, progress)
        if refused[choice]:
            _fail(entry, refused[choice], sweep.places)


def _refusal(recipe: Recipe, crew: Crew, progress: Progress) -> str:
    try:
        crew.prepare(recipe, progress)
    except StorageError:
        raise  # it is no fault of the run's
    except UserError as error:
        return str(error)
    return ""


def drive(sweep: Sweep, crew: Crew, display: Display, stop: StopRequest) -> None:
    """Bring every run of a sweep to its end, or to its last checkpoint if a stop is asked for."""
    queue = deque(entry for entry in sweep.entries if entry.standing == "waiting")
    running: dict[str, Entry] = {}
    is_stopping = False
    while queue or running:
        has_started = False
        for recipe, outcome in crew.ended():
            entry = running.pop(recipe.id)
            _settle(entry, outcome, sweep.places)
            if outcome.record is not None:
                sweep.estimates.add_finished(outcome.record)
            if entry.standing in ("waiting", "elsewhere"):
                queue.append(entry)
        for line in crew.news():
            display.tell(line)
        display.show(sweep)
        if stop.asked and not is_stopping:
            crew.stop()
            is_stopping = True
        if is_stopping:
            for entry in queue:
                entry.standing = "stopped"
            queue.clear()
        elif crew.has_room:
            has_started = _start_next(queue, running, sweep.places, crew)
        time.sleep(0.0 if has_started and crew.has_room else SECONDS_BETWEEN_LOOKS)
    sweep.was_stopped = stop.asked


def _start_next(queue: deque[Entry], running: dict[str, Entry], places: Places, crew: Crew) -> bool:
    """Start the first run that nobody is working on; tell whether there was one."""
    for entry in list(queue):
        recipe = entry.planned.recipe
        if _is_in_use(RunFolder.of(places.runs, recipe)):
            entry.standing = "elsewhere"
            continue
        if _is_starting(recipe, running, places):
            continue
        queue.remove(entry)
        entry.planned = look(recipe, entry.planned.names, places, entry.planned.until)
        if entry.planned.state == "done":
            keep(entry.planned, places)
            entry.standing, entry.record = "skipped", entry.planned.record
            entry.trial = entry.planned.trial
            entry.reason = "another sweep finished it"
            continue
        entry.standing, entry.started_at = "running", time.monotonic()
        entry.tries += 1
        running[recipe.id] = entry
        crew.start(recipe, entry.planned.until)
        return True
    return False


def _is_starting(recipe: Recipe, running: dict[str, Entry], places: Places) -> bool:
    """Tell whether somebody is working on the run that this one begins with."""
    before = start_of(recipe)
    if before is None or (folder := RunFolder.of(places.runs, before)).record.exists():
        return False
    # a worker of this sweep takes a moment to lock what it trains
    others = [start_of(entry.planned.recipe) for entry in running.values()]
    return before.id in running or before in others or _is_in_use(folder)


def _is_in_use(folder: RunFolder) -> bool:
    if not folder.lock.exists():
        return False
    try:
        with locked(folder.lock, "unused"):
            return False
    except Busy:
        return True


def _settle(entry: Entry, outcome: Outcome, places: Places) -> None:
    """Decide what follows from how a run ended."""
    entry.reason, entry.record, entry.trial = outcome.reason, outcome.record, outcome.trial
    if outcome.state == "busy":
        entry.standing, entry.tries = "elsewhere", entry.tries - 1
    elif outcome.state == "killed" and entry.tries < TRIES:
        entry.standing = "waiting"
    elif outcome.state in ("killed", "failed"):
        _fail(entry, outcome.reason, places)
    else:
        entry.standing = "finished" if outcome.state == "finished" else "stopped"


def _fail(entry: Entry, reason: str, places: Places) -> None:
    """Record a failure, unless another sweep has succeeded in the meantime.

    That of a trial is told and not recorded: no later success would take its place.
    """
    recipe = entry.planned.recipe
    entry.standing, entry.reason = "failed", " ".join(reason.split())
    if entry.planned.until is not None:
        return
    if isinstance(find_run_record(places.store, recipe), RunRecord):
        return
    record = FailureRecord(
        id=recipe.id,
        recipe=recipe,
        variant=build_task(recipe).variant,
        error=entry.reason,
        machine=machine(),
        versions=versions(),
        finished_at=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    write_record(places.store, record)
