"""longarena tour: the whole way once, on generated data, in ten minutes on two cores."""

import webbrowser
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from longarena.attention import find
from longarena.cli.output import RUNS, Output, Quiet, Runs, Threads
from longarena.cli.report import OutFolder
from longarena.cli.sweep import FAILED
from longarena.cli.train import describe
from longarena.measure import SHAPES, measure
from longarena.measure.speed import Patience
from longarena.recipes.presets import preset
from longarena.recipes.recipe import override
from longarena.report import report
from longarena.runtime import set_up
from longarena.sweep import sweep
from longarena.training.stop import Interrupted

TASKS = ("listops", "pathfinder")
# full attention, a fixed pattern, low rank, a kernel
TRAINED = "transformer,local,linformer,linear"
LENGTHS = (1024, 2048)
# a first impression; `longarena measure` goes on until the numbers are steady
HASTY = Patience(turn_seconds=0.2, min_turns=3, max_turns=3)


def tour(
    out: OutFolder = Path("report"),
    runs: Runs = RUNS,
    attention: Annotated[str, typer.Option(help="Train these, commas between.")] = TRAINED,
    measured: Annotated[str, typer.Option(help="Measure these, commas between.")] = "all",
    steps: Annotated[int | None, typer.Option(min=1, help="Train this many steps.")] = None,
    open_: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Generate data, train mechanisms on two tasks, measure all of them, write the page."""
    output, store = Output(quiet), runs / "records"
    trained = attention.split(",")
    for mixer in trained:
        find(mixer)
    changes = [f"steps={steps}"] if steps else []
    recipes = [override(preset(task, mixer), changes) for mixer in trained for task in TASKS]
    console = None if quiet else Console(stderr=True)
    done = sweep(recipes, runs, progress=output.progress, console=console)
    for entry in done.entries:
        found = describe(entry.record) if entry.record else [f"{entry.standing}: {entry.reason}"]
        output.say(*found)
    if done.count("stopped"):
        raise Interrupted("stopped, and nothing is lost; the same command goes on from there")
    set_up(threads)
    measure(
        () if measured == "all" else measured.split(","),
        store=store,
        lengths=LENGTHS,
        shape=SHAPES["small"],
        patience=HASTY,
        progress=output.progress,
    )
    page = report(store, out).resolve()
    output.say(
        f"the page is {page}",
        "next: longarena list · longarena train listops linear --seed 1 · longarena report --open",
    )
    if open_:
        webbrowser.open(page.as_uri())
    if num_failed := done.count("failed"):
        output.say(
            f"{num_failed} of {len(recipes)} runs failed, see above; they are not on the page"
        )
        raise typer.Exit(FAILED)
