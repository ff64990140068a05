"""What generation costs: pure functions of its records, one table per session.

    rows = mechanisms        columns = contexts        ratios to the Transformer at the same context

As with training steps, times are compared inside a session only.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from statistics import median

from longarena.findings.changes import write
from longarena.findings.growth import growth
from longarena.findings.scores import BASELINE, Row, group, row_order
from longarena.model.config import ModelConfig
from longarena.records.record import GenerationRecord
from longarena.runtime import Machine


@dataclass(frozen=True)
class TokenCost:
    """What one more token takes after a context, and what it took to read the context."""

    seconds_per_token: float
    read_seconds: float
    state_bytes: int
    turns: tuple[float, ...]
    speed_ratio: float | None = None


@dataclass(frozen=True)
class GenerationTable:
    """Everything about generation that one session measured with one size of model."""

    session: str
    machine: Machine
    model: ModelConfig
    batch_size: int
    finished_at: str
    rows: tuple[Row, ...]
    contexts: tuple[int, ...]
    costs: Mapping[tuple[Row, int], TokenCost]
    failures: Mapping[tuple[Row, int], str]

    def growths(self) -> dict[Row, tuple[float, float]]:
        """Fit how the time and the state of each mechanism grow with the context: exponents.

        There is no exponent where there are fewer than two contexts.
        """
        found: dict[Row, tuple[float, float]] = {}
        for row in self.rows:
            at = {n: self.costs[row, n] for n in self.contexts if (row, n) in self.costs}
            if len(at) > 1:
                contexts = list(at)
                seconds = growth(contexts, [cost.seconds_per_token for cost in at.values()])
                state = growth(contexts, [float(cost.state_bytes) for cost in at.values()])
                found[row] = seconds, state
        return found


def generation_tables(records: Iterable[GenerationRecord]) -> list[GenerationTable]:
    """Tabulate what was measured, the latest session first."""
    groups = group(records, lambda r: (r.session, r.machine, r.batch_size, _sizes(r.model)))
    tables = [_table(found) for found in groups.values()]
    return sorted(tables, key=lambda table: table.finished_at, reverse=True)


def _sizes(model: ModelConfig) -> str:
    return model.model_dump_json(exclude={"mixer", "options", "own"})


def _table(records: list[GenerationRecord]) -> GenerationTable:
    places = group(records, _place_of)
    last = max(records, key=lambda record: record.finished_at)
    plain = {at: found for at, again in places.items() if (found := _medians(again))}
    failed = {at: again[-1] for at, again in places.items() if at not in plain}
    return GenerationTable(
        session=last.session,
        machine=last.machine,
        model=last.model,
        batch_size=last.batch_size,
        finished_at=last.finished_at,
        rows=tuple(sorted({row for row, _ in places}, key=row_order)),
        contexts=tuple(sorted({context for _, context in places})),
        costs={
            at: _with_ratio(cost, plain.get((Row(BASELINE), at[1]))) for at, cost in plain.items()
        },
        failures={at: record.reason or record.status for at, record in failed.items()},
    )


def _place_of(record: GenerationRecord) -> tuple[Row, int]:
    model = record.model
    return Row(model.mixer, write(model.options), own=model.own), record.context


def _medians(records: list[GenerationRecord]) -> TokenCost | None:
    """Return the medians of repeated measurements, if there are any."""
    found = [record for record in records if record.seconds_per_token and record.read_seconds]
    if not found:
        return None
    return TokenCost(
        seconds_per_token=median(median(record.seconds_per_token) for record in found),
        read_seconds=median(median(record.read_seconds) for record in found),
        state_bytes=found[-1].state_bytes,
        turns=tuple(seconds for record in found for seconds in record.seconds_per_token),
    )


def _with_ratio(cost: TokenCost, base: TokenCost | None) -> TokenCost:
    ratio = base.seconds_per_token / cost.seconds_per_token if base else None
    return replace(cost, speed_ratio=ratio)
