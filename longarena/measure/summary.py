"""What the records of a session say side by side: ratios, shares of the limit, growth.

Everything here is computed from records when it is read; nothing of it is stored.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from longarena import attention
from longarena.measure.candidate import name_mixer
from longarena.measure.cost import growth
from longarena.measure.speed import spread
from longarena.store.record import Measurement, MeasureRecord

BASELINE = "transformer"
# a time has noise and caches in it that a count has not
TIME_TOLERANCE, COUNT_TOLERANCE = 0.2, 0.1

Row = dict[str, str]


@dataclass(frozen=True)
class Growth:
    """The exponents of a mechanism's growth with the length, beside the one that it claims.

    Mult-Adds are those of the mixer alone, time and memory those of the whole step.
    """

    mixer: str
    time: float
    memory: float
    mult_adds: float
    claimed: float

    @property
    def is_above_claim(self) -> bool:
        """Whether anything grows faster than the card says."""
        counts = max(self.memory, self.mult_adds)
        return self.time > self.claimed + TIME_TOLERANCE or counts > self.claimed + COUNT_TOLERANCE


def growths(records: Sequence[MeasureRecord]) -> list[Growth]:
    """Fit the growth of every mechanism that was measured at two lengths or more."""
    names = dict.fromkeys(label(record) for record in records)
    groups = [[r for r in records if label(r) == name and r.metrics] for name in names]
    return [_growth(group) for group in groups if len({r.length for r in group}) > 1]


def _growth(records: Sequence[MeasureRecord]) -> Growth:
    def fit(cost: Callable[[MeasureRecord], float]) -> float:
        return growth([r.length for r in records], [cost(r) for r in records])

    return Growth(
        mixer=label(records[0]),
        time=fit(lambda r: 1 / r.metrics.steps_per_second if r.metrics else 0.0),
        memory=fit(lambda r: r.metrics.peak_live_bytes if r.metrics else 0.0),
        mult_adds=fit(lambda r: r.length * r.cost.mixer if r.cost else 0.0),
        claimed=attention.find(records[0].model.mixer).card.exponent,
    )


def label(record: MeasureRecord) -> str:
    """Name a record's mechanism, and which time it is if it was measured again."""
    name = name_mixer(record.model)
    return f"{name} #{record.repeat + 1}" if record.repeat else name


def rows(
    records: Sequence[MeasureRecord], kind: Callable[[MeasureRecord], Measurement | None]
) -> list[Row]:
    """Write one line per record, with ratios to the Transformer of the same length."""
    base = {
        record.length: kind(record)
        for record in reversed(records)
        if name_mixer(record.model) == BASELINE
    }
    return [_row(record, kind(record), base.get(record.length)) for record in records]


def _row(record: MeasureRecord, found: Measurement | None, base: Measurement | None) -> Row:
    head = {"length": f"{record.length:,}", "mixer": label(record)}
    if found is None:
        return head | {"steps/s": record.status}
    speed = found.steps_per_second / base.steps_per_second if base else None
    memory = found.peak_live_bytes / base.peak_live_bytes if base else None
    return head | {
        "steps/s": f"{found.steps_per_second:.3g}",
        "spread": f"{spread(found.seconds_per_step):.0%}",
        "tokens/s": f"{found.tokens_per_second:,.0f}",
        "speed": "-" if speed is None else f"{speed:.2f}x",
        "peak MB": f"{found.peak_live_bytes / 1e6:,.0f}",
        "memory": "-" if memory is None else f"{memory:.2f}x",
        "resident MB": f"{found.peak_resident_bytes / 1e6:,.0f}",
    }


def share_of_limit(record: MeasureRecord) -> float | None:
    """Return the share of the machine's product rate that the training step reaches."""
    if record.metrics is None or record.cost is None or record.limits is None:
        return None
    flops = 2 * record.cost.training_step * record.metrics.tokens_per_second
    return flops / record.limits.flops_per_second
