"""longarena extend: go on from a run with longer sequences."""

from typing import Annotated

import typer

from longarena.cli.output import (
    RUNS,
    Again,
    AsJson,
    Assignments,
    Output,
    Quiet,
    Runs,
    StoreFolder,
    Threads,
)
from longarena.cli.stopping import when_stopped
from longarena.cli.train import bring, check_recipe, warn
from longarena.errors import UserError


@when_stopped("nothing was trained")
def extend(
    name: Annotated[
        str, typer.Argument(metavar="RUN", help="Its id, the beginning of it, or its folder.")
    ],
    length: Annotated[
        int, typer.Option(min=1, help="The new greatest length of a sequence, in tokens.")
    ],
    only_positions: Annotated[
        bool, typer.Option("--only-positions", help="Train the new positions, and nothing else.")
    ] = False,
    steps: Annotated[
        int | None, typer.Option(min=1, help="Train this many steps, not a quarter of the run's.")
    ] = None,
    rate: Annotated[
        float | None, typer.Option(help="The peak rate, instead of a tenth of the run's.")
    ] = None,
    again: Again = False,
    assignments: Assignments = None,
    runs: Runs = RUNS,
    store: StoreFolder = None,
    threads: Threads = None,
    quiet: Quiet = False,
    json: AsJson = False,
) -> None:
    """Go on from a run with longer sequences: its learned positions are copied, end to end.

    The new run has a record of its own. The one that it begins with stays as it is.
    """
    from longarena.recipes.extending import extended
    from longarena.runtime import set_up
    from longarena.training.extension import check_extension
    from longarena.training.folder import RunFolder, find_run

    if rate is not None and not rate > 0:
        raise UserError(f"--rate {rate:g} is not above 0")
    folder = find_run(runs, name)
    before = folder.read_recipe()
    if RunFolder.of(runs, before).path.resolve() != folder.path.resolve():
        raise UserError(f"run {before.id} is not under {runs}; name its folder of runs by --runs")
    changes = tuple(assignments or ())
    recipe = extended(
        before, length, only_positions=only_positions, steps=steps, rate=rate, changes=changes
    )
    check_recipe(recipe)
    warn(recipe)
    set_up(threads)
    check_extension(recipe)
    bring(recipe, Output(quiet, json), runs=runs, store=store, again=again)
