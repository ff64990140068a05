"""longarena report: one page of everything that was found."""

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from longarena.cli.output import RUNS, AsJson, Output, Runs, StoreFolder
from longarena.errors import UserError
from longarena.report import report as write_report

OutFolder = Annotated[Path, typer.Option("--out", help="Where the page goes.")]


def report(
    out: OutFolder = Path("report"),
    runs: Runs = RUNS,
    store: StoreFolder = None,
    open_: Annotated[bool, typer.Option("--open", help="Open it in a browser.")] = False,
    json: AsJson = False,
) -> None:
    """Write the page: tables, charts and published numbers, in one file that works offline."""
    if store is not None and not store.is_dir():
        raise UserError(f"there is no folder {store}; records are written by train and measure")
    page = write_report(store or runs / "records", out)
    output = Output(is_json=json)
    output.result({"page": str(page)})
    output.say(f"the page is {page.resolve()}")
    if open_:
        webbrowser.open(page.resolve().as_uri())
