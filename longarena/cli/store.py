"""longarena store: unite records of several people, and see whether all can be read."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longarena.cli.output import RUNS, AsJson, Output, Quiet, words
from longarena.cli.stopping import when_stopped
from longarena.errors import UserError

if TYPE_CHECKING:
    from longarena.records.record import FailureRecord
    from longarena.records.summary import Run

app = typer.Typer(no_args_is_help=True, help="Unite records, check them.")

STORE = RUNS / "records"
UNREADABLE = 1


@app.command()
@when_stopped("records that were added stay; the same command adds the rest")
def merge(
    folder: Annotated[Path, typer.Argument(help="The records to add.")],
    into: Annotated[Path, typer.Option(help="The store that they are added to.")] = STORE,
    quiet: Quiet = False,
    json: AsJson = False,
) -> None:
    """Add records to a store; nothing that is there is overwritten."""
    from longarena.records.merge import merge as merge_records

    merged = merge_records(_folder(folder), into)
    out = Output(quiet, json)
    out.result(
        {
            "added": list(map(str, merged.added)),
            "beside": list(map(str, merged.beside)),
            "known": list(map(str, merged.known)),
            "unreadable": {str(path): reason for path, reason in merged.unreadable.items()},
        }
    )
    out.say(*(f"left out: {path}: {reason}" for path, reason in merged.unreadable.items()))
    out.say(
        f"{into}: {len(merged.added)} added, {len(merged.beside)} kept beside another run of the "
        f"same recipe, {len(merged.known)} there already, {len(merged.unreadable)} left out"
    )
    out.next(words("longarena report", store=into))


@app.command()
def check(
    folder: Annotated[Path, typer.Argument(help="The store to read.")] = STORE,
    quiet: Quiet = False,
    json: AsJson = False,
) -> None:
    """Read every record and name those that cannot be used; exit code 1 if there are any."""
    from longarena.records.folder import read_records, record_path
    from longarena.records.summary import RunSummary

    out = Output(quiet, json)
    found = read_records(_folder(folder), out.progress, is_thorough=True)
    counts = {
        "runs": len(found.runs),
        "failures": len(found.failures),
        "measurements": len(found.measurements),
        "spans": len(found.spans),
        "tunings": len(found.tunings),
        "choices": len(found.choices),
    }
    unreadable = {str(path): reason for path, reason in found.unreadable.items()}
    runs: list[Run | FailureRecord] = [*found.runs, *found.failures]
    for run in runs:
        if run.is_mislabelled:
            at = run.source.path if isinstance(run, RunSummary) else record_path(folder, run)
            unreadable[str(at)] = f"its id is not that of its recipe, {run.recipe.id}"
    out.result(counts | {"unreadable": unreadable})
    out.say(*(f"cannot be used: {path}: {reason}" for path, reason in unreadable.items()))
    numbers = ", ".join(f"{count} {kind}" for kind, count in counts.items())
    out.say(f"{folder}: {numbers}, {len(unreadable)} cannot be used")
    if unreadable:
        raise typer.Exit(UNREADABLE)


def _folder(folder: Path) -> Path:
    if not folder.is_dir():
        raise UserError(f"{folder} is not a folder; give a folder of records")
    return folder
