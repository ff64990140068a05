"""Every run in a table: what was trained, how it ended, what it scored; and what failed to."""

from collections.abc import Iterator

from longarena.records.record import RunRecord
from longarena.report import formatting
from longarena.report.findings import Findings
from longarena.report.links import AnyRun
from longarena.table.table import MISSING, Cell, Column, Row, Table

NAMES = (
    Column("Run", "id"),
    *(Column(title, "text") for title in ("Task", "Mechanism", "Preset")),
    Column("Seed"),
)


def run_tables(found: Findings) -> list[Table]:
    """Tabulate every run that has ended."""
    runs = found.records.runs
    metrics = {run.metric for run in runs}
    test = Column("Test", unit=metrics.pop().unit if len(metrics) == 1 else "")
    numbers = (Column("Steps"), test, Column("Steps/s"), Column("Minutes"))
    rows = tuple(Row(_run(found, run), _filters(run)) for run in runs)
    columns = (*NAMES, Column("Status", "text"), *numbers)
    return [Table("runs", "Runs", columns, rows)] if runs else []


def failure_tables(found: Findings) -> list[Table]:
    """Tabulate every run that ended in an error."""
    failures = found.records.failures
    rows = tuple(
        Row((*_names(found, each), Cell(each.error, tone="failed")), _filters(each))
        for each in failures
    )
    columns = (*NAMES, Column("Error", "remark"))
    return [Table("failures", "Failed runs", columns, rows)] if failures else []


def curve_tables(found: Findings) -> list[Table]:
    """Tabulate the learning curves, a row per evaluation."""
    columns = (*NAMES, *map(Column, ("Step", "Seconds", "Validation")), Column("Metric", "text"))
    rows = tuple(
        Row((*_names(found, run), *cells)) for run in found.records.runs for cells in _points(run)
    )
    return [Table("curves", "Learning curves", columns, rows)] if rows else []


def _names(found: Findings, record: AnyRun) -> tuple[Cell, ...]:
    recipe = record.recipe
    variant = record.variant.replace(",", ", ")
    return (
        Cell(record.id, link=found.href(record)),
        Cell(recipe.task.name, note=variant),
        Cell(recipe.model.mixer),
        Cell(recipe.preset),
        Cell(str(recipe.seed), recipe.seed),
    )


def _filters(record: AnyRun) -> dict[str, str]:
    recipe = record.recipe
    family = recipe.model.card.family
    return {"preset": recipe.preset, "task": recipe.task.name, "family": family}


def _run(found: Findings, run: RunRecord) -> tuple[Cell, ...]:
    metrics, minutes = run.metrics, run.total_seconds / 60
    return (
        *_names(found, run),
        Cell(run.status, tone="" if run.status == "finished" else "failed"),
        Cell(f"{metrics.steps:,}", metrics.steps, note=_pretraining(run)),
        _test(run),
        Cell(formatting.digits(metrics.steps_per_second), metrics.steps_per_second),
        Cell(formatting.digits(minutes), minutes),
    )


def _pretraining(run: RunRecord) -> str:
    return f"after {run.start.steps:,} of pretraining" if run.start else ""


def _test(run: RunRecord) -> Cell:
    test, metric = run.metrics.test, run.metric
    return Cell(metric.write(test.value), metric.scaled(test.value)) if test else MISSING


def _points(run: RunRecord) -> Iterator[tuple[Cell, ...]]:
    curve, metric = run.curve, run.metric
    # a record says what it likes, so the lists may differ in length
    for step, seconds, value in zip(curve.steps, run.curve_seconds, curve.values, strict=False):
        yield (
            Cell(str(step), step),
            Cell(formatting.digits(seconds), seconds),
            Cell(metric.write(value), metric.scaled(value)),
            Cell(formatting.metric_name(metric)),
        )
