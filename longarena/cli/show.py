"""longarena show: a recipe whole, or a run with all that is known of it."""

from pathlib import Path
from typing import Annotated

import typer

from longarena.cli.output import RUNS, Assignments, Output, Runs, existing
from longarena.cli.train import describe
from longarena.errors import complete
from longarena.recipes.presets import preset as preset_recipe
from longarena.recipes.recipe import Recipe, override
from longarena.runtime import Machine
from longarena.store.changes import command
from longarena.store.folder import read_records
from longarena.store.record import RunRecord
from longarena.training.folder import find_run

app = typer.Typer(no_args_is_help=True, help="Show a recipe or a run.")


@app.command()
def recipe(
    task: Annotated[str, typer.Argument(help="A task: see `longarena list tasks`.")],
    mixer: Annotated[str, typer.Argument(help="A mixer, or your own as module:Class.")],
    preset: Annotated[str, typer.Option(help="The recipe to start from.")] = "quick",
    seed: Annotated[int, typer.Option(min=0, help="The seed of everything random.")] = 0,
    assignments: Assignments = None,
) -> None:
    """Print a recipe as JSON, with the id that its run has."""
    chosen = override(preset_recipe(task, mixer, preset, seed), assignments or [])
    Output(is_json=True).result({"id": chosen.id} | chosen.model_dump(mode="json"))


@app.command()
def run(
    name: Annotated[
        str, typer.Argument(metavar="RUN", help="Its id, the beginning of it, or its folder.")
    ],
    runs: Runs = RUNS,
    store: Annotated[
        Path | None, typer.Option("--store", help="Look in these records, not in the runs.")
    ] = None,
) -> None:
    """Tell where a run stands, what it found, and the command that makes it again."""
    if store is not None:
        records = {record.id: record for record in read_records(existing(store)).runs}
        record = records[complete("run", name, records)]
        Output().say(*_found(record), _again(record.recipe, record.machine))
        return
    folder = find_run(runs, name)
    found, made_by = folder.read_record(), folder.read_recipe()
    unfinished = f"{made_by.id}: unfinished, at step {folder.last_step()} of {made_by.steps}"
    lines = [*(_found(found) if found else [unfinished]), f"  folder: {folder.path}"]
    Output().say(*lines, _again(made_by, found.machine if found else None))


def _found(record: RunRecord) -> list[str]:
    when = f"  {record.status} {record.finished_at} on {record.machine.processor}"
    return [*describe(record), when]


def _again(made_by: Recipe, machine: Machine | None) -> str:
    return f"  command: {command(made_by, machine) or 'built in Python'}"
