"""How pages are made: templates that escape every string, and a policy that allows no other script.

A page is one file with its style and scripts inside. The policy names the scripts by their digests
and forbids every request, so that a string from a record stays a string whatever it contains.
"""

import base64
import hashlib
from collections.abc import Callable, Iterable
from datetime import datetime
from functools import cache
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from longarena.report import formatting
from longarena.report.tables.scores import board_title, scores_name
from longarena.runtime import Machine
from longarena.table.table import Table

FILTERS: tuple[Callable[..., object], ...] = (
    formatting.card,
    formatting.column_name,
    formatting.digits,
    formatting.metric_name,
    formatting.percent,
    formatting.ratio,
    formatting.task_title,
)


@cache
def environment() -> Environment:
    """Return the templates, with functions that write names and numbers as filters."""
    made = Environment(
        loader=PackageLoader("longarena.report.page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals |= {
        "board_title": board_title,
        "bytes_name": formatting.bytes_name,
        "marked_columns": marked_columns,
        "scores_name": scores_name,
        "style": Markup(asset("style.css")),
    }
    made.filters |= {function.__name__: function for function in (*FILTERS, machine_line, day)}
    return made


def policy(scripts: Iterable[str]) -> str:
    """Allow exactly these scripts, and no request at all.

    Vega compiles its expressions with `Function`, hence unsafe-eval.
    """
    digests = [hashlib.sha256(script.encode()).digest() for script in scripts]
    hashes = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    allowed = f"script-src {hashes} 'unsafe-eval'; " if digests else ""
    return (
        f"default-src 'none'; {allowed}style-src 'unsafe-inline'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def asset(name: str) -> str:
    """Read a file of the templates folder as it is."""
    return (Path(__file__).parent / "templates" / name).read_text(encoding="utf-8")


def marked_columns(table: Table) -> set[int]:
    """Return the columns in which a number has a mark."""
    return {at for row in table.rows for at, cell in enumerate(row.cells) if cell.mark}


def machine_line(machine: Machine) -> str:
    """Describe a machine in one line."""
    parts = [machine.accelerator, machine.processor, f"{machine.cores} cores"]
    parts += [
        formatting.many(machine.threads, "thread"),
        formatting.bytes_name(machine.memory_bytes),
        machine.system,
    ]
    return ", ".join(part for part in parts if part)


def day(moment: str) -> str:
    """Shorten a moment to its day; a text that is not a moment stays as it is.

    >>> day("2025-11-03T10:00:00+00:00"), day("yesterday")
    ('2025-11-03', 'yesterday')
    """
    try:
        return datetime.fromisoformat(moment).date().isoformat()
    except ValueError:
        return moment
