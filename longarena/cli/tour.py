"""longarena tour: the whole way once, on generated data, in minutes on two cores.

Choice: ListOps twice, short lists and longer ones: four small mechanisms learn both in minutes.
"""

import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longarena.cli.output import RUNS, AsJson, Output, Quiet, Runs, Threads, unusual, words
from longarena.cli.report import OutFolder
from longarena.cli.stopping import when_stopped
from longarena.cli.sweep import FAILED
from longarena.cli.train import describe
from longarena.training.stop import Interrupted

if TYPE_CHECKING:
    from longarena.sweep.drive import Standing

SHORT_LISTS = ["task.min_length=8", "task.max_length=64", "task.max_depth=3"]
LISTS: tuple[list[str], ...] = (SHORT_LISTS, [])
# full attention, a fixed pattern, a kernel, a state space
TRAINED = "transformer,local,linear,s4d"
LENGTHS = (512, 2048)
KINDS: tuple["Standing", ...] = ("finished", "skipped", "failed")


@when_stopped("runs and records so far are kept; the same command goes on from there")
def tour(
    out: OutFolder = Path("report"),
    runs: Runs = RUNS,
    mixers: Annotated[
        str, typer.Option(help="The mixers to train, separated by commas.")
    ] = TRAINED,
    measured: Annotated[
        str, typer.Option(help="The mixers to measure, or all; by default one of every family.")
    ] = "",
    steps: Annotated[int | None, typer.Option(min=1, help="Train this many steps instead.")] = None,
    open_: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    threads: Threads = None,
    quiet: Quiet = False,
    json: AsJson = False,
) -> None:
    """Generate lists, train four mechanisms on them, measure every family, write the page."""
    from rich.console import Console

    from longarena.attention import check
    from longarena.measure import SHAPES, StoppingRule, measure
    from longarena.recipes.presets import preset
    from longarena.recipes.recipe import override
    from longarena.records.summary import whole
    from longarena.report import report
    from longarena.runtime import set_up
    from longarena.sweep import sweep

    output, store = Output(quiet, json), runs / "records"
    trained = mixers.split(",")
    for mixer in trained:
        check(mixer)
    changes = [f"steps={steps}"] if steps else []
    recipes = [
        override(preset("listops", mixer), [*lists, *changes])
        for lists in LISTS
        for mixer in trained
    ]
    console = None if quiet else Console(stderr=True)
    done = sweep(recipes, runs, progress=output.progress, console=console)
    for entry in done.entries:
        found = (
            describe(whole(entry.record)) if entry.record else [f"{entry.standing}: {entry.reason}"]
        )
        output.say(*found)
    if done.count("stopped"):
        raise Interrupted("stopped, and nothing is lost; the same command goes on from there")
    set_up(threads)
    measure(
        chosen(measured),
        store=store,
        lengths=LENGTHS,
        shape=SHAPES["small"],
        # a first impression; `longarena measure` goes on until the numbers are steady
        stopping_rule=StoppingRule(turn_seconds=0.2, min_turns=2, max_turns=2),
        progress=output.progress,
    )
    page = report(store, out).resolve()
    output.result({"page": str(page)} | {kind: done.count(kind) for kind in KINDS})
    output.say(f"the page is {page}")
    output.next(
        "longarena list",
        words("longarena train listops linear --seed 1", runs=unusual(runs)),
        words("longarena report --open", runs=unusual(runs)),
    )
    if open_:
        webbrowser.open(page.as_uri())
    if num_failed := done.count("failed"):
        output.say(
            f"{num_failed} of {len(recipes)} runs failed, see above; they are not on the page"
        )
        raise typer.Exit(FAILED)


def chosen(measured: str) -> list[str]:
    """Read which mechanisms to measure; by default the first of every family in the table."""
    from longarena.attention import CARDS

    if measured:
        return list(CARDS) if measured == "all" else measured.split(",")
    first: dict[str, str] = {}
    for name, card in CARDS.items():
        first.setdefault(card.family, name)
    return list(first.values())
