"""What the records of a session say side by side: ratios, shares of the limit, growth.

Everything here is computed from records when it is read; nothing of it is stored.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from longarena import attention
from longarena.measure.budget import write_amount
from longarena.measure.candidate import name_mixer
from longarena.measure.cost import growth, growth_error
from longarena.measure.counting import Count
from longarena.measure.speed import spread, uncertainty
from longarena.store.record import Cost, Measurement, MeasureRecord

BASELINE = "transformer"
# a time has noise and caches in it that a count has not
TIME_TOLERANCE, COUNT_TOLERANCE = 0.2, 0.1
ABOVE = "above its claim"

Row = dict[str, str]


@dataclass(frozen=True)
class Growth:
    """The exponents of a mechanism's growth with the length, beside the one that it claims.

    Mult-Adds are those of the mixer alone, time and memory those of the whole step. A time counts
    as above the claim when noise alone (two standard errors) does not explain it.
    """

    mixer: str
    time: float
    memory: float
    mult_adds: float
    claimed: float
    time_error: float = 0.0

    @property
    def is_above_claim(self) -> bool:
        """Whether anything grows faster than the card says."""
        counts = max(self.memory, self.mult_adds)
        time = self.time - 2 * self.time_error
        return time > self.claimed + TIME_TOLERANCE or counts > self.claimed + COUNT_TOLERANCE


def growths(records: Sequence[MeasureRecord]) -> list[Growth]:
    """Fit the growth of every mechanism that was measured at two lengths or more."""
    names = dict.fromkeys(label(record) for record in records)
    groups = [[r for r in records if label(r) == name and r.metrics] for name in names]
    return [_growth(group) for group in groups if len({r.length for r in group}) > 1]


def _growth(records: Sequence[MeasureRecord]) -> Growth:
    def fit(cost: Callable[[MeasureRecord], float]) -> float:
        return growth([r.length for r in records], [float(cost(r)) for r in records])

    return Growth(
        mixer=label(records[0]),
        time=fit(_steady_seconds),
        time_error=growth_error(
            [r.length for r in records],
            [uncertainty(r.metrics.seconds_per_step) if r.metrics else 0.0 for r in records],
        ),
        memory=fit(lambda r: r.metrics.peak_live_bytes if r.metrics else 0.0),
        mult_adds=fit(lambda r: r.length * r.cost.mixer if r.cost else 0.0),
        claimed=attention.find(records[0].model.mixer).card.exponent,
    )


def _steady_seconds(record: MeasureRecord) -> float:
    """Return the seconds of a step, had the machine been as fast as its best while it was timed."""
    if record.metrics is None:
        return 0.0
    limits = record.limits
    typical = limits.typical_flops_per_second if limits else None
    share = typical / limits.flops_per_second if limits and typical else 1.0
    return share / record.metrics.steps_per_second


def label(record: MeasureRecord) -> str:
    """Name a record's mechanism, and which time it is if it was measured again."""
    name = name_mixer(record.model)
    return f"{name} #{record.repeat + 1}" if record.repeat else name


def training_rows(records: Sequence[MeasureRecord]) -> list[Row]:
    """Write what a training step takes, one line per record."""
    base = _baselines(records, lambda r: r.metrics)
    return [
        _row(record, record.metrics, base.get(record.length))
        | _share(record, record.metrics, record.cost.training_step if record.cost else 0.0)
        for record in records
    ]


def prediction_rows(records: Sequence[MeasureRecord]) -> list[Row]:
    """Write what a prediction takes, one line per record that has it."""
    base = _baselines(records, lambda r: r.inference)
    return [
        _row(record, record.inference, base.get(record.length))
        | _share(record, record.inference, record.cost.forward if record.cost else 0.0)
        for record in records
        if record.inference
    ]


def growth_rows(records: Sequence[MeasureRecord]) -> list[Row]:
    """Write the exponents of every mechanism, and which of them exceeds its claim."""
    return [
        {
            "mixer": found.mixer,
            "time": f"{found.time:.2f} ± {found.time_error:.2f}",
            "memory": f"{found.memory:.2f}",
            "Mult-Adds of the mixer": f"{found.mult_adds:.2f}",
            "claimed": f"{found.claimed:.1f}",
            "": ABOVE if found.is_above_claim else "",
        }
        for found in growths(records)
    ]


