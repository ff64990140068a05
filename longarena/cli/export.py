"""longarena export: tables and charts for papers. longarena fill: both inside documents."""

from pathlib import Path
from typing import Annotated

import typer

from longarena.cli.named import FORMATS
from longarena.cli.output import RUNS, AsJson, Output, Quiet, Runs, StoreFolder, records_in
from longarena.cli.report import left_out
from longarena.cli.stopping import when_stopped
from longarena.errors import UserError


@when_stopped("nothing was written")
def export(
    what: Annotated[
        str | None,
        typer.Argument(help="A table, a chart or all; without it their names are listed."),
    ] = None,
    format_: Annotated[
        str, typer.Option("--format", help=f"One of {', '.join(FORMATS)}.")
    ] = "markdown",
    out: Annotated[Path, typer.Option("--out", help="The folder for the files.")] = Path("export"),
    runs: Runs = RUNS,
    store: StoreFolder = None,
    quiet: Quiet = False,
    json: AsJson = False,
) -> None:
    """Write tables as LaTeX, Markdown or CSV, and charts as SVG, PNG or PDF."""
    from longarena.records.folder import read_records
    from longarena.report.export import export as write_export

    output = Output(quiet, json)
    if what is None:
        return _list_names(output)
    records = read_records(records_in(runs, store))
    paths = write_export(records, what, format_, out)
    output.result([str(path) for path in paths])
    output.say(*(str(path.resolve()) for path in paths), *left_out(records))


def _list_names(output: Output) -> None:
    """Say what can be exported."""
    from longarena.report.charts import CHARTS
    from longarena.report.tables import TABLES

    output.result({"tables": list(TABLES), "charts": list(CHARTS)})
    output.say(f"tables: {', '.join(TABLES)}", f"charts: {', '.join(CHARTS)}")
    output.next("longarena export all")


@when_stopped("documents that were not reached are as they were")
def fill(
    documents: Annotated[
        list[Path] | None, typer.Argument(help="The documents; by default README.md and docs/*.md.")
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; fail if one is out of date.")
    ] = False,
    quiet: Quiet = False,
    json: AsJson = False,
) -> None:
    """Write the tables and charts between the markers of documents again, from their records."""
    from longarena.report.documents import documents_in, fill_document

    here = Path()
    chosen = documents or documents_in(here)
    stale = [path for path in chosen if fill_document(path, here, is_dry=check)]
    output = Output(quiet, json)
    output.result([str(path) for path in stale])
    if check and stale:
        raise UserError(f"{stale[0]} is not what its records give; run: longarena fill")
    news = [f"{path} is new" for path in stale]
    output.say(*(news or ["every table and chart is up to date"]))
