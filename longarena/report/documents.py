"""Tables and charts inside documents: the text between two markers is a function of records.

    <!-- table: speed results -->
    (the table, rewritten by `longarena fill`)
    <!-- end -->

`speed` names a kind of table or one table of it (`tables/`); `results` is the folder of the
records, relative to the folder in which the command runs; `<!-- table: speed results 5 -->` shows
the first five rows. `<!-- chart: speed results -->` shows the chart of that name, drawn into
`docs/pictures`. The rest of a document is left alone.

Choice: a drawing ends with a digest of the numbers in it and is up to date if the digest is. Its
        own bytes would not do: they depend on the fonts of the machine that drew it.
"""

import hashlib
import json
import os
import re
from dataclasses import dataclass, field, replace
from pathlib import Path

from longarena.data.files import write_atomically
from longarena.errors import UserError
from longarena.records.folder import read_records
from longarena.report.charts.chart_files import WRITERS, Figure
from longarena.report.export import find_figures, find_tables
from longarena.report.findings import Findings
from longarena.table.markdown import markdown
from longarena.table.table import Table

PICTURES = Path("docs/pictures")
MARKED = re.compile(
    r"^(?P<start><!-- (?P<kind>table|chart): (?P<name>\S+) (?P<store>\S+)"
    r"(?: (?P<rows>[1-9]\d*))? -->)\n"
    r".*?^(?P<end><!-- end -->)$",
    re.DOTALL | re.MULTILINE,
)
START = re.compile(r"^<!-- (?:table|chart):.*", re.MULTILINE)


def documents_in(root: Path) -> list[Path]:
    """Return the documents of a repository that may contain tables."""
    return [path for path in [root / "README.md", *sorted(root.glob("docs/*.md"))] if path.exists()]


def fill_document(path: Path, root: Path, *, is_dry: bool = False) -> bool:
    """Rewrite the tables and charts of a document; return whether any was out of date."""
    before = path.read_text(encoding="utf-8")
    filling = Filling(root, path.parent)
    after = filling.fill(before)
    stale = {at: drawn for at, drawn in filling.drawings.items() if not _shows(at, drawn)}
    if not is_dry:
        for at, drawn in stale.items():
            write_atomically(at, WRITERS["svg"](drawn.spec) + _seal(drawn))
        if after != before:
            write_atomically(path, after)
    return after != before or bool(stale)


@dataclass
class Filling:
    """Fill the documents of a folder, and collect the drawings that they show."""

    root: Path
    folder: Path
    drawings: dict[Path, Figure] = field(default_factory=dict)
    read: dict[Path, Findings] = field(default_factory=dict)

    def fill(self, text: str) -> str:
        """Return a text in which everything between markers is made anew from the records."""
        marked, starts = list(MARKED.finditer(text)), START.findall(text)
        if len(marked) != len(starts):
            lost = next(start for start in starts if start not in {m["start"] for m in marked})
            raise UserError(
                f"the marker '{lost}' needs a name, a folder, and a line <!-- end --> below"
            )
        return MARKED.sub(self._fill_one, text)

    def _fill_one(self, found: re.Match[str]) -> str:
        store = self.root / found["store"]
        if not store.is_dir():
            raise UserError(
                f"'{found['start']}' names {found['store']}, and there is no such folder"
            )
        if found["rows"] and found["kind"] == "chart":
            raise UserError(f"'{found['start']}': a chart has no rows; leave the number out")
        findings = self._findings(store)
        body = (
            _tables(findings, found["name"], found["rows"])
            if found["kind"] == "table"
            else self._chart(findings, found["name"], store.name)
        )
        if not body:
            raise UserError(
                f"'{found['start']}' names a {found['kind']} that {found['store']} has no "
                "records for"
            )
        return f"{found['start']}\n\n{body}\n{found['end']}"

    def _findings(self, store: Path) -> Findings:
        """Read a folder of records once, however many markers name it."""
        if store not in self.read:
            self.read[store] = Findings.of(read_records(store))
        return self.read[store]

    def _chart(self, findings: Findings, name: str, store: str) -> str:
        # a chart of several panels has its plain name for the first
        figure = next(iter(find_figures(findings, name)), None)
        if figure is None:
            return ""
        at = self.root / PICTURES / f"{store}-{figure.name}.svg"
        self.drawings[at] = figure
        link = Path(os.path.relpath(at, self.folder)).as_posix()
        return f"![{figure.chart.title}]({link})\n\n{figure.chart.caption}\n"


def _tables(findings: Findings, name: str, rows: str | None) -> str:
    tables = find_tables(findings, name)
    # the kind's name is also that of its latest table
    wanted = [table for table in tables if table.name == name] or tables
    if rows is not None:
        wanted = [_beginning(table, int(rows)) for table in wanted]
    return "\n".join(markdown(table) for table in wanted)


def _beginning(table: Table, most: int) -> Table:
    """Cut a table after some rows, and say so."""
    if len(table.rows) <= most:
        return table
    title = f"The first {most} of {len(table.rows)} rows: {table.title}"
    return replace(table, title=title, rows=table.rows[:most])


def _shows(path: Path, drawn: Figure) -> bool:
    """Tell whether a file shows these numbers."""
    return path.exists() and path.read_bytes().endswith(_seal(drawn))


def _seal(drawn: Figure) -> bytes:
    shown = [drawn.spec["title"], drawn.spec["datasets"]]
    digest = hashlib.sha256(json.dumps(shown, sort_keys=True).encode()).hexdigest()
    return f"\n<!-- numbers: {digest} -->\n".encode()
