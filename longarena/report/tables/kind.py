"""What an entry of TABLES is."""

from collections.abc import Callable
from dataclasses import dataclass

from longarena.report.findings import Findings
from longarena.table.table import Table


@dataclass(frozen=True)
class TableKind:
    """Tables of one kind, and the command that makes the records they are missing."""

    make: Callable[[Findings], list[Table]]
    remedy: str
