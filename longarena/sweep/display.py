"""Show a sweep: one live table for all runs, or plain lines in a log file.

The progress of a run is read from its log, which a run on another machine sends now and then.
"""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from longarena.printable import printable
from longarena.progress import duration
from longarena.recipes.pretraining import start_of
from longarena.records.summary import whole
from longarena.sweep.drive import Entry, Standing, Sweep
from longarena.sweep.plan import PlannedRun, metric_of
from longarena.tracks.metric import Metric
from longarena.training.folder import RunFolder
from longarena.training.trial import Trial

SECONDS_BETWEEN_TABLES = 0.5
SECONDS_BETWEEN_LINES = 60.0
TAIL_BYTES = 4096
# lines of a terminal that are not rows of the table
FRAME = 5
# the column that says what a run found has no title
NOTE = ""
ORDER: tuple[Standing, ...] = (
    "running",
    "failed",
    "elsewhere",
    "waiting",
    "finished",
    "stopped",
    "skipped",
)
STYLES = {"running": "cyan", "failed": "red", "finished": "green", "elsewhere": "yellow"}


@dataclass(frozen=True)
class Moment:
    """How far a run has come, by the end of its log."""

    step: int = 0
    note: str = ""
    steps_per_second: float = 0.0


def moment(folder: RunFolder, metric: Metric) -> Moment:
    """Read the end of a run's log."""
    try:
        with folder.log.open("rb") as file:
            file.seek(max(0, folder.log.stat().st_size - TAIL_BYTES))
            lines = file.read().decode(errors="replace").splitlines()
    except OSError:
        return Moment()
    facts: dict[str, float] = {}
    for line in lines:
        try:
            facts |= json.loads(line)
        except (ValueError, TypeError):
            continue  # the first line may be cut, and the last may be incomplete
    return Moment(
        int(facts.get("step", 0)), _note(facts, metric), facts.get("steps_per_second", 0.0)
    )


def _note(facts: dict[str, float], metric: Metric) -> str:
    parts = [f"loss {facts['loss']:.3f}"] if facts.get("loss") is not None else []
    for name, title in ((f"valid_{metric.name}", "validation"), (metric.name, metric.name)):
        if facts.get(name) is not None:
            return " ".join([*parts, f"{title} {metric.write_with_unit(facts[name])}"])
    return " ".join(parts)


class Silent:
    """A display that shows nothing."""

    def show(self, sweep: Sweep) -> None:
        """Show nothing."""

    def tell(self, line: str) -> None:
        """Show nothing."""


class Lines:
    """One line when a run begins or ends, and one about all runs now and then."""

    def __init__(self, console: Console, watch: "Watch") -> None:
        self._console, self._watch = console, watch
        self._standings: dict[int, Standing] = {}
        self._last = time.monotonic()

    def show(self, sweep: Sweep) -> None:
        """Print what has changed."""
        # by their numbers: an id takes a moment, and nearly always nothing has changed
        for number, entry in enumerate(sweep.entries):
            before = self._standings.get(number, "waiting")
            if entry.standing not in (before, "skipped"):
                self._standings[number] = entry.standing
                names, run_id = " ".join(entry.planned.names), entry.planned.recipe.id
                self.tell(f"{names} ({run_id}): {result(entry)}")
        if time.monotonic() - self._last > SECONDS_BETWEEN_LINES:
            self._last = time.monotonic()
            self.tell(self._watch.title(sweep))

    def tell(self, line: str) -> None:
        """Print a line."""
        _print(self._console, line)


class LiveTable:
    """A table that is redrawn in place."""

    def __init__(self, live: Live, watch: "Watch") -> None:
        self._live, self._watch, self._last = live, watch, 0.0

    def show(self, sweep: Sweep) -> None:
        """Redraw the table, twice a second."""
        if time.monotonic() - self._last > SECONDS_BETWEEN_TABLES:
            self._last = time.monotonic()
            height = max(3, self._live.console.height - FRAME)
            self._live.update(self._watch.table(sweep, height), refresh=True)

    def tell(self, line: str) -> None:
        """Print a line above the table, where it stays."""
        _print(self._live.console, line)


def _print(console: Console, line: str) -> None:
    console.print(printable(line), highlight=False, markup=False, soft_wrap=True)


