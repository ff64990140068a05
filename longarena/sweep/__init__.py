"""Many runs: a list of recipes, worked through on this machine or on many.

    done = sweep([preset("listops", mixer) for mixer in ("linear", "performer")], crew=local(2))

The same call goes on where an earlier one was stopped.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from rich.console import Console

from longarena.progress import SILENT, Progress
from longarena.recipes.recipe import Recipe
from longarena.records.folder import read_records
from longarena.sweep.display import Silent, Watch, display
from longarena.sweep.drive import Crew, Sweep, drive, prepare_all
from longarena.sweep.local import LocalCrew, pool
from longarena.sweep.plan import Estimates, Places, plan
from longarena.sweep.ray import RayCrew
from longarena.training.stop import stop_requests

__all__ = ["Sweep", "local", "on_ray", "sweep"]

OpenCrew = Callable[[Places], AbstractContextManager[Crew]]


def local(workers: int | None = None, threads: int | None = None) -> OpenCrew:
    """Let processes on this machine do the work."""
    return lambda places: LocalCrew(places, pool(workers, threads))


def on_ray(address: str, threads: int = 1) -> OpenCrew:
    """Let a Ray cluster do the work."""
    return lambda places: RayCrew(places, address, threads)


def sweep(  # noqa: PLR0913 - the one call from outside: all but the recipes by name
    recipes: Sequence[Recipe],
    runs: Path = Path("runs"),
    *,
    store: Path | None = None,
    crew: OpenCrew | None = None,
    progress: Progress = SILENT,
    console: Console | None = None,
) -> Sweep:
    """Bring every recipe's run to its end; after a stop, `count("stopped")` is not 0."""
    places = Places(runs.absolute(), (store or runs / "records").absolute())
    estimates = Estimates(read_records(places.store).runs)
    state = Sweep.of(plan(recipes, places), places, estimates)
    with (crew or local())(places) as hands:
        if hands.is_local:
            prepare_all(state, progress)
        watch = Watch(hands.num_workers)
        shown = display(console, watch) if console else nullcontext(Silent())
        with stop_requests() as stop, shown as screen:
            drive(state, hands, screen, stop)
    return state
