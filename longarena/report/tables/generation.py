"""What generation costs as tables: a row per mechanism, a column per context.

generation   milliseconds per token, with the ratio of speeds to the Transformer
reading      seconds to read the context at once
state        what a row carries to the next token, and how it grows
"""

from collections.abc import Callable

from longarena.findings.generation import GenerationTable, TokenCost
from longarena.findings.scores import Row as Mechanism
from longarena.findings.timings import spread
from longarena.report import formatting
from longarena.report.findings import Findings
from longarena.report.tables.mechanism import MECHANISM, mechanism
from longarena.table.table import MISSING, Cell, Column, Row, Table, distinct, mark_best

SessionTable = Callable[[GenerationTable], Table]


def of_generations(make: SessionTable) -> Callable[[Findings], list[Table]]:
    """Make a table of every session that timed generation."""
    return lambda found: distinct(make(session) for session in found.generations)


def token_table(session: GenerationTable) -> Table:
    """Tabulate milliseconds per token."""

    def cell(cost: TokenCost) -> Cell:
        value = 1000 * cost.seconds_per_token
        deviation = value * spread(cost.turns) / 2 if len(cost.turns) > 1 else None
        note = "" if cost.speed_ratio is None else formatting.ratio(cost.speed_ratio)
        return Cell(formatting.digits(value), value, deviation, note=note)

    exponents = {row: seconds for row, (seconds, _) in session.growths().items()}
    return _by_context(session, "generation", "Milliseconds per token", cell, exponents)


def reading_table(session: GenerationTable) -> Table:
    """Tabulate the time to read the context at once."""

    def cell(cost: TokenCost) -> Cell:
        return Cell(formatting.digits(cost.read_seconds), cost.read_seconds)

    return _by_context(session, "reading", "Seconds to read the context", cell, {})


def state_table(session: GenerationTable) -> Table:
    """Tabulate what a row carries to the next token."""

    def cell(cost: TokenCost) -> Cell:
        return Cell(formatting.bytes_name(cost.state_bytes), cost.state_bytes)

    exponents = {row: state for row, (_, state) in session.growths().items()}
    return _by_context(session, "state", "Bytes carried to the next token", cell, exponents)


def _by_context(
    session: GenerationTable,
    name: str,
    title: str,
    cell: Callable[[TokenCost], Cell],
    exponents: dict[Mechanism, float],
) -> Table:
    def cell_at(row: Mechanism, context: int) -> Cell:
        if (row, context) in session.costs:
            return cell(session.costs[row, context])
        reason = session.failures.get((row, context))
        return Cell(reason, tone="failed") if reason else MISSING

    def grown(row: Mechanism) -> tuple[Cell, ...]:
        if not exponents:
            return ()
        value = exponents.get(row)
        return (MISSING if value is None else Cell(f"{value:.2f}", value),)

    rows = [
        Row((mechanism(row), *(cell_at(row, n) for n in session.contexts), *grown(row)))
        for row in session.rows
    ]
    contexts = map(formatting.length_name, session.contexts)
    has_ratios = any(each.note for row in rows for each in row.cells[1:])
    growth = (Column("Growth", details=("exponent",), short="Growth"),) if exponents else ()
    return mark_best(
        Table(
            name=name,
            title=f"{title} by context",
            columns=(MECHANISM, *(Column(n, better="less") for n in contexts), *growth),
            rows=tuple(rows),
            note="In brackets: speed relative to the Transformer. " * has_ratios + where(session),
        )
    )


def where(session: GenerationTable) -> str:
    """Say what was measured, and on what."""
    model, machine = session.model, session.machine
    return (
        f"{model.depth} layers of width {model.width} with {model.num_heads} heads, "
        f"{session.batch_size} at a time, on {machine.accelerator or machine.processor}, "
        f"{machine.threads} threads."
    )
