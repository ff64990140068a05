"""longarena report: one page of everything that was found."""

import webbrowser
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longarena.cli.output import RUNS, AsJson, Output, Quiet, Runs, StoreFolder, records_in
from longarena.cli.stopping import when_stopped

if TYPE_CHECKING:
    from longarena.records.folder import Records

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
    records = read_records(folder)
    write_page(records, out)
    output.result({"page": str(page)} | counts(records))
    output.say(f"the page is {page}", contents(records), *left_out(records))
    if open_:
        webbrowser.open(page.as_uri())


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
    """Name the records that are not shown."""
    return [f"left out: {path}: {why}" for path, why in sorted(records.unreadable.items())]


def contents(records: "Records") -> str:
    """Say in one line what is on the page."""
    from longarena.report.formatting import many

    parts = [many(n, name.removesuffix("s")) for name, n in counts(records).items() if n]
    return f"it has {', '.join(parts)}" if parts else "there are no records yet: longarena tour"


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
