"""Speed, memory and their growth as tables: a row per mechanism, a column per length.

There is a set of tables per session, since times of two sessions say nothing about each other; the
latest has the plain names.

Choice: the spread of a speed is half the interquartile range of its turns, and the number in
        brackets the ratio to the Transformer at the same length in the same session.
Choice: no exponent is the best one; between neighbours the noise would decide.
"""

from collections.abc import Callable

from longarena.findings.costs import CostTable, StepCost
from longarena.findings.growth import Growth, growths
from longarena.findings.scores import Row as Mechanism
from longarena.findings.timings import spread
from longarena.report import formatting
from longarena.report.findings import Findings
from longarena.report.tables.mechanism import MECHANISM, mechanism
from longarena.table.table import (
    EMPTY,
    MISSING,
    Better,
    Cell,
    Column,
    Row,
    Table,
    distinct,
    mark_best,
)

SessionTable = Callable[[CostTable], Table | None]


def of_sessions(make: SessionTable) -> Callable[[Findings], list[Table]]:
    """Make a table of every session that has the numbers for it."""

    def tables(found: Findings) -> list[Table]:
        return distinct(table for session in found.costs if (table := make(session)))

    return tables


def speed_table(session: CostTable) -> Table | None:
    """Tabulate training steps per second."""

    def cell(cost: StepCost) -> Cell:
        value = cost.steps_per_second
        deviation = value * spread(cost.turns) / 2 if len(cost.turns) > 1 else None
        return Cell(formatting.digits(value), value, deviation, note=_ratio(cost.speed_ratio))

    return _by_length(session, "speed", "Training steps per second", cell, "more")


def memory_table(session: CostTable) -> Table | None:
    """Tabulate the peak of live tensors."""

    def cell(cost: StepCost) -> Cell:
        note = _ratio(cost.memory_ratio)
        return Cell(formatting.bytes_name(cost.peak_bytes), cost.peak_bytes, note=note)

    return _by_length(session, "memory", "Peak memory of a training step", cell, "less")


def prediction_table(session: CostTable) -> Table | None:
    """Tabulate predictions per second, if they were timed."""

    def cell(cost: StepCost) -> Cell:
        value = cost.predictions_per_second
        if value is None:
            return MISSING
        return Cell(formatting.digits(value), value, note=_ratio(cost.prediction_ratio))

    if not any(cost.predictions_per_second for cost in session.costs.values()):
        return None
    return _by_length(session, "predictions", "Predictions per second", cell, "more")


def limit_table(session: CostTable) -> Table | None:
    """Tabulate the share of the machine's matrix rate that a training step reaches."""

    def cell(cost: StepCost) -> Cell:
        share = cost.limit_share
        return MISSING if share is None else Cell(formatting.percent(share), 100 * share)

    if not any(cost.limit_share for cost in session.costs.values()):
        return None
    title = "Share of the machine's matrix rate that a training step reaches, %,"
    return _by_length(session, "limit", title, cell, "more")


def growth_table(session: CostTable) -> Table | None:
    """Tabulate the exponents of growth with the length."""
    fitted = growths(session)
    if not fitted:
        return None
    first, last = (formatting.length_name(session.lengths[end]) for end in (0, -1))
    return Table(
        name="growth",
        title=f"Exponents of growth with the length, {first} to {last}",
        columns=(
            MECHANISM,
            Column("Time"),
            Column("Memory"),
            Column("Mult-Adds", details=("of the mixer",), short="Mult-Adds of the mixer"),
            Column("Claimed"),
            Column("Verdict", "text"),
        ),
        rows=tuple(_growth_row(row, found) for row, found in fitted.items()),
        note=where(session),
    )


def where(session: CostTable) -> str:
    """Say what was measured, and on what."""
    model, machine = session.model, session.machine
    return (
        f"{model.depth} layers of width {model.width} with {model.num_heads} heads, "
        f"batch {session.batch_size}, on {machine.accelerator or machine.processor}, "
        f"{machine.threads} threads."
    )


def _by_length(
    session: CostTable,
    name: str,
    title: str,
    cell: Callable[[StepCost], Cell],
    better: Better,
) -> Table:
    def cell_at(row: Mechanism, length: int) -> Cell:
        if (row, length) in session.costs:
            return cell(session.costs[row, length])
        reason = session.failures.get((row, length))
        return Cell(reason, tone="failed") if reason else MISSING

    rows = [
        Row((mechanism(row), *(cell_at(row, length) for length in session.lengths)))
        for row in session.rows
    ]
    has_ratios = any(cell.note for row in rows for cell in row.cells[1:])
    lengths = map(formatting.length_name, session.lengths)
    return mark_best(
        Table(
            name=name,
            title=f"{title} by sequence length",
            columns=(MECHANISM, *(Column(length, better=better) for length in lengths)),
            rows=tuple(rows),
            note="In brackets: relative to the Transformer. " * has_ratios + where(session),
        )
    )


def _growth_row(row: Mechanism, found: Growth) -> Row:
    verdict = Cell("above its claim", tone="failed") if found.is_above_claim else EMPTY
    powers = (found.time, found.memory, found.mult_adds, found.claimed)
    return Row((mechanism(row, has_family=False), *map(_exponent, powers), verdict))


def _exponent(value: float | None) -> Cell:
    return MISSING if value is None else Cell(f"{value:.2f}", value)


def _ratio(value: float | None) -> str:
    return "" if value is None else formatting.ratio(value)
