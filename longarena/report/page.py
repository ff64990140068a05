"""The page: all records of a store in one HTML file that needs nothing else.

Static, offline, with its style, script and Vega inside. Every string of a record is escaped, the
data of the charts is embedded as JSON that cannot close its element, and the page's own policy
lets only these very scripts run and nothing be fetched.

A section is one template; a new one is a file in templates/ and a line in page.html.
"""

import base64
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path

import vl_convert
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from longarena.data.files import write_atomically
from longarena.report import names
from longarena.report.charts import charts
from longarena.report.pictures import gallery
from longarena.report.spans import spans
from longarena.runtime import Machine
from longarena.store import published
from longarena.store.changes import command
from longarena.store.costs import cost_tables
from longarena.store.folder import Records
from longarena.store.record import Record, RunRecord
from longarena.store.tables import accuracy_table


@dataclass(frozen=True)
class RunLine:
    """A run and the command that makes it again, if one can."""

    record: RunRecord
    command: str | None


def write_page(records: Records, out: Path) -> Path:
    """Write the page of some records to `out`/index.html and return its path."""
    path = out / "index.html"
    write_atomically(path, render(records))
    return path


def render(records: Records) -> str:
    """Return the page of some records."""
    environment = _environment()
    accuracy, costs = accuracy_table(records.runs), cost_tables(records.measurements)
    drawn = charts(accuracy, costs, records.runs)
    drawn += [chart for chart in [spans(records.spans)] if chart]
    scripts = [*([vega()] if drawn else []), _asset("page.js")]
    every: list[Record] = [*records.runs, *records.measurements, *records.spans]
    mixers = {row.mixer for row in accuracy.rows} | {row.mixer for t in costs for row in t.rows}
    return environment.get_template("page.html").render(
        is_empty=not every,
        num_mechanisms=len(mixers),
        num_measurements=len(records.measurements),
        latest=day(max((record.finished_at for record in every), default="")),
        machines=sorted({machine_line(record.machine) for record in every}),
        version=version("longarena"),
        accuracy=accuracy,
        costs=costs,
        charts=drawn,
        specifications={chart.name: chart.spec for chart in drawn},
        runs=[RunLine(run, command(run.recipe)) for run in records.runs],
        unreadable=sorted(records.unreadable.items()),
        sections=_sections(records, bool(drawn)),
        gallery=gallery(),
        published=published,
        style=Markup(_asset("style.css")),
        scripts=[Markup(script) for script in scripts],
        policy=policy(scripts),
    )


def policy(scripts: Iterable[str]) -> str:
    """Allow the scripts with these very characters, and no request at all.

    Vega compiles its expressions with `Function`, hence unsafe-eval.
    """
    digests = (hashlib.sha256(script.encode()).digest() for script in scripts)
    hashes = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {hashes} 'unsafe-eval'; style-src 'unsafe-inline'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


@cache
def vega() -> str:
    """Return Vega, Vega-Lite and their embedding as one script, about 0.9 MB."""
    bundle: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return bundle.replace("</script", "<\\/script")


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


def _sections(records: Records, has_charts: bool) -> list[tuple[str, str]]:
    """List the sections that this page has, by their ids."""
    found = {
        ("accuracy", "Accuracy"): records.runs,
        ("costs", "Speed and memory"): records.measurements,
        ("charts", "Charts"): has_charts,
        ("runs", "Runs"): records.runs,
        ("gallery", "Attention patterns"): True,
        ("published", "Published numbers"): True,
        ("unreadable", "Unreadable records"): records.unreadable,
    }
    return [section for section, is_there in found.items() if is_there]


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("longarena.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {
        "column_parts": names.column_parts,
        "bytes_name": names.bytes_name,
        "digits": names.digits,
    }
    environment.filters |= {
        "row_name": names.row_name,
        "card": names.card,
        "task_title": names.task_title,
        "length_name": names.length_name,
        "digits": names.digits,
        "percent": names.percent,
        "ratio": names.ratio,
        "printed": names.printed,
        "machine_line": machine_line,
        "day": day,
    }
    return environment


def _asset(name: str) -> str:
    """Read a file of the templates folder as it is."""
    return (Path(__file__).parent / "templates" / name).read_text(encoding="utf-8")
