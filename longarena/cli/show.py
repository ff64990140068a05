"""longarena show: a recipe whole, or a run with all that is known of it."""

from typing import Annotated

import typer

from longarena.cli.output import RUNS, Assignments, Output, Runs
from longarena.cli.train import describe
from longarena.recipes.presets import preset as preset_recipe
from longarena.recipes.recipe import override
from longarena.store.changes import command
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
) -> None:
    """Tell where a run stands, what it found, and the command that makes it again."""
    out = Output()
    folder = find_run(runs, name)
    made_by = folder.read_recipe()
    record = folder.read_record()
    if record is None:
        out.say(f"{made_by.id}: unfinished, at step {folder.last_step()} of {made_by.steps}")
    else:
        out.say(*describe(record))
        out.say(f"  {record.status} {record.finished_at} on {record.machine.processor}")
    out.say(f"  folder: {folder.path}", f"  command: {command(made_by) or 'built in Python'}")
