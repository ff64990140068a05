"""longarena export: tables and charts for papers, or a model. longarena fill: inside documents."""

from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from longarena.cli.named import FORMATS
from longarena.cli.output import RUNS, AsJson, Output, Quiet, Runs, StoreFolder, records_in
from longarena.cli.report import left_out
from longarena.cli.stopping import when_stopped
from longarena.errors import UserError

MODEL, EXPORT = "model", Path("export")


@when_stopped("nothing was written")
def export(
    what: Annotated[
        str | None,
        typer.Argument(help="A table, a chart, all, or model; without it the names are listed."),
    ] = None,
    run: Annotated[
        str | None,
        typer.Argument(help="With model: the id of a run, its beginning, or its folder."),
    ] = None,
    format_: Annotated[
        str, typer.Option("--format", help=f"One of {', '.join(FORMATS)}.")
    ] = "markdown",
    out: Annotated[
        Path | None,
        typer.Option("--out", help="The folder for the files.", show_default="export[/RUN]"),
    ] = None,
    runs: Runs = RUNS,
    store: StoreFolder = None,
    quiet: Quiet = False,
    json: AsJson = False,
) -> None:
    """Write tables as LaTeX, Markdown or CSV, charts as SVG, PNG or PDF, or a trained model."""
    from longarena.records.folder import read_records
    from longarena.report.export import export as write_export

    output = Output(quiet, json)
    if what is None:
        return _list_names(output)
    if what == MODEL:
        return _export_model(run, out, runs, output)
    if run is not None:
        raise UserError(f"export {what} takes no run; only a model is that of one: export model")
    records = read_records(records_in(runs, store), output.progress)
    paths = write_export(records, what, format_, out or EXPORT)
    output.result([str(path) for path in paths])
    output.say(*(str(path.resolve()) for path in paths), *left_out(records))


def _export_model(run: str | None, out: Path | None, runs: Path, output: Output) -> None:
    """Write the best weights of a run, and what is needed to use them without the run."""
    from longarena.inference.trained import COMMANDS, TrainedModel
    from longarena.training.export import exported
    from longarena.training.folder import find_run

    if run is None:
        raise UserError("which model? longarena export model RUN; longarena list runs names them")
    found = exported(find_run(runs, run))
    TrainedModel(found)  # what cannot be loaded is not written
    folder = out or EXPORT / found.config.run
    paths = found.write(folder)
    output.result([str(path) for path in paths])
    output.say(*(str(path.resolve()) for path in paths))
    if found.config.test is None:
        output.say(f"the run was never tested; its best weights are of step {found.config.step:,}")
    command = COMMANDS.get(found.config.signature.track)
    output.next(*([f"longarena {command} {quote(str(folder))}"] if command else []))


def _list_names(output: Output) -> None:
    """Say what can be exported."""
    from longarena.report.charts import CHARTS
    from longarena.report.tables import TABLES

    output.result({"tables": list(TABLES), "charts": list(CHARTS)})
    output.say(f"tables: {', '.join(TABLES)}", f"charts: {', '.join(CHARTS)}", "model: of a run")
    output.next("longarena export all", "longarena export model RUN")


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
