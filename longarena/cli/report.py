"""longarena report: one page of everything that was found."""

import webbrowser
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longarena.cli.output import RUNS, AsJson, Output, Quiet, Runs, StoreFolder, records_in
from longarena.cli.stopping import when_stopped
from longarena.errors import complete

if TYPE_CHECKING:
    from longarena.records.folder import Records

MOST_NAMED = 20
OutFolder = Annotated[Path, typer.Option("--out", help="The folder for the page.")]


@when_stopped("the page is as it was, or half new: the same command writes all of it")
def report(
    out: OutFolder = Path("report"),
    runs: Runs = RUNS,
    store: StoreFolder = None,
    open_: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    watch: Annotated[
        bool,
        typer.Option("--watch", help="Write the page again whenever records change, until Ctrl-C."),
    ] = False,
    run: Annotated[
        str | None,
        typer.Option(
            metavar="RUN", help="Write the page of this run alone; the beginning of an id."
        ),
    ] = None,
    quiet: Quiet = False,
    json: AsJson = False,
) -> None:
    """Write the page: leaderboard, costs, charts and a page per run, to be read offline."""
    from longarena.records.folder import read_records
    from longarena.report.page.page import write_page

    folder, output = records_in(runs, store), Output(quiet, json)
    page = (out / "index.html").resolve()
    if watch:
        return _watch(folder, page, open_, output)
    records = read_records(folder, output.progress)
    if run is not None:
        page = _write_run(records, run, out)
        output.result({"page": str(page)})
        output.say(f"the page is {page}")
    else:
        write_page(records, out)
        output.result({"page": str(page), "bytes": page.stat().st_size} | counts(records))
        output.say(f"the page is {page}", contents(records), sizes(page), *left_out(records))
    if open_:
        webbrowser.open(page.as_uri())


def _write_run(records: "Records", name: str, out: Path) -> Path:
    """Write the page of one run."""
    from longarena.report.links import run_lines
    from longarena.report.page.runs import write_run_page

    lines = run_lines([*records.runs, *records.failures])
    by_id = {line.record.id: line for line in lines}
    return write_run_page(by_id[complete("run", name, by_id)], lines, out).resolve()


def counts(records: "Records") -> dict[str, int]:
    """Count what is on the page."""
    recipes = [run.recipe for run in records.runs]
    mixers = {recipe.model.mixer for recipe in recipes}
    mixers |= {record.model.mixer for record in records.measurements}
    return {
        "runs": len(records.runs),
        "failed runs": len(records.failures),
        "mechanisms": len(mixers),
        "tasks": len({recipe.task.name for recipe in recipes}),
        "measurements": len(records.measurements),
        "spans": len(records.spans),
        "tunings": len(records.tunings),
        "choices": len(records.choices),
        "unreadable records": len(records.unreadable),
    }


def left_out(records: "Records") -> list[str]:
    """Name the records that are not shown; of very many, the first."""
    found = sorted(records.unreadable.items())
    more = len(found) - MOST_NAMED
    lines = [f"left out: {path}: {why}" for path, why in found[:MOST_NAMED]]
    return [*lines, f"and {more:,} more; see: longarena store check"] if more > 0 else lines


def contents(records: "Records") -> str:
    """Say in one line what is on the page."""
    from longarena.report.formatting import many

    parts = [many(n, name.removesuffix("s")) for name, n in counts(records).items() if n]
    return f"it has {', '.join(parts)}" if parts else "there are no records yet: longarena tour"


def sizes(page: Path) -> str:
    """Say how large the page is, and what lies beside it."""
    from longarena.report.formatting import bytes_name, many
    from longarena.report.links import FOLDER

    beside = [path.stat().st_size for path in (page.parent / FOLDER).glob("*.html")]
    own = f"the page has {bytes_name(page.stat().st_size)}"
    pages = f"{many(len(beside), 'page')} of runs with {bytes_name(sum(beside))}"
    return f"{own}, and beside it are {pages}" if beside else own


def _watch(folder: Path, page: Path, is_opened: bool, output: Output) -> None:
    """Keep the page up to date; Ctrl-C is how it is meant to end."""
    from longarena.report.page.watch import watch as watch_store

    output.say(f"watching {folder}; Ctrl-C ends it", f"the page is {page}")
    shown: dict[str, object] = {"page": str(page)}
    try:
        with closing(watch_store(folder, page.parent)) as pages:
            for records in pages:
                shown |= counts(records)
                output.say(contents(records))
                if is_opened:
                    webbrowser.open(page.as_uri())
                    is_opened = False
    except KeyboardInterrupt:
        output.result(shown)
        output.say(f"no longer watching; the page stays at {page}")
