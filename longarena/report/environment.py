"""How pages are made: templates that escape every string, and a policy that runs nothing else.

A page is one file with its style and scripts inside. The policy names the scripts by their digests
and lets nothing be fetched, so that a string of a record stays a string whatever it contains.
"""

import base64
import hashlib
from collections.abc import Callable, Iterable
from datetime import datetime
from functools import cache
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from longarena.report import names
from longarena.report.growth import growths
from longarena.runtime import Machine
from longarena.store.boards import best_average, has_own_data, spread_of_averages

FILTERS: tuple[Callable[..., object], ...] = (
    *(
        names.row_name,
        names.card,
        names.task_title,
        names.task_word,
        names.length_name,
        names.digits,
    ),
    *(names.percent, names.ratio, names.printed, names.short, names.many),
)


@cache
def environment() -> Environment:
    """Return the templates, with the names of things as filters."""
    made = Environment(
        loader=PackageLoader("longarena.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals |= {
        "best_average": best_average,
        "bytes_name": names.bytes_name,
        "data_parts": names.data_parts,
        "digits": names.digits,
        "growths": growths,
        "percent": names.percent,
        "ratio": names.ratio,
        "spread_of_averages": spread_of_averages,
        "style": Markup(asset("style.css")),
    }
    made.filters |= {function.__name__: function for function in (*FILTERS, machine_line, day)}
    made.tests["own_data"] = has_own_data
    return made


def policy(scripts: Iterable[str]) -> str:
    """Allow the scripts with these very characters, and no request at all.

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


def machine_line(machine: Machine) -> str:
    """Describe a machine in one line."""
    parts = [machine.accelerator, machine.processor, f"{machine.cores} cores"]
    parts += [f"{machine.threads} threads", names.bytes_name(machine.memory_bytes), machine.system]
    return ", ".join(part for part in parts if part)


def day(moment: str) -> str:
    """Shorten a moment to its day; what is no moment stays as it is.

    >>> day("2025-11-03T10:00:00+00:00"), day("yesterday")
    ('2025-11-03', 'yesterday')
    """
    try:
        return datetime.fromisoformat(moment).date().isoformat()
    except ValueError:
        return moment
