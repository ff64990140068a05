"""Speed, memory and their growth as tables: a row per mechanism, a column per length.

There is a set of tables per session, since times of two sessions say nothing about each other; the
latest has the plain names.

Choice: the spread of a speed is half the interquartile range of its turns, and the number in
        brackets the ratio to the Transformer at the same length in the same session.
Choice: no exponent is the best one; between neighbours the noise would decide.
"""

from collections.abc import Callable, Iterable

from longarena.measure.growth import Growth
from longarena.measure.speed import spread
from longarena.report import names
from longarena.report.growth import growths
from longarena.report.table import EMPTY, MISSING, Cell, Table, distinct, mark_columns
from longarena.store.changes import write
from longarena.store.costs import CostTable, StepCost, cost_tables
from longarena.store.folder import Records
from longarena.store.record import MeasureRecord
from longarena.store.tables import Row, group

Place = tuple[str, Row, int]


def sessions(records: Records) -> list[CostTable]:
    """Return the sessions in which something was measured, the latest first."""
    return [table for table in cost_tables(records.measurements) if table.costs]


def speed_tables(records: Records) -> list[Table]:
    """Tabulate training steps per second."""
    spreads = _spreads(records.measurements)

    def cells(table: CostTable) -> Callable[[Row, int, StepCost], Cell]:
        def cell(row: Row, length: int, cost: StepCost) -> Cell:
            value = cost.steps_per_second
            share = spreads.get((table.session, row, length))
            deviation = None if share is None else value * share / 2
            return Cell(names.digits(value), value, deviation, note=_ratio(cost.speed_ratio))

        return cell

    found = sessions(records)
    return distinct(
        _by_length(each, "speed", "Training steps per second", cells(each), max) for each in found
    )


def memory_tables(records: Records) -> list[Table]:
    """Tabulate the peak of live tensors in bytes."""

    def cell(row: Row, length: int, cost: StepCost) -> Cell:
        note = _ratio(cost.memory_ratio)
        return Cell(names.bytes_name(cost.peak_bytes), cost.peak_bytes, note=note)

    title = "Peak memory of a training step"
    return distinct(_by_length(each, "memory", title, cell, min) for each in sessions(records))


def limit_tables(records: Records) -> list[Table]:
    """Tabulate the share of the machine's matrix rate that a training step reaches."""

    def cell(row: Row, length: int, cost: StepCost) -> Cell:
        share = cost.limit_share
        return MISSING if share is None else Cell(names.percent(share), 100 * share)

    title = "Operations of a training step as a percentage of the machine's matrix rate"
    found = [each for each in sessions(records) if each.limits]
    return distinct(_by_length(each, "limit", title, cell, max) for each in found)


def growth_tables(records: Records) -> list[Table]:
    """Tabulate the exponents of growth with the length."""
    found = [(table, growths(table)) for table in sessions(records)]
    return distinct(_growth(table, fitted) for table, fitted in found if fitted)


def where(table: CostTable) -> str:
    """Say what was measured, and on what."""
    model, machine = table.model, table.machine
    return (
        f"{model.depth} layers of width {model.width} with {model.num_heads} heads, "
        f"batch {table.batch_size}, on {machine.accelerator or machine.processor}, "
        f"{machine.threads} threads."
    )


def _spreads(measurements: Iterable[MeasureRecord]) -> dict[Place, float]:
    """Return the spread at every place that had several turns, as a share of their median."""
    places = group(
        (record for record in measurements if record.metrics),
        lambda r: (r.session, Row(r.model.mixer, write(r.model.options)), r.length),
    )
    seconds = {
        place: [s for record in found if record.metrics for s in record.metrics.seconds_per_step]
        for place, found in places.items()
    }
    return {place: spread(found) for place, found in seconds.items() if len(found) > 1}


def _by_length(
    table: CostTable,
    name: str,
    title: str,
    cell: Callable[[Row, int, StepCost], Cell],
    best: Callable[[Iterable[float]], float],
) -> Table:
    rows = [
        (
            Cell(names.row_name(row)),
            *(
                cell(row, length, table.costs[row, length])
                if (row, length) in table.costs
                else Cell(table.failures.get((row, length), MISSING.text))
                for length in table.lengths
            ),
        )
        for row in table.rows
    ]
    has_ratios = any(cell.note for row in rows for cell in row)
    return Table(
        name=name,
        title=f"{title} by sequence length",
        columns=("Mechanism", *map(names.length_name, table.lengths)),
        rows=mark_columns(rows, range(1, 1 + len(table.lengths)), best),
        note="In brackets: relative to the Transformer. " * has_ratios + where(table),
    )


def _growth(table: CostTable, fitted: dict[Row, Growth]) -> Table:
    rows = [
        (
            Cell(names.row_name(row)),
            _exponent(found.time),
            _exponent(found.memory),
            _exponent(found.mult_adds),
            _exponent(found.claimed),
            Cell("above its claim") if found.is_above_claim else EMPTY,
        )
        for row, found in fitted.items()
    ]
    lengths = [names.length_name(length) for length in table.lengths]
    return Table(
        name="growth",
        title=f"Exponents of growth with the length, {lengths[0]} to {lengths[-1]}",
        columns=("Mechanism", "Time", "Memory", "Mult-Adds of the mixer", "Claimed", "Verdict"),
        rows=tuple(rows),
        note=where(table),
    )


def _exponent(value: float | None) -> Cell:
    return MISSING if value is None else Cell(f"{value:.2f}", value)


def _ratio(value: float | None) -> str:
    return "" if value is None else names.ratio(value)
