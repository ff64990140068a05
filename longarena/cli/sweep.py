"""longarena sweep: many runs, on this machine or on many."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from longarena.cli.columns import Label, Text, with_columns
from longarena.cli.crews import Address, KeepEvery, On, RunThreads, Storage, Workers, crew_of
from longarena.cli.output import (
    RUNS,
    AsJson,
    Output,
    Pretrain,
    Quiet,
    Runs,
    StoreFolder,
    words,
)
from longarena.cli.rows import Cell, Row, cell, texts, values
from longarena.cli.stopping import when_stopped
from longarena.cli.train import check_recipe
from longarena.cli.tuning import describe_choices, facts
from longarena.errors import UserError
from longarena.training.stop import Interrupted

if TYPE_CHECKING:
    from pathlib import Path

    from longarena.recipes.recipe import Recipe
    from longarena.records.tuning import TuningRecord
    from longarena.sweep import Sweep
    from longarena.sweep.candidates import Question
    from longarena.sweep.drive import Entry
    from longarena.sweep.grid import Grid
    from longarena.sweep.plan import Estimates, PlannedRun

ALL = "all"
FAILED = 1
# rows of a plan in the terminal; of a longer one, those that are to be done
MOST_SHOWN = 200


@when_stopped("finished runs are recorded, the others saved; the same command goes on")
def sweep(
    name: Annotated[
        str | None, typer.Argument(help="A sweep, built in or in ./sweeps, or a Python file.")
    ] = None,
    tasks: Annotated[
        str | None, typer.Option(help="Tasks, or paths of your data, separated by commas; or all.")
    ] = None,
    mixers: Annotated[
        str, typer.Option(help="Mixers separated by commas: names, module:Class, or all.")
    ] = ALL,
    seeds: Annotated[int, typer.Option(min=1, help="How many seeds, counted from 0.")] = 1,
    preset: Annotated[str, typer.Option(help="The preset to start from.")] = "quick",
    steps: Annotated[int | None, typer.Option(min=1, help="Train this many steps instead.")] = None,
    pretrain: Pretrain = None,
    text: Text = None,
    label: Label = None,
    assignments: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Override one value in the runs that have it; may be repeated.",
        ),
    ] = None,
    max_mult_adds: Annotated[
        str | None,
        typer.Option(help="Leave out models that take more for one example: 500M, 1.5G, 2e9."),
    ] = None,
    tune: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE,VALUE",
            help="Try these values for every mixer and keep the best on validation; may be "
            "repeated.",
        ),
    ] = None,
    halve: Annotated[
        bool, typer.Option("--halve", help="With --tune, stop all but the best half-way.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would run, and run nothing.")
    ] = False,
    only: Annotated[int | None, typer.Option(help="Do only this run, counted from 0.")] = None,
    workers: Workers = None,
    threads: RunThreads = None,
    on: On = "local",
    address: Address = "auto",
    storage: Storage = None,
    keep_every: KeepEvery = None,
    runs: Runs = RUNS,
    store: StoreFolder = None,
    quiet: Quiet = False,
    json: AsJson = False,
) -> None:
    """Run many recipes: finished runs are skipped, stopped ones go on."""
    from rich.console import Console

    from longarena.recipes.pretraining import apart, pretrained
    from longarena.records.folder import read_records
    from longarena.sweep import sweep as run_sweep
    from longarena.sweep import tune as run_tuning
    from longarena.sweep.candidates import read_grid
    from longarena.sweep.grid import Grid, derive, pick
    from longarena.sweep.local import pool
    from longarena.sweep.plan import Estimates, Places, plan, stored_runs
    from longarena.sweep.tuning import plan_ahead

    out = Output(quiet, json)
    sets = [*([f"steps={steps}"] if steps else []), *with_columns(assignments, text, label)]
    grid = Grid(_names(tasks), _names(mixers), preset, seeds, sets) if tasks is not None else None
    first, of_pretraining = apart(sets)
    recipes = derive(_recipes(name, grid), first)
    recipes = [pretrained(recipe, pretrain) for recipe in recipes] if pretrain else recipes
    recipes = derive(recipes, of_pretraining)
    if max_mult_adds is not None:
        recipes = _affordable(recipes, max_mult_adds, out)
    recipes = recipes if only is None else pick(recipes, only)
    questions = _questions(recipes, tune, halve, is_one=only is not None)
    for recipe in [*recipes, *(each for question in questions for each in question.candidates)]:
        check_recipe(recipe)
    if dry_run:
        places = Places(runs, store or runs / "records")
        records = read_records(places.store, out.progress)
        ahead = (
            plan_ahead(questions, recipes, places)
            if questions
            else plan(recipes, places, stored_runs(records))
        )
        num_workers = pool(workers, threads).workers
        return _show_plan(out, ahead, places.store, Estimates(records.runs), num_workers)
    crew = crew_of(on, address, workers, threads, storage, keep_every)
    console = None if quiet else Console(stderr=True)
    if tune:
        tuned = run_tuning(
            recipes,
            read_grid(tune),
            runs,
            halve=halve,
            store=store,
            crew=crew,
            progress=out.progress,
            console=console,
        )
        return _conclude(out, tuned.sweep, tuned.choices)
    done = run_sweep(recipes, runs, store=store, crew=crew, progress=out.progress, console=console)
    _conclude(out, done)


def _names(text: str | None) -> list[str]:
    return [name.strip() for name in (text or "").split(",") if name.strip()]


def _recipes(name: str | None, grid: "Grid | None") -> list["Recipe"]:
    from longarena.sweep.grid import read_sweep

    if (name is None) == (grid is None):
        raise UserError("give the name of a sweep or --tasks, and not both")
    recipes = grid.recipes() if grid else read_sweep(str(name))
    if not recipes:
        raise UserError("this sweep has no runs; name tasks and mixers, see: longarena list")
    return recipes


def _affordable(recipes: Sequence["Recipe"], limit: str, out: Output) -> list["Recipe"]:
    """Leave out recipes whose model costs more than a budget, and say how many."""
    from longarena.measure.budget import example_cost, read_amount

    most = read_amount(limit)
    kept = [recipe for recipe in recipes if example_cost(recipe)[0] <= most]
    if not kept:
        raise UserError(f"all {len(recipes)} runs take more than --max-mult-adds {limit}; raise it")
    if len(kept) < len(recipes):
        left_out = _number(len(recipes) - len(kept), "run")
        out.say(f"{left_out} of {len(recipes)} left out: more than {limit} Mult-Adds")
    return kept


def _questions(
    recipes: Sequence["Recipe"], tune: Sequence[str] | None, halve: bool, *, is_one: bool
) -> list["Question"]:
    from longarena.sweep.candidates import ask, read_grid

    if not tune:
        if halve:
            raise UserError("--halve belongs to --tune; name what is tuned: --tune KEY=VALUE,VALUE")
        return []
    if is_one:
        raise UserError("--only takes one run, and --tune compares several; leave one of them out")
    return ask(recipes, read_grid(tune), halve=halve)


def _show_plan(
    out: Output,
    planned: Sequence["PlannedRun"],
    store: "Path",
    estimates: "Estimates",
    num_workers: int,
) -> None:
    rows = [_plan_row(index, run, estimates) for index, run in enumerate(planned)]
    seconds, num_unknown = estimates.total(planned, num_workers)
    num_left = sum(run.state != "done" for run in planned)
    out.result(
        {
            "runs": values(rows),
            "count": len(rows),
            "left": num_left,
            "seconds": seconds,
            "unknown": num_unknown,
        }
    )
    left = [row for row, run in zip(rows, planned, strict=True) if run.state != "done"]
    shown = rows if len(rows) <= MOST_SHOWN else left[:MOST_SHOWN] or rows[:1]
    out.table(f"{len(rows)} runs, {num_left} of them to be done", list(rows[0]), texts(shown))
    if len(shown) < len(rows):
        out.say(f"only {len(shown)} are shown; --json has all {len(rows):,}")
    out.say(_time(num_left, num_unknown, seconds, num_workers))
    if any(run.until for run in planned):
        out.say("these are the first trials; what is chosen by them is trained after them")
    if num_left == 0:
        out.next(words("longarena report", store=store))


def _plan_row(index: int, run: "PlannedRun", estimates: "Estimates") -> Row:
    from longarena.progress import duration

    recipe = run.recipe
    seconds = None if run.state == "done" else estimates.seconds(recipe, run.step, run.until)
    time = "" if run.state == "done" else "unknown" if seconds is None else duration(seconds)
    return {
        "index": cell(index),
        "run": cell(recipe.id),
        "task": Cell(recipe.task.name, run.names.task),
        "mixer": Cell(recipe.model.mixer, run.names.mixer),
        "seed": Cell(recipe.seed, run.names.seed),
        "state": cell(f"failed before: {run.error}" if run.state == "failed" else run.state),
        "step": cell(run.step),
        "steps": cell(run.last_step),
        "time": Cell(seconds, time),
    }


def _time(num_left: int, num_unknown: int, seconds: float, num_workers: int) -> str:
    """Say how long a sweep may take.

    >>> _time(3, 1, 130.0, 2)
    'about 2 min 10 s of training with 2 workers, and 1 run of unknown length'
    """
    from longarena.progress import duration

    unknown = f"{_number(num_unknown, 'run')} of unknown length"
    if num_left == 0:
        return "nothing is left to do"
    if num_unknown == num_left:
        return f"{unknown}: no like run has been recorded yet"
    known = f"about {duration(seconds)} of training with {_number(num_workers, 'worker')}"
    return f"{known}, and {unknown}" if num_unknown else known


def _number(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"


def _conclude(out: Output, done: "Sweep", choices: "Sequence[TuningRecord] | None" = None) -> None:
    """Say what came of a sweep, and end with the exit code that tells it."""
    from longarena.sweep.display import result

    groups = {
        standing: [entry for entry in done.entries if entry.standing == standing]
        for standing in ("finished", "skipped", "failed", "stopped")
    }
    out.result(
        {standing: [_facts(entry) for entry in found] for standing, found in groups.items()}
        | {"store": str(done.places.store)}
        | ({} if choices is None else {"tuning": [facts(record) for record in choices]})
    )
    out.say(*(f"{_title(entry)}: {result(entry)}" for entry in groups["finished"]))
    out.say(*(f"{_title(entry)}: {result(entry)}" for entry in groups["failed"]))
    counts = ", ".join(f"{len(found)} {standing}" for standing, found in groups.items())
    out.say(f"{_number(len(done.entries), 'run')}: {counts}", f"records: {done.places.store}")
    out.say(*describe_choices(choices or []))
    if groups["stopped"] or (done.was_stopped and choices == []):
        left = f"with {_number(len(groups['stopped']), 'run')} left"
        raise Interrupted(f"stopped {left}; the same command goes on")
    if groups["failed"]:
        out.say("mend what failed; the same command tries it again")
        raise typer.Exit(FAILED)
    out.next(words("longarena report", store=done.places.store))


def _title(entry: "Entry") -> str:
    task, mixer, seed = entry.planned.names
    return f"{task} {mixer} seed {seed} ({entry.planned.recipe.id})"


def _facts(entry: "Entry") -> dict[str, object]:
    recipe, test = entry.planned.recipe, entry.record.metrics.test if entry.record else None
    return {
        "run": recipe.id,
        "task": recipe.task.name,
        "mixer": recipe.model.mixer,
        "seed": recipe.seed,
        "status": entry.record.status if entry.record else entry.standing,
        "reason": entry.reason,
        "metric": entry.record.metric.name if entry.record else None,
        "test": test.value if test else None,
    }
