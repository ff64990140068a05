"""Many runs: a list of recipes, worked through on this machine or on many.

    done = sweep([preset("listops", mixer) for mixer in ("linear", "performer")], crew=local(2))

The same call goes on where an earlier one was stopped. `tune` first finds the values that suit each
mechanism best, out of the same few for all.
"""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from longarena.data.storage import in_full
from longarena.progress import SILENT, Progress
from longarena.recipes.recipe import Recipe, note_source
from longarena.sweep.candidates import TuningGrid, ask
from longarena.sweep.drive import Sweep
from longarena.sweep.local import LocalCrew, pool
from longarena.sweep.plan import plan
from longarena.sweep.ray import Keeping, RayCrew
from longarena.sweep.tuning import Tuned, tune_all
from longarena.sweep.workplace import OpenCrew, open_workplace

__all__ = ["Sweep", "Tuned", "local", "on_ray", "sweep", "tune"]


def local(workers: int | None = None, threads: int | None = None) -> OpenCrew:
    """Let processes on this machine do the work."""
    return lambda places: LocalCrew(places, pool(workers, threads))


def on_ray(
    address: str, threads: int = 1, storage: str | None = None, keep_minutes: float = 1.0
) -> OpenCrew:
    """Let a Ray cluster do the work.

    Checkpoints are kept in a storage, a folder or an address that all machines reach, or without
    one on this machine; a run that loses its machine loses so many minutes at most.
    """
    keeping = Keeping(storage and in_full(storage), keep_minutes)
    return lambda places: RayCrew(places, address, threads, keeping)


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
    recipes = [note_source(recipe) for recipe in recipes]
    with open_workplace(runs, store, crew or local(), progress, console) as workplace:
        return workplace.carry_out(plan(recipes, workplace.places, workplace.stored))


def tune(  # noqa: PLR0913 - as above
    recipes: Sequence[Recipe],
    grid: TuningGrid,
    runs: Path = Path("runs"),
    *,
    halve: bool = False,
    store: Path | None = None,
    crew: OpenCrew | None = None,
    progress: Progress = SILENT,
    console: Console | None = None,
) -> Tuned:
    """Choose the values of a grid for every mechanism and task, then bring those runs to their end.

    `tune(recipes, {"optimiser.rate": [1e-4, 1e-3]})` tries both on the first seed of each.
    """
    recipes = [note_source(recipe) for recipe in recipes]
    questions = ask(recipes, grid, halve=halve)
    with open_workplace(runs, store, crew or local(), progress, console) as workplace:
        return tune_all(questions, recipes, workplace)
