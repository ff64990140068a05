"""How commands speak: results on standard output, progress on standard error, or JSON alone."""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from longarena.errors import UserError
from longarena.progress import SILENT, LineProgress, Progress, TerminalProgress

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON and nothing else.")]
Assignments = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Override one value.")
]
Runs = Annotated[Path, typer.Option("--runs", help="The folder of the runs.")]
StoreFolder = Annotated[
    Path | None, typer.Option("--store", help="The folder of the records (RUNS/records).")
]
Threads = Annotated[
    int | None, typer.Option("--threads", min=1, help="CPU threads (all cores by default).")
]
RUNS = Path("runs")


def existing(store: Path) -> Path:
    """Return the folder of records that a user named, if there is one."""
    if not store.is_dir():
        raise UserError(f"there is no folder {store}; records are written by train and measure")
    return store


def records_in(runs: Path, store: Path | None) -> Path:
    """Return the folder of records that a user named, or the one beside the runs."""
    return existing(store) if store else runs / "records"


@dataclass(frozen=True)
class Output:
    """Where a command's words go."""

    is_quiet: bool = False
    is_json: bool = False

    @property
    def progress(self) -> Progress:
        """Bars in a terminal, lines in a log, nothing when quiet."""
        if self.is_quiet:
            return SILENT
        console = Console(stderr=True)
        return TerminalProgress(console) if console.is_terminal else LineProgress(console)

    def result(self, value: object) -> None:
        """Print the result for a program, if that was asked for."""
        if self.is_json:
            sys.stdout.write(json.dumps(value, indent=2) + "\n")

    def say(self, *lines: str) -> None:
        """Print lines for a person."""
        if not self.is_json:
            sys.stdout.write("".join(f"{line}\n" for line in lines))

    def table(self, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Print a table for a person; a pipe gets it as wide as it needs."""
        if self.is_json:
            return
        table = Table(*columns, title=title, title_justify="left", box=None, pad_edge=False)
        for row in rows:
            table.add_row(*row)
        console = Console(highlight=False, markup=False)
        if not console.is_terminal:
            console.width = 200
        console.print(table)
