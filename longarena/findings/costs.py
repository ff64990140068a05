"""The tables of speed and memory: pure functions of measurements, one table per session.

    rows = mechanisms        columns = lengths        ratios to the Transformer at the same length

Times of two machines, or of one machine on two days, cannot be compared, so a ratio is only taken
inside a session. A mechanism that was measured several times in a session has the median of its
speeds; one that ran out of memory or time is shown with the reason.

    share of the limit = 2 Mult-Adds of the step / (its time x the machine's rate of products)
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import median

from longarena.findings.changes import write
from longarena.findings.scores import BASELINE, Row, group, row_order
from longarena.model.config import ModelConfig
from longarena.records.record import Cost, Limits, MeasureRecord
from longarena.runtime import Machine


@dataclass(frozen=True)
class StepCost:
    """What a training step takes; the ratios are to the Transformer of the same session.

    `predictions_per_second` counts forward passes alone, where these were timed. `turns` are the
    seconds of a step, turn by turn; `pace` is the share of its best rate that the machine had
    during that time.
    """

    steps_per_second: float
    peak_bytes: float
    speed_ratio: float | None
    memory_ratio: float | None
    predictions_per_second: float | None = None
    prediction_ratio: float | None = None
    limit_share: float | None = None
    count: Cost | None = None
    turns: tuple[float, ...] = ()
    pace: float = 1.0


@dataclass(frozen=True)
class _Medians:
    """The medians of repeated measurements at one place."""

    speed: float
    peak: float
    predictions: float | None
    limit_share: float | None
    count: Cost | None
    turns: tuple[float, ...]
    pace: float


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
    limits: Limits | None = None

    def common_length(self) -> int | None:
        """Return the longest length at which the Transformer was measured, which ratios need."""
        return max((length for row, length in self.costs if row == Row(BASELINE)), default=None)

    def shared_lengths(self) -> list[int]:
        """Return the lengths at which at least half as many were measured as anywhere."""
        counts = Counter(length for _, length in self.costs)
        most = max(counts.values(), default=0)
        return sorted(length for length, count in counts.items() if 2 * count >= most)


def cost_tables(measurements: Iterable[MeasureRecord]) -> list[CostTable]:
    """Tabulate what was measured, the latest session first."""
    groups = group(measurements, lambda m: (m.session, m.machine, m.batch_size, _sizes(m.model)))
    tables = [_cost_table(records) for records in groups.values()]
    return sorted(tables, key=lambda table: table.finished_at, reverse=True)


def widest(tables: Iterable[CostTable]) -> CostTable | None:
    """Return the session with the most mechanisms, then the most lengths; None if there is none.

    Of several alike the first is taken.
    """
    return max((table for table in tables if table.costs), key=_width, default=None)


def _width(table: CostTable) -> tuple[int, int]:
    return len({row for row, _ in table.costs}), len(table.costs)


def nearest(lengths: Iterable[int], wanted: float) -> int | None:
    """Return the length that is nearest to a wanted one, as a ratio; None if there is none.

    >>> nearest([1024, 4096, 16384], 3000), nearest([1024, 4096], 2048), nearest([], 100)
    (4096, 4096, None)
    """
    return min(lengths, key=lambda n: (max(n / wanted, wanted / n), -n), default=None)


def _sizes(model: ModelConfig) -> str:
    return model.model_dump_json(exclude={"mixer", "options", "own"})


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
            at: _cost(each, medians.get((Row(BASELINE), at[1]))) for at, each in medians.items()
        },
        failures={at: record.reason or record.status for at, record in failed.items()},
        limits=next((record.limits for record in records if record.limits), None),
    )


def _place_of(record: MeasureRecord) -> tuple[Row, int]:
    model = record.model
    return Row(model.mixer, write(model.options), own=model.own), record.length


def _medians(records: list[MeasureRecord]) -> _Medians | None:
    """Return the medians of repeated measurements, if there are any."""
    found = [record.metrics for record in records if record.metrics]
    if not found:
        return None
    predictions = [record.inference.steps_per_second for record in records if record.inference]
    shares = [share for record in records if (share := record.training_share) is not None]
    return _Medians(
        speed=median(metrics.steps_per_second for metrics in found),
        peak=median(metrics.peak_live_bytes for metrics in found),
        predictions=median(predictions) if predictions else None,
        limit_share=median(shares) if shares else None,
        count=next((record.cost for record in records if record.cost), None),
        turns=tuple(seconds for metrics in found for seconds in metrics.seconds_per_step),
        pace=median(r.limits.pace if r.limits else 1.0 for r in records if r.metrics),
    )


def _cost(found: _Medians, base: _Medians | None) -> StepCost:
    return StepCost(
        steps_per_second=found.speed,
        peak_bytes=found.peak,
        speed_ratio=found.speed / base.speed if base else None,
        memory_ratio=found.peak / base.peak if base else None,
        predictions_per_second=found.predictions,
        prediction_ratio=found.predictions / base.predictions
        if found.predictions and base and base.predictions
        else None,
        limit_share=found.limit_share,
        count=found.count,
        turns=found.turns,
        pace=found.pace,
    )
