"""longarena sweep: many runs, on this machine or on many."""

from collections.abc import Sequence
from typing import Annotated, Literal

import typer
from rich.console import Console

from longarena.cli.output import RUNS, AsJson, Assignments, Output, Quiet, Runs, StoreFolder
from longarena.errors import UserError
from longarena.progress import duration
from longarena.recipes.recipe import Recipe
from longarena.store.folder import read_records
from longarena.sweep import Sweep, local, on_ray
from longarena.sweep import sweep as run_sweep
from longarena.sweep.choose import ALL, Grid, derive, pick, read_sweep
from longarena.sweep.display import result
from longarena.sweep.drive import Entry
from longarena.sweep.local import pool
from longarena.sweep.plan import Estimates, Places, PlannedRun, plan
from longarena.training.stop import Interrupted

FAILED = 1
COLUMNS = ("", "run", "task", "mixer", "seed", "state", "step", "time")


def sweep(
    name: Annotated[
        str | None, typer.Argument(help="A file in ./sweeps, or the path of a Python file.")
    ] = None,
    tasks: Annotated[str | None, typer.Option(help="Tasks with commas between, or all.")] = None,
    attention: Annotated[str, typer.Option(help="Mixers with commas between, or all.")] = ALL,
    seeds: Annotated[int, typer.Option(min=1, help="How many seeds, from 0.")] = 1,
    preset: Annotated[str, typer.Option(help="The recipe to start from.")] = "quick",
    assignments: Assignments = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would run.")] = False,
    only: Annotated[int | None, typer.Option(help="One run of the list, counted from 0.")] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Runs at a time.")] = None,
    threads: Annotated[int | None, typer.Option(min=1, help="CPU threads of each run.")] = None,
    on: Annotated[Literal["local", "ray"], typer.Option(help="Who does the work.")] = "local",
    address: Annotated[str, typer.Option(help="The Ray cluster, as HOST:PORT.")] = "auto",
    runs: Runs = RUNS,
    store: StoreFolder = None,
    quiet: Quiet = False,
    json: AsJson = False,
) -> None:
    """Run a list of recipes; what is finished is skipped, what was stopped goes on."""
    out = Output(quiet, json)
    grid = Grid(_names(tasks), _names(attention), preset, seeds) if tasks is not None else None
    recipes = derive(_recipes(name, grid), assignments or [])
    recipes = recipes if only is None else pick(recipes, only)
    if dry_run:
        _show_plan(
            out, recipes, Places(runs, store or runs / "records"), pool(workers, threads).workers
        )
        return
    done = run_sweep(
        recipes,
        runs,
        store=store,
        crew=on_ray(address, threads or 1) if on == "ray" else local(workers, threads),
        progress=out.progress,
        console=None if quiet else Console(stderr=True),
    )
    _conclude(out, done)


def _names(text: str | None) -> list[str]:
    return [name.strip() for name in (text or "").split(",") if name.strip()]


def _recipes(name: str | None, grid: Grid | None) -> list[Recipe]:
    if (name is None) == (grid is None):
        raise UserError("give the name of a sweep or --tasks, and not both")
    recipes = grid.recipes() if grid else read_sweep(str(name))
    if not recipes:
        raise UserError("this sweep has no runs; name tasks and mixers, see: longarena list")
    return recipes


def _show_plan(out: Output, recipes: Sequence[Recipe], places: Places, num_workers: int) -> None:
    planned = plan(recipes, places)
    estimates = Estimates(read_records(places.store).runs)
    rows = [_plan_row(index, run, estimates) for index, run in enumerate(planned)]
    seconds, num_unknown = estimates.total(planned, num_workers)
    num_left = sum(run.state != "done" for run in planned)
    out.result(
        {
            "runs": [dict(zip(("index", *COLUMNS[1:]), row, strict=True)) for row in rows],
            "count": len(rows),
            "left": num_left,
            "seconds": seconds,
            "unknown": num_unknown,
        }
    )
    out.table(f"{len(rows)} runs, {num_left} of them to be done", COLUMNS, rows)
    out.say(_time(num_left, num_unknown, seconds, num_workers))


def _plan_row(index: int, run: PlannedRun, estimates: Estimates) -> list[str]:
    seconds = None if run.state == "done" else estimates.seconds(run.recipe, run.step)
    state = f"failed before: {run.error}" if run.state == "failed" else run.state
    state = f"interrupted at step {run.step}" if run.state == "interrupted" else state
    time = "" if run.state == "done" else "unknown" if seconds is None else duration(seconds)
    step = f"{run.step}/{run.recipe.steps}"
    return [str(index), run.recipe.id, *run.names, state, step, time]


def _time(num_left: int, num_unknown: int, seconds: float, num_workers: int) -> str:
    """Say how long a sweep may take.

    >>> _time(3, 1, 130.0, 2)
    'about 2 min 10 s of training with 2 workers, and 1 run of unknown length'
    """
    unknown = f"{_number(num_unknown, 'run')} of unknown length"
    if num_left == 0:
        return "nothing is left to do; next: longarena report"
    if num_unknown == num_left:
        return f"{unknown}: no like run has been recorded yet"
    known = f"about {duration(seconds)} of training with {_number(num_workers, 'worker')}"
    return f"{known}, and {unknown}" if num_unknown else known


def _number(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"


def _conclude(out: Output, done: Sweep) -> None:
    """Say what came of a sweep, and end with the exit code that tells it."""
    groups = {
        standing: [entry for entry in done.entries if entry.standing == standing]
        for standing in ("finished", "skipped", "failed", "stopped")
    }
    out.result(
        {standing: [_facts(entry) for entry in found] for standing, found in groups.items()}
        | {"store": str(done.places.store)}
    )
    out.say(*(f"{_title(entry)}: {result(entry)}" for entry in groups["finished"]))
    out.say(*(f"{_title(entry)}: {result(entry)}" for entry in groups["failed"]))
    counts = ", ".join(f"{len(found)} {standing}" for standing, found in groups.items())
    out.say(f"{_number(len(done.entries), 'run')}: {counts}", f"records: {done.places.store}")
    if groups["stopped"]:
        raise Interrupted(
            f"stopped with {_number(len(groups['stopped']), 'run')} left; the same command goes on"
        )
    if groups["failed"]:
        out.say("next: mend what failed, then the same command tries it again")
        raise typer.Exit(FAILED)
    out.say(f"next: longarena report --store {done.places.store}")


def _title(entry: Entry) -> str:
    task, mixer, seed = entry.planned.names
    return f"{task} {mixer} seed {seed} ({entry.planned.recipe.id})"


def _facts(entry: Entry) -> dict[str, object]:
    recipe, test = entry.planned.recipe, entry.record.metrics.test if entry.record else None
    return {
        "run": recipe.id,
        "task": recipe.task.name,
        "mixer": recipe.model.mixer,
        "seed": recipe.seed,
        "status": entry.record.status if entry.record else entry.standing,
        "reason": entry.reason,
        "test_accuracy": test.accuracy if test else None,
    }
