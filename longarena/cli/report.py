"""longarena report: one page of everything that was found."""

import webbrowser
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from longarena.cli.output import RUNS, AsJson, Output, Runs, StoreFolder, records_in
from longarena.report.names import many
from longarena.report.page import write_page
from longarena.report.watch import watch as watch_store
from longarena.store.folder import Records, read_records

OutFolder = Annotated[Path, typer.Option("--out", help="Where the page goes.")]


def report(
    out: OutFolder = Path("report"),
    runs: Runs = RUNS,
    store: StoreFolder = None,
    open_: Annotated[bool, typer.Option("--open", help="Open it in a browser.")] = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Write it again when records change, until Ctrl-C.")
    ] = False,
    json: AsJson = False,
) -> None:
    """Write the page: leaderboard, costs, charts and a page per run, to be read offline."""
    folder, output = records_in(runs, store), Output(is_json=json)
    page = (out / "index.html").resolve()
    if watch:
        return _watch(folder, page, open_, output)
    records = read_records(folder)
    write_page(records, out)
    output.result({"page": str(page)} | counts(records))
    output.say(f"the page is {page}", contents(records))
    if open_:
        webbrowser.open(page.as_uri())


def counts(records: Records) -> dict[str, int]:
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
        "unreadable records": len(records.unreadable),
    }


def contents(records: Records) -> str:
    """Say in one line what is on the page."""
    parts = [many(n, name.removesuffix("s")) for name, n in counts(records).items() if n]
    return (
        f"it has {', '.join(parts)}" if parts else "the store holds no record yet: longarena tour"
    )


def _watch(folder: Path, page: Path, is_opened: bool, output: Output) -> None:
    """Keep the page up to date; Ctrl-C is how it is meant to end."""
    output.say(f"watching {folder}; Ctrl-C ends it", f"the page is {page}")
    try:
        with closing(watch_store(folder, page.parent)) as pages:
            for records in pages:
                output.result({"page": str(page)} | counts(records))
                output.say(contents(records))
                if is_opened:
                    webbrowser.open(page.as_uri())
                    is_opened = False
    except KeyboardInterrupt:
        output.say(f"no longer watching; the page stays at {page}")
