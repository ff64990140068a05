"""The runs of a page: a table of all, or of very many the newest, and all as data for a script.

The script (`run_list.js`) filters, sorts and turns the pages of the table; without it the newest
runs are there. A run takes about 60 bytes in the data.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup

from longarena.records.summary import Run
from longarena.report.findings import Findings
from longarena.report.formatting import bytes_name
from longarena.report.tables.runs import run_table, run_tables, run_texts
from longarena.table.table import Table

# as many as make a page of 10 MB
MOST_LISTED = 100_000
NUM_SHOWN = 100

NOTHING = Markup("")


@dataclass(frozen=True)
class RunList:
    """What a reader sees without a script, what the script shows, and a sentence on both."""

    tables: Sequence[Table]
    data: Markup = NOTHING
    note: str = ""


def run_list(found: Findings) -> RunList:
    """List the runs of a page."""
    runs = found.records.runs
    if len(found.lines) == len(runs) + len(found.records.failures):
        return RunList(run_tables(found))
    newest = sorted(runs, key=lambda run: run.finished_at, reverse=True)[:MOST_LISTED]
    data = htmlsafe_json_dumps(_data(found, newest), separators=(",", ":"))
    return RunList([run_table(found, newest[:NUM_SHOWN])], data, _note(found, len(newest), data))


def _data(found: Findings, runs: Sequence[Run]) -> dict[str, object]:
    """Write every run as numbers and short texts; names are numbers in lists of names."""
    texts = [run_texts(run) for run in runs]
    names = [sorted({each[at] for each in texts}) for at in range(4)]
    places = [{name: number for number, name in enumerate(every)} for every in names]
    rows = [
        [run.id, *(places[at][text[at]] for at in range(4)), run.seed, *text[4:]]
        for run, text in zip(runs, texts, strict=True)
    ]
    pages = {at: href for at, run in enumerate(runs) if (href := found.href(run))}
    return {"names": names, "pages": pages, "runs": rows, "shown": NUM_SHOWN}


def _note(found: Findings, num_listed: int, data: str) -> str:
    num_runs = len(found.records.runs)
    listed = f"all {num_runs:,}" if num_listed == num_runs else f"the newest {num_listed:,}"
    return (
        f"Here are the newest {NUM_SHOWN} of {num_runs:,} runs; with scripts allowed {listed} can "
        f"be filtered and sorted ({bytes_name(len(data))} of this page). The runs behind the "
        "results above and the newest have pages of their own."
    )
