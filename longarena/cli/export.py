"""longarena export: tables and charts for papers. longarena fill: both inside documents."""

from pathlib import Path
from typing import Annotated

import typer

from longarena.cli.output import RUNS, AsJson, Output, Runs, StoreFolder, records_in
from longarena.errors import UserError
from longarena.report.export import CHARTS, FORMATS
from longarena.report.export import export as write_export
from longarena.report.readme import documents_in, fill_document
from longarena.report.tables import TABLES
from longarena.store.folder import read_records

NAMES = f"all, a table ({', '.join(TABLES)}), or a chart ({', '.join(CHARTS)})."


def export(
    what: Annotated[str, typer.Argument(help=NAMES)],
    format_: Annotated[
        str, typer.Option("--format", help=f"One of {', '.join(FORMATS)}.")
    ] = "markdown",
    out: Annotated[Path, typer.Option("--out", help="The folder of the files.")] = Path("export"),
    runs: Runs = RUNS,
    store: StoreFolder = None,
    json: AsJson = False,
) -> None:
    """Write tables as LaTeX, Markdown or CSV, and charts as SVG, PNG or PDF."""
    paths = write_export(read_records(records_in(runs, store)), what, format_, out)
    output = Output(is_json=json)
    output.result([str(path) for path in paths])
    output.say(*(str(path.resolve()) for path in paths))


def fill(
    documents: Annotated[
        list[Path] | None, typer.Argument(help="README.md and docs/*.md by default.")
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Write nothing; fail if stale.")] = False,
    json: AsJson = False,
) -> None:
    """Make the tables and charts between the markers of documents anew from their records."""
    here = Path()
    chosen = documents or documents_in(here)
    stale = [path for path in chosen if fill_document(path, here, is_dry=check)]
    output = Output(is_json=json)
    output.result([str(path) for path in stale])
    if check and stale:
        raise UserError(f"{stale[0]} is not what its records give; run: longarena fill")
    news = [f"{path} is new" for path in stale]
    output.say(*(news or ["every table and chart is up to date"]))
