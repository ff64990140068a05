"""Where a sweep is worked through: its places, its crew, and who watches."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from longarena.progress import SILENT, Progress
from longarena.records.folder import read_records
from longarena.sweep.display import Silent, Watch, display
from longarena.sweep.drive import Crew, Sweep, drive, prepare_all
from longarena.sweep.plan import Estimates, Places, PlannedRun, Stored, stored_runs
from longarena.training.stop import stop_requests

OpenCrew = Callable[[Places], AbstractContextManager[Crew]]


@dataclass(frozen=True)
class Workplace:
    """A crew at work; `stored` are the runs that had ended before, by their ids.

    Without a console nothing is shown.
    """

    places: Places
    crew: Crew
    stored: Mapping[str, Stored]
    estimates: Estimates
    progress: Progress = SILENT
    console: Console | None = None

    def carry_out(self, runs: Sequence[PlannedRun]) -> Sweep:
        """Bring every run of a plan to its end, or save it if a stop is asked for."""
        state = Sweep.of(runs, self.places, self.estimates)
        prepare_all(state, self.crew, self.progress)
        watch = Watch(self.crew.num_workers)
        shown = display(self.console, watch) if self.console else nullcontext(Silent())
        with stop_requests() as stop, shown as screen:
            drive(state, self.crew, screen, stop)
        return state


@contextmanager
def open_workplace(
    runs: Path, store: Path | None, crew: OpenCrew, progress: Progress, console: Console | None
) -> Iterator[Workplace]:
    """Gather a crew; its runs live in `runs`, their records in `store` or beside the runs."""
    places = Places(runs.absolute(), (store or runs / "records").absolute())
    records = read_records(places.store, progress)
    with crew(places) as hands:
        stored, estimates = stored_runs(records), Estimates(records.runs)
        yield Workplace(places, hands, stored, estimates, progress, console)
