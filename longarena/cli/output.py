"""How commands speak: results on standard output, progress on standard error, or JSON alone."""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from longarena.errors import UserError
from longarena.printable import printable

if TYPE_CHECKING:
    from longarena.progress import Progress
    from longarena.table.table import Table

Again = Annotated[
    bool, typer.Option("--again", help="Train anew, even if there is a result already.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON and nothing else.")]
Assignments = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Override one value; may be repeated."),
]
ModelName = Annotated[
    str,
    typer.Argument(help="The id of a run, its beginning, or a folder: a run's, or exported."),
]
Runs = Annotated[Path, typer.Option("--runs", help="The folder that holds the runs.")]
StoreFolder = Annotated[
    Path | None,
    typer.Option("--store", help="The folder of the records.", show_default="RUNS/records"),
]
Threads = Annotated[
    int | None,
    typer.Option("--threads", min=1, help="How many CPU threads to use.", show_default="all cores"),
]
Pretrain = Annotated[
    int | None,
    typer.Option(
        "--pretrain",
        metavar="STEPS",
        min=1,
        help="First fill in hidden tokens of the training data for so many steps, without labels.",
    ),
]
RUNS = Path("runs")
PIPE_WIDTH = 200
# the columns whose words are typed in other commands
NAMES = {"run", "task", "mixer", "preset", "variant"}


def existing(store: Path) -> Path:
    """Return the folder of records that a user named, if there is one."""
    if not store.is_dir():
        raise UserError(f"there is no folder {store}; records are written by train and measure")
    return store


def records_in(runs: Path, store: Path | None) -> Path:
    """Return the folder of records that a user named, or the one beside the runs."""
    return existing(store) if store else runs / "records"


def words(start: str, **options: object) -> str:
    """Write a command with those options that were given.

    >>> words("longarena report", runs=None, store=Path("my runs"))
    "longarena report --store 'my runs'"
    """
    given = {name: value for name, value in options.items() if value is not None}
    return " ".join([start, *(f"--{name} {quote(str(value))}" for name, value in given.items())])


def unusual(runs: Path) -> Path | None:
    """Return the folder of the runs if it must be named, for it is not the default."""
    return None if runs == RUNS else runs


@dataclass(frozen=True)
class Output:
    """Where a command's words go."""

    is_quiet: bool = False
    is_json: bool = False

    @property
    def progress(self) -> "Progress":
        """Bars in a terminal, lines in a log, nothing when quiet."""
        from rich.console import Console

        from longarena.progress import SILENT, LineProgress, TerminalProgress

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
            sys.stdout.write(printable("".join(f"{line}\n" for line in lines)))

    def write(self, text: str) -> None:
        """Print a piece of text for a person, at once."""
        if not self.is_json:
            known = (
                printable(text).encode(sys.stdout.encoding, "replace").decode(sys.stdout.encoding)
            )
            sys.stdout.write(known)
            sys.stdout.flush()

    def next(self, *commands: str) -> None:
        """Suggest commands, each on a line of its own so that it can be copied."""
        self.say(*(f"{'next:' if i == 0 else '     '} {line}" for i, line in enumerate(commands)))

    def table(self, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Print a table of texts."""
        from longarena.table.table import Cell, Column, Row, Table

        shown = tuple(Row(tuple(map(Cell, row))) for row in rows)
        kinds = tuple(Column(name, "name" if name in NAMES else "text") for name in columns)
        self.show(Table(title, title, kinds, shown))

    def show(self, table: "Table") -> None:
        """Print a table for a person; a pipe gets it as wide as it needs."""
        if self.is_json:
            return
        from rich.console import Console

        from longarena.table.terminal import fit, terminal

        console = Console(highlight=False)
        if not console.is_terminal:
            console.width = PIPE_WIDTH
        widths = fit(table, console.width)
        console.print(terminal(table, widths))
        left_out = [each.line for at, each in enumerate(table.columns) if at not in widths]
        if left_out:
            self.say(f"too narrow for: {', '.join(left_out)} (widen it, or add --json)")
