"""What the records of a session say side by side: ratios, shares of the limit, growth.

Everything here is computed from records when it is read; nothing of it is stored.
"""

from collections.abc import Callable, Sequence

from longarena import attention
from longarena.measure.budget import write_amount
from longarena.measure.candidate import name_mixer
from longarena.measure.counting import Count
from longarena.measure.growth import Growth, Point, counts_exceed, fit_growth, growth
from longarena.measure.speed import spread, uncertainty
from longarena.store.record import Cost, Measurement, MeasureRecord

BASELINE = "transformer"
ABOVE = "above its claim"

Row = dict[str, str]


def growths(records: Sequence[MeasureRecord]) -> dict[str, Growth]:
    """Fit the growth of every mechanism that was measured at two lengths or more."""
    points: dict[str, list[Point]] = {}
    claims: dict[str, float] = {}
    for record in records:
        if record.metrics:
            points.setdefault(label(record), []).append(_point(record, record.metrics))
            claims[label(record)] = attention.find(record.model.mixer).card.exponent
    return {
        name: fit_growth(found, claims[name])
        for name, found in points.items()
        if len({point.length for point in found}) > 1
    }


def _point(record: MeasureRecord, found: Measurement) -> Point:
    return Point(
        record.length,
        # had the machine been as fast as its best at every length
        (record.limits.pace if record.limits else 1.0) / found.steps_per_second,
        uncertainty(found.seconds_per_step),
        float(found.peak_live_bytes),
        record.length * record.cost.mixer if record.cost else None,
    )


def label(record: MeasureRecord) -> str:
    """Name a record's mechanism, and which time it is if it was measured again."""
    name = name_mixer(record.model)
    return f"{name} #{record.repeat + 1}" if record.repeat else name


def training_rows(records: Sequence[MeasureRecord]) -> list[Row]:
    """Write what a training step takes, one line per record."""
    base = _baselines(records, lambda r: r.metrics)
    return [
        _row(record, record.metrics, base.get(record.length)) | _share(record.training_share)
        for record in records
    ]


def prediction_rows(records: Sequence[MeasureRecord]) -> list[Row]:
    """Write what a prediction takes, one line per record that has it."""
    base = _baselines(records, lambda r: r.inference)
    return [
        _row(record, record.inference, base.get(record.length)) | _share(record.prediction_share)
        for record in records
        if record.inference
    ]


def growth_rows(records: Sequence[MeasureRecord]) -> list[Row]:
    """Write the exponents of every mechanism, and which of them exceeds its claim."""
    return [
        {
            "mixer": mixer,
            "time": f"{found.time:.2f} ± {found.time_error:.2f}",
            "memory": f"{found.memory:.2f}",
            "Mult-Adds of the mixer": "-" if found.mult_adds is None else f"{found.mult_adds:.2f}",
            "claimed": f"{found.claimed:.1f}",
            "": ABOVE if found.is_above_claim else "",
        }
        for mixer, found in growths(records).items()
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
    return {
        "mixer": mixer,
        "Mult-Adds of the mixer": f"{mult_adds:.2f}",
        "activations": f"{activations:.2f}",
        "claimed": f"{claimed:.1f}",
        "": ABOVE if counts_exceed(claimed, [mult_adds, activations]) else "",
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


def _share(share: float | None) -> Row:
    return {} if share is None else {"of the limit": f"{share:.0%}"}