def count_rows(counts: Sequence[Count], limit: float | None = None) -> list[Row]:
    """Write the operations of models by kind of layer, one line per count.

    Those above the limit are marked, if there is one.
    """
    base = {count.length: count.cost for count in counts if count.mixer == BASELINE}
    return [_count_row(count, base.get(count.length)) | _mark(count, limit) for count in counts]


def _count_row(count: Count, base: Cost | None) -> Row:
    cost = count.cost
    kinds = {
        "attention": cost.attention,
        "convolution": cost.convolution,
        "feed-forward": cost.feed_forward,
        "head, embedding": cost.head_and_embedding,
    }
    return {
        "length": f"{count.length:,}",
        "mixer": count.mixer,
        "parameters": f"{cost.parameters:,}",
        **{kind: f"{mult_adds:,.0f}" for kind, mult_adds in kinds.items()},
        "most in": max(kinds, key=lambda kind: kinds[kind]),
        "training step": f"{cost.training_step:,.0f}",
        "ratio": f"{cost.training_step / base.training_step:.2f}" if base else "-",
        "activations MB": f"{cost.activation_bytes / 1e6:,.1f}",
        "an example": write_amount(count.mult_adds),
    }


def _mark(count: Count, limit: float | None) -> Row:
    is_above = limit is not None and count.mult_adds > limit
    return {} if limit is None else {"": f"above {write_amount(limit)}" if is_above else ""}


def count_growth_rows(counts: Sequence[Count]) -> list[Row]:
    """Write how the counts of every mechanism grow, where there are two lengths or more."""
    rows = []
    for mixer in dict.fromkeys(count.mixer for count in counts):
        own = [count for count in counts if count.mixer == mixer]
        if len({count.length for count in own}) > 1:
            rows.append(_count_growth_row(mixer, own))
    return rows


def _count_growth_row(mixer: str, counts: Sequence[Count]) -> Row:
    lengths = [count.length for count in counts]
    mult_adds = growth(lengths, [count.length * count.cost.mixer for count in counts])
    activations = growth(lengths, [float(count.cost.activation_bytes) for count in counts])
    claimed = attention.find(mixer.partition("[")[0]).card.exponent
    is_above = max(mult_adds, activations) > claimed + COUNT_TOLERANCE
    return {
        "mixer": mixer,
        "Mult-Adds of the mixer": f"{mult_adds:.2f}",
        "activations": f"{activations:.2f}",
        "claimed": f"{claimed:.1f}",
        "": ABOVE if is_above else "",
    }


def _baselines(
    records: Sequence[MeasureRecord], kind: Callable[[MeasureRecord], Measurement | None]
) -> dict[int, Measurement | None]:
    """Find the Transformer of every length; where there are several, the first."""
    plain = [record for record in records if label(record) == BASELINE]
    return {record.length: kind(record) for record in plain}


def _row(record: MeasureRecord, found: Measurement | None, base: Measurement | None) -> Row:
    head = {"length": f"{record.length:,}", "mixer": label(record)}
    if found is None:
        return head | {"steps/s": record.status}
    return head | {
        "steps/s": f"{found.steps_per_second:.3g}",
        "spread": f"{spread(found.seconds_per_step):.0%}",
        "tokens/s": f"{found.tokens_per_second:,.0f}",
        "speed": f"{found.steps_per_second / base.steps_per_second:.2f}x" if base else "-",
        "peak MB": f"{found.peak_live_bytes / 1e6:,.0f}",
        "memory": f"{found.peak_live_bytes / base.peak_live_bytes:.2f}x" if base else "-",
        "resident MB": f"{found.peak_resident_bytes / 1e6:,.0f}",
    }


def _share(record: MeasureRecord, found: Measurement | None, mult_adds_per_token: float) -> Row:
    """Say which share of the machine's rate of matrix products a step reaches."""
    if found is None or record.limits is None:
        return {}
    flops_per_second = 2 * mult_adds_per_token * found.tokens_per_second
    return {"of the limit": f"{flops_per_second / record.limits.flops_per_second:.0%}"}