@dataclass(frozen=True)
class Watch:
    """What to say about a sweep in progress."""

    num_workers: int

    def title(self, sweep: Sweep) -> str:
        """Say in one line how far a sweep has come."""
        done, failed = sweep.count("skipped", "finished"), sweep.count("failed")
        parts = [f"{done} of {len(sweep.entries)} runs done", f"{sweep.count('running')} running"]
        parts += [f"{failed} failed"] if failed else []
        parts += [f"{duration(time.monotonic() - sweep.started_at)} so far", self._left(sweep)]
        return ", ".join(parts)

    def table(self, sweep: Sweep, height: int) -> Table:
        """Draw the runs, the running ones first; count those that do not fit."""
        entries = sorted(sweep.entries, key=lambda entry: ORDER.index(entry.standing))
        table = Table(
            title=Text(self.title(sweep)),
            title_justify="left",
            box=None,
            pad_edge=False,
        )
        for header in ("task", "mixer", "seed", "state", "step", NOTE, "left"):
            # if there is no room, only the note gives way, because users type names again
            table.add_column(header, no_wrap=header != NOTE)
        for entry in entries[:height]:
            cells = self._cells(entry, sweep)
            table.add_row(*map(_line, cells), style=STYLES.get(entry.standing, "dim"))
        if len(entries) > height:
            table.caption = f"and {len(entries) - height} more"
        return table

    def _cells(self, entry: Entry, sweep: Sweep) -> list[str]:
        if entry.standing == "running":
            now = _now(entry, sweep)
            left = _seconds_left(entry, sweep, now)
            step, note = f"{now.step}/{entry.planned.last_step}", now.note
            return [*entry.planned.names, "running", step, note, duration(left) if left else ""]
        is_waiting, last = entry.standing == "waiting", entry.planned.last_step
        step = f"{entry.planned.step}/{last}" if is_waiting else ""
        return [*entry.planned.names, entry.standing, step, _ending(entry), ""]

    def _left(self, sweep: Sweep) -> str:
        """Estimate the time left; a run of unknown length counts as the mean of the others."""
        pending = [e for e in sweep.entries if e.standing in ("running", "waiting")]
        left = [_seconds_left(entry, sweep, _now(entry, sweep)) for entry in pending]
        known = [seconds for seconds in left if seconds is not None]
        if not known:
            return "time left unknown"
        total = sum(known) / len(known) * len(pending) / min(self.num_workers, len(pending))
        return f"about {duration(total)} left"


def _line(text: str) -> Text:
    return Text(printable(text), no_wrap=True, overflow="ellipsis")


def _now(entry: Entry, sweep: Sweep) -> Moment:
    is_running = entry.standing == "running"
    if not is_running:
        return Moment()
    recipe, runs = entry.planned.recipe, sweep.places.runs
    now, before = moment(RunFolder.of(runs, recipe), metric_of(recipe)), start_of(recipe)
    if before is None or now.step:
        return now
    first = moment(RunFolder.of(runs, before), metric_of(before))
    verb = "pretraining" if before.masking else "first training"
    return Moment(note=f"{verb} {first.step}/{before.steps} {first.note}".rstrip())


def _seconds_left(entry: Entry, sweep: Sweep, now: Moment) -> float | None:
    planned = entry.planned
    if now.steps_per_second:
        return (planned.last_step - now.step) / now.steps_per_second
    return sweep.estimates.seconds(planned.recipe, planned.step, planned.until)


def result(entry: Entry) -> str:
    """Say where a run stands, and what it found if it has ended."""
    ending = _ending(entry)
    return f"{entry.standing}: {ending}" if ending else entry.standing


def _ending(entry: Entry) -> str:
    if entry.trial is not None:
        return _score(entry.trial, entry.planned)
    return whole(entry.record).outcome if entry.record else entry.reason


def _score(trial: Trial, planned: PlannedRun) -> str:
    """Say what a trial scored on validation; if it has been tested too, that is not said."""
    metric = metric_of(planned.recipe)
    best = trial.best_by(planned.last_step, metric)
    if best is None:
        return "diverged"
    return f"validation {metric.write_with_unit(best)} by step {planned.last_step}"


@contextmanager
def display(console: Console, watch: Watch) -> Iterator[LiveTable | Lines]:
    """Show a live table on a terminal, lines elsewhere."""
    if not console.is_terminal:
        yield Lines(console, watch)
        return
    with Live(console=console, auto_refresh=False, transient=True) as live:
        yield LiveTable(live, watch)
