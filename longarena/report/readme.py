"""Tables inside documents: what stands between two markers is a function of records.

    <!-- table: speed results -->
    (the table, rewritten by `longarena fill`)
    <!-- end -->

`speed` names a kind of tables or one of them (`tables/`), `results` the folder of the records,
seen from the folder in which the command runs. Nothing else of a document is touched.
"""

import re
from pathlib import Path

from longarena.data.files import write_atomically
from longarena.errors import UserError
from longarena.report.export import find_tables
from longarena.report.writers import markdown
from longarena.store.folder import read_records

MARKED = re.compile(
    r"^(?P<start><!-- table: (?P<name>\S+) (?P<store>\S+) -->)\n.*?^(?P<end><!-- end -->)$",
    re.DOTALL | re.MULTILINE,
)
START = re.compile(r"^<!-- table:.*", re.MULTILINE)


def documents_in(root: Path) -> list[Path]:
    """Return the documents of a repository that may have tables."""
    return [path for path in [root / "README.md", *sorted(root.glob("docs/*.md"))] if path.exists()]


def fill_document(path: Path, root: Path, *, is_dry: bool = False) -> bool:
    """Rewrite the tables of a document; tell whether it was not up to date."""
    before = path.read_text(encoding="utf-8")
    after = fill(before, root)
    if after != before and not is_dry:
        write_atomically(path, after)
    return after != before


def fill(text: str, root: Path) -> str:
    """Return a text with every marked table made anew from the records under `root`."""
    marked, starts = list(MARKED.finditer(text)), START.findall(text)
    if len(marked) != len(starts):
        lost = next(start for start in starts if start not in {m["start"] for m in marked})
        raise UserError(
            f"the marker '{lost}' needs a name, a folder, and a line <!-- end --> below"
        )
    return MARKED.sub(lambda found: _fill_one(found, root), text)


def _fill_one(found: re.Match[str], root: Path) -> str:
    store = root / found["store"]
    if not store.is_dir():
        raise UserError(f"'{found['start']}' names {found['store']}, and there is no such folder")
    tables = find_tables(read_records(store), found["name"])
    if not tables:
        raise UserError(
            f"'{found['start']}' names a table that {found['store']} has no records for"
        )
    # the kind's name is also that of its latest table
    wanted = [table for table in tables if table.name == found["name"]] or tables
    body = "\n".join(markdown(table) for table in wanted)
    return f"{found['start']}\n\n{body}\n{found['end']}"
