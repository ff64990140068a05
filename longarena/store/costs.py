"""The tables of speed and memory: pure functions of measurements, one table per session.

    rows = mechanisms        columns = lengths        ratios to the Transformer at the same length

Times of two machines, or of one machine on two days, say nothing about each other, so a ratio is
only taken inside a session. A mechanism that was measured again in its session has the median of
its speeds; one that did not fit into memory or time is shown with the reason.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import median

from longarena.model.config import ModelConfig
from longarena.runtime import Machine
from longarena.store.changes import write
from longarena.store.record import MeasureRecord
from longarena.store.tables import BASELINE, Row, group, row_order


@dataclass(frozen=True)
class StepCost:
    """What a training step takes; the ratios are to the Transformer of the same session."""

    steps_per_second: float
    peak_bytes: float
    speed_ratio: float | None
    memory_ratio: float | None


@dataclass(frozen=True)
class CostTable:
    """Everything that one session measured with one batch size and one size of model."""

    session: str
    machine: Machine
    model: ModelConfig
    batch_size: int
    finished_at: str
    rows: tuple[Row, ...]
    lengths: tuple[int, ...]
    costs: Mapping[tuple[Row, int], StepCost]
    failures: Mapping[tuple[Row, int], str]


def cost_tables(measurements: Iterable[MeasureRecord]) -> list[CostTable]:
    """Tabulate what was measured, the latest session first."""
    groups = group(measurements, lambda m: (m.session, m.machine, m.batch_size, _sizes(m.model)))
    tables = [_cost_table(records) for records in groups.values()]
    return sorted(tables, key=lambda table: table.finished_at, reverse=True)


def _sizes(model: ModelConfig) -> str:
    return model.model_dump_json(exclude={"mixer", "options"})


def _cost_table(records: list[MeasureRecord]) -> CostTable:
    places = group(records, _place_of)
    last = max(records, key=lambda record: record.finished_at)
    medians = {at: found for at, again in places.items() if (found := _medians(again))}
    failed = {at: again[-1] for at, again in places.items() if at not in medians}
    return CostTable(
        session=last.session,
        machine=last.machine,
        model=last.model,
        batch_size=last.batch_size,
        finished_at=last.finished_at,
        rows=tuple(sorted({row for row, _ in places}, key=row_order)),
        lengths=tuple(sorted({length for _, length in places})),
        costs={
            at: _cost(pair, medians.get((Row(BASELINE), at[1]))) for at, pair in medians.items()
        },
        failures={at: record.reason or record.status for at, record in failed.items()},
    )


def _place_of(record: MeasureRecord) -> tuple[Row, int]:
    return Row(record.model.mixer, write(record.model.options)), record.length


def _medians(records: list[MeasureRecord]) -> tuple[float, float] | None:
    """Return the median speed and memory of repeated measurements, if there are any."""
    found = [record.metrics for record in records if record.metrics]
    if not found:
        return None
    return (
        median(metrics.steps_per_second for metrics in found),
        median(metrics.peak_live_bytes for metrics in found),
    )


def _cost(pair: tuple[float, float], base: tuple[float, float] | None) -> StepCost:
    speed, peak = pair
    return StepCost(
        steps_per_second=speed,
        peak_bytes=peak,
        speed_ratio=speed / base[0] if base else None,
        memory_ratio=peak / base[1] if base else None,
    )
