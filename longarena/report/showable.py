"""Make a page, a table or a chart of any records: one that cannot be shown is named and left out.

The schema of records keeps out most of what makes no sense. What is left is found here by trying:
records are added in blocks, and a block with which it fails is halved, down to the one to blame.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from longarena.errors import UserError
from longarena.records.folder import Records
from longarena.records.parsing import reason
from longarena.records.summary import AnyRecord, RunSummary

Result = TypeVar("Result")
Make = Callable[[Records], Result]


def shown(records: Records, make: Make[Result]) -> tuple[Result, Records]:
    """Return what `make` makes of the records that it can show, and these."""
    try:
        return make(records), records
    except (UserError, OSError):
        raise
    except Exception:
        kept = _Showable(make, records)
        kept.add(_all(records))
        return make(kept.records), kept.records


class _Showable:
    """A growing set of records that can be shown together."""

    def __init__(self, make: Make[object], records: Records) -> None:
        self._make = make
        self.records = Records(unreadable=dict(records.unreadable))
        make(self.records)  # what fails without any record is a mistake of this program

    def add(self, block: Sequence[AnyRecord]) -> None:
        """Add those records of a block that can be shown; name the others."""
        tried = Records(unreadable=self.records.unreadable)
        for record in [*_all(self.records), *block]:
            tried.add(record)
        try:
            self._make(tried)
        except Exception as error:
            middle = len(block) // 2
            if middle:
                self.add(block[:middle])
                self.add(block[middle:])
            else:
                kind = "run" if isinstance(block[0], RunSummary) else block[0].kind
                name = Path(kind) / block[0].id
                self.records.unreadable[name] = f"cannot be shown: {reason(error)}"
        else:
            self.records = tried


def _all(records: Records) -> list[AnyRecord]:
    runs: list[AnyRecord] = [*records.runs, *records.failures, *records.tunings]
    costs: list[AnyRecord] = [*records.measurements, *records.generations]
    return [*runs, *costs, *records.spans, *records.choices]
