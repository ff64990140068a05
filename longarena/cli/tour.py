"""longarena tour: the whole way once, on generated data, in minutes on two cores."""

from pathlib import Path
from typing import Annotated

import typer

from longarena.cli.output import RUNS, Output, Quiet, Runs, Threads
from longarena.cli.report import OutFolder
from longarena.cli.train import describe
from longarena.measure import SHAPES, measure
from longarena.recipes.presets import preset
from longarena.recipes.recipe import override
from longarena.report import report
from longarena.runtime import set_up
from longarena.training.loop import train

TASK = "listops"
MIXERS = ("transformer", "linear")
LENGTHS = (1024, 2048)


def tour(
    out: OutFolder = Path("report"),
    runs: Runs = RUNS,
    steps: Annotated[int | None, typer.Option(min=1, help="Train this many steps.")] = None,
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Prepare data, train two mechanisms, measure them, write the page."""
    output = Output(quiet)
    set_up(threads)
    store = runs / "records"
    for mixer in MIXERS:
        recipe = override(preset(TASK, mixer), [f"steps={steps}"] if steps else [])
        output.say(*describe(train(recipe, runs, store=store, progress=output.progress)))
    measure(MIXERS, store=store, lengths=LENGTHS, shape=SHAPES["small"], progress=output.progress)
    page = report(store, out)
    output.say(
        f"the page is {page.resolve()}",
        "next: longarena list · longarena train listops linear --seed 1 · longarena report --open",
    )
