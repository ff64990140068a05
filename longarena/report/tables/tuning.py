"""Which values every mechanism wanted: the choices of tuning, mechanism by task.

A cell is what was chosen; its details are the validation scores of all candidates, each by the last
comparison that it reached. A choice at the edge of the grid is marked, because the best value may
lie beyond.
"""

from collections.abc import Sequence

from longarena import tasks
from longarena.findings.boards import own_variant
from longarena.findings.changes import setting
from longarena.findings.scores import Row as Mechanism
from longarena.findings.scores import group, row_order
from longarena.findings.tuning import Procedure, latest, value_text
from longarena.records.tuning import Candidate, TuningRecord
from longarena.report import formatting
from longarena.report.findings import Findings
from longarena.report.tables.mechanism import MECHANISM, mechanism
from longarena.table.table import MISSING, Cell, Column, Row, Table, Words, distinct, slug

EDGE = "edge"
# a mechanism with its changes to the preset; a task with the variant of its data
Line = tuple[Mechanism, str]
Data = tuple[str, str]


def tuning_tables(found: Findings) -> list[Table]:
    """Tabulate the choices, one table per preset and set of values that were tried."""
    groups = group(
        latest(found.records.tunings), lambda record: (record.recipe.preset, Procedure.of(record))
    )
    return distinct(_table(preset, tuning, records) for (preset, tuning), records in groups.items())


def _table(preset: str, tuning: Procedure, records: Sequence[TuningRecord]) -> Table:
    cells = {(_line(record), _data(record)): record for record in records}
    lines = sorted({line for line, _ in cells}, key=lambda line: (row_order(line[0]), line[1]))
    columns = sorted({data for _, data in cells}, key=_data_order)
    return Table(
        name=f"tuning-{slug(preset)}",
        title=f"The best {' and '.join(tuning.keys)} of each mechanism, preset {preset}",
        columns=(MECHANISM, *(_column(data, records) for data in columns)),
        rows=tuple(
            Row(
                (mechanism(*line), *(_cell(cells.get((line, data))) for data in columns)),
                {"family": line[0].card.family},
            )
            for line in lines
        ),
        note=f"Chosen on validation: {tuning.words}. Edge: the best may lie beyond what was tried.",
    )


def _line(record: TuningRecord) -> Line:
    options, others = setting(record.recipe, record.grid)
    model = record.recipe.model
    return Mechanism(model.mixer, options, own=model.own), others


def _data(record: TuningRecord) -> Data:
    return record.recipe.task.name, record.variant


def _data_order(data: Data) -> tuple[int, Data]:
    known = list(tasks.TASKS)
    return known.index(data[0]) if data[0] in known else len(known), data


def _column(data: Data, records: Sequence[TuningRecord]) -> Column:
    task, variant = data
    is_own = variant == own_variant(records[0].recipe.preset, task)
    is_number = all(_number(record) is not None for record in records)
    return Column(
        formatting.task_word(task),
        "number" if is_number else "text",
        details=() if is_own else (variant.replace(",", ", "),),
        filters={"task": task},
    )


def _cell(record: TuningRecord | None) -> Cell:
    if record is None:
        return MISSING
    scores = [(Words(_score(record, each)),) for each in record.candidates]
    edge = [(Words(f"{EDGE} of the grid", tone="over"),)] if record.edges else []
    return Cell(
        _point(record.chosen),
        _number(record),
        note=EDGE if record.edges else "",
        details=(*edge, *scores),
    )


def _point(candidate: Candidate) -> str:
    return ", ".join(map(value_text, candidate.values.values()))


def _number(record: TuningRecord) -> float | None:
    """Return the chosen value if it is a single number."""
    value, *others = record.chosen.values.values()
    if others or isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value


def _score(record: TuningRecord, candidate: Candidate) -> str:
    """Say what a candidate scored, and at which step if that was before the end."""
    score, metric = candidate.scores[-1], record.metric
    found = "diverged" if score is None else metric.write_with_unit(score)
    step = record.rungs[len(candidate.scores) - 1]
    when = f" at step {step:,}" if step < record.recipe.steps else ""
    return f"{_point(candidate)}: {found}{when}"
