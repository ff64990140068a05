"""Every run in a table: what was trained, how it ended, what it scored; and what failed to."""

from collections.abc import Iterator, Sequence

from longarena.attention import CARDS
from longarena.records.summary import Run
from longarena.report import formatting
from longarena.report.findings import Findings
from longarena.report.links import AnyRun
from longarena.table.table import MISSING, Cell, Column, Row, Table

MOST_FAILURES = 200
NAMES = (
    Column("Run", "id"),
    *(Column(title, "text") for title in ("Task", "Mechanism", "Preset")),
    Column("Seed"),
)


def run_tables(found: Findings) -> list[Table]:
    """Tabulate every run that has ended."""
    runs = found.records.runs
    return [run_table(found, runs)] if runs else []


def run_table(found: Findings, runs: Sequence[Run]) -> Table:
    """Tabulate some runs that have ended."""
    metrics = {run.metric for run in found.records.runs}
    test = Column("Test", unit=metrics.pop().unit if len(metrics) == 1 else "")
    numbers = (Column("Steps"), test, Column("Steps/s"), Column("Minutes"))
    rows = tuple(Row(_run(found, run), _filters(run)) for run in runs)
    columns = (*NAMES, Column("Status", "text"), *numbers)
    if len(runs) == len(found.records.runs):
        return Table("runs", "Runs", columns, rows)
    return Table("newest-runs", "The newest runs", columns, rows)


def failure_tables(found: Findings) -> list[Table]:
    """Tabulate the runs that ended in an error; of very many, the newest."""
    failures = found.records.failures
    newest = sorted(failures, key=lambda each: each.finished_at, reverse=True)[:MOST_FAILURES]
    is_all = len(newest) == len(failures)
    rows = tuple(
        Row((*_names(found, each), Cell(each.error, tone="failed")), _filters(each))
        for each in (failures if is_all else newest)
    )
    columns = (*NAMES, Column("Error", "remark"))
    title = "Failed runs" if is_all else f"Failed runs, the newest of {len(failures):,}"
    return [Table("failures", title, columns, rows)] if failures else []


def curve_tables(found: Findings) -> list[Table]:
    """Tabulate the learning curves, a row per evaluation; of very many runs those of the charts."""
    scores = found.charted.scores.scores.values()
    runs = [run for score in scores for run in score.runs] if found.is_large else found.records.runs
    columns = (*NAMES, *map(Column, ("Step", "Seconds", "Validation")), Column("Metric", "text"))
    rows = tuple(Row((*_names(found, run), *cells)) for run in runs for cells in _points(run))
    return [Table("curves", "Learning curves", columns, rows)] if rows else []


def _names(found: Findings, record: AnyRun) -> tuple[Cell, ...]:
    return (
        Cell(record.id, link=found.href(record)),
        Cell(record.task_name, note=record.variant.replace(",", ", ")),
        Cell(record.mixer),
        Cell(record.preset),
        Cell(str(record.seed), record.seed),
    )


def _filters(record: AnyRun) -> dict[str, str]:
    # the recipe of a summary is made when it is asked for
    card = CARDS.get(record.mixer) or record.recipe.model.card
    return {"preset": record.preset, "task": record.task_name, "family": card.family}


def _run(found: Findings, run: Run) -> tuple[Cell, ...]:
    metrics, minutes = run.metrics, run.total_seconds / 60
    return (
        *_names(found, run),
        Cell(run.status, tone="" if run.status == "finished" else "failed"),
        Cell(f"{metrics.steps:,}", metrics.steps, note=_start(run)),
        _test(run),
        Cell(formatting.digits(metrics.steps_per_second), metrics.steps_per_second),
        Cell(formatting.digits(minutes), minutes),
    )


def _start(run: Run) -> str:
    return f"after {run.start.steps:,} of {run.start.kind}" if run.start else ""


def _test(run: Run) -> Cell:
    test, metric = run.metrics.test, run.metric
    return Cell(metric.write(test.value), metric.scaled(test.value)) if test else MISSING


def run_texts(run: Run) -> tuple[str, ...]:
    """Write what a table shows of a run: names, how it ended, and numbers."""
    metrics = run.metrics
    names = (run.task_name, run.mixer, run.preset, run.status)
    speed, minutes = metrics.steps_per_second, run.total_seconds / 60
    numbers = (f"{metrics.steps:,}", _test(run).text, *map(formatting.digits, (speed, minutes)))
    return *names, *numbers


def _points(run: Run) -> Iterator[tuple[Cell, ...]]:
    curve, metric = run.curve, run.metric
    # a record says what it likes, so the lists may differ in length
    for step, seconds, value in zip(curve.steps, run.curve_seconds, curve.values, strict=False):
        yield (
            Cell(str(step), step),
            Cell(formatting.digits(seconds), seconds),
            Cell(metric.write(value), metric.scaled(value)),
            Cell(formatting.metric_name(metric)),
        )
