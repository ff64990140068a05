"""The records of a session as tables, side by side: ratios, shares of the limit, growth.

Everything here is computed when records are read; none of it is stored.
"""

from collections.abc import Callable, Sequence
from statistics import median

from longarena import attention
from longarena.findings.growth import Growth, Point, counts_exceed, fit_growth, growth
from longarena.findings.timings import spread, uncertainty
from longarena.measure.budget import write_amount
from longarena.measure.candidate import name_mixer
from longarena.measure.counting import Count
from longarena.records.record import (
    Cost,
    CostRecord,
    GenerationRecord,
    Measurement,
    MeasureRecord,
)
from longarena.table.table import EMPTY, MISSING, Cell, Column, Row, Table

BASELINE = "transformer"
ABOVE = "above its claim"

GROWTH_TITLE = "growth with the length (exponents)"

MIXER, VERDICT = Column("mixer", "name"), Column("", "text")
STEP = (
    *(Column("length"), MIXER, Column("steps/s"), Column("spread"), Column("tokens/s")),
    *(Column("speed"), Column("peak", unit="MB"), Column("memory"), Column("resident", unit="MB")),
    Column("of the limit"),
)
GROWTH = (
    *(MIXER, Column("time"), Column("memory"), Column("Mult-Adds of the mixer")),
    *(Column("claimed"), VERDICT),
)
COUNTS = (
    *(Column("length"), MIXER, Column("parameters"), Column("attention"), Column("convolution")),
    *(Column("feed-forward"), Column("head, embedding"), Column("most in", "text")),
    *(Column("training step"), Column("ratio"), Column("activations", unit="MB")),
    *(Column("an example"), VERDICT),
)
GENERATION = (
    *(Column("context"), MIXER, Column("ms/token"), Column("spread"), Column("speed")),
    *(Column("state", unit="kB"), Column("reading", unit="s"), Column("parameters")),
)
COUNT_GROWTH = (
    *(MIXER, Column("Mult-Adds of the mixer"), Column("activations")),
    *(Column("claimed"), VERDICT),
)

Cells = tuple[Cell, ...]


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
        # seconds as if the machine had reached its best rate at every length
        (record.limits.pace if record.limits else 1.0) / found.steps_per_second,
        uncertainty(found.seconds_per_step),
        float(found.peak_live_bytes),
        record.length * record.cost.mixer if record.cost else None,
    )


def label(record: CostRecord) -> str:
    """Name a record's mechanism, with a number if it was measured several times."""
    name = name_mixer(record.model)
    return f"{name} #{record.repeat + 1}" if record.repeat else name


def training_table(records: Sequence[MeasureRecord]) -> Table:
    """Tabulate what a training step takes, a row per record."""
    base = _baselines(records, lambda r: r.metrics)
    rows = [
        _row(record, record.metrics, base.get(record.length), record.training_share)
        for record in records
    ]
    return _table("training", f"training step ({_sizes(records[0])})", STEP, rows)


def prediction_table(records: Sequence[MeasureRecord]) -> Table | None:
    """Tabulate what a prediction takes, a row per record that has it."""
    base = _baselines(records, lambda r: r.inference)
    rows = [
        _row(record, record.inference, base.get(record.length), record.prediction_share)
        for record in records
        if record.inference
    ]
    title = f"prediction ({_sizes(records[0])})"
    return _table("prediction", title, STEP, rows) if rows else None


def generation_table(records: Sequence[GenerationRecord]) -> Table:
    """Tabulate what one more token takes after a context, a row per record."""
    base = {
        record.context: median(record.seconds_per_token)
        for record in records
        if label(record) == BASELINE and record.seconds_per_token
    }
    model, batch = records[0].model, records[0].batch_size
    title = f"generation ({model.depth} layers, width {model.width}, {batch} at a time)"
    rows = [_generation_row(record, base.get(record.context)) for record in records]
    return _table("generation", title, GENERATION, rows)


def _generation_row(record: GenerationRecord, base: float | None) -> Cells:
    head = (_count(record.context), Cell(label(record)))
    if not record.seconds_per_token:
        return *head, Cell(record.status, tone="failed"), *[EMPTY] * (len(GENERATION) - 3)
    seconds, variation = median(record.seconds_per_token), spread(record.seconds_per_token)
    reading = median(record.read_seconds)
    return (
        *head,
        Cell(f"{1000 * seconds:.3g}", 1000 * seconds),
        Cell(f"{variation:.0%}", variation),
        _ratio(base / seconds if base else None),
        Cell(f"{record.state_bytes / 1e3:,.1f}", record.state_bytes / 1e3),
        Cell(f"{reading:.3g}", reading),
        _count(record.parameters),
    )


def growth_table(records: Sequence[MeasureRecord]) -> Table | None:
    """Tabulate the exponents of every mechanism, and which of them exceeds its claim."""
    rows = [
        (
            Cell(mixer),
            Cell(f"{found.time:.2f}", found.time, found.time_error),
            _exponent(found.memory),
            _exponent(found.mult_adds),
            _claim(found.claimed),
            _verdict(found.is_above_claim),
        )
        for mixer, found in growths(records).items()
    ]
    return _table("growth", GROWTH_TITLE, GROWTH, rows) if rows else None


def count_table(counts: Sequence[Count], limit: float | None = None) -> Table:
    """Tabulate the operations of models by kind of layer, a row per count.

    Counts above the limit are marked, if there is one.
    """
    base = {count.length: count.cost for count in counts if count.mixer == BASELINE}
    rows = [(*_count_row(count, base.get(count.length)), _mark(count, limit)) for count in counts]
    return _table("counts", "Mult-Adds per token of a prediction", COUNTS, rows)


def count_growth_table(counts: Sequence[Count]) -> Table | None:
    """Tabulate how the counts of every mechanism grow, where there are two lengths or more."""
    own = {name: [c for c in counts if c.mixer == name] for name in (c.mixer for c in counts)}
    rows = [
        _count_growth_row(mixer, found)
        for mixer, found in own.items()
        if len({count.length for count in found}) > 1
    ]
    return _table("count-growth", GROWTH_TITLE, COUNT_GROWTH, rows) if rows else None


def _table(name: str, title: str, columns: Sequence[Column], rows: Sequence[Cells]) -> Table:
    """Leave out the columns that are empty in every row."""
    kept = [at for at in range(len(columns)) if any(row[at].text for row in rows)]
    return Table(
        name,
        title,
        tuple(columns[at] for at in kept),
        tuple(Row(tuple(row[at] for at in kept)) for row in rows),
    )


def _sizes(record: MeasureRecord) -> str:
    model = record.model
    return f"{model.depth} layers, width {model.width}, batch {record.batch_size}"


def _baselines(
    records: Sequence[MeasureRecord], kind: Callable[[MeasureRecord], Measurement | None]
) -> dict[int, Measurement | None]:
    """Find the Transformer of every length; where there are several, the first."""
    plain = [record for record in records if label(record) == BASELINE]
    return {record.length: kind(record) for record in plain}


def _row(
    record: MeasureRecord,
    found: Measurement | None,
    base: Measurement | None,
    share: float | None,
) -> Cells:
    head = (_count(record.length), Cell(label(record)))
    if found is None:
        return *head, Cell(record.status, tone="failed"), *[EMPTY] * (len(STEP) - 3)
    speed, peak = found.steps_per_second, found.peak_live_bytes
    variation = spread(found.seconds_per_step)
    return (
        *head,
        Cell(f"{speed:.3g}", speed),
        Cell(f"{variation:.0%}", variation),
        _count(found.tokens_per_second),
        _ratio(speed / base.steps_per_second if base else None),
        _megabytes(peak),
        _ratio(peak / base.peak_live_bytes if base else None),
        _megabytes(found.peak_resident_bytes),
        EMPTY if share is None else Cell(f"{share:.0%}", share),
    )


def _count_row(count: Count, base: Cost | None) -> Cells:
    cost = count.cost
    kinds = {
        "attention": cost.attention,
        "convolution": cost.convolution,
        "feed-forward": cost.feed_forward,
        "head, embedding": cost.head_and_embedding,
    }
    return (
        _count(count.length),
        Cell(count.mixer),
        _count(cost.parameters),
        *map(_count, kinds.values()),
        Cell(max(kinds, key=lambda kind: kinds[kind])),
        _count(cost.training_step),
        _ratio(cost.training_step / base.training_step if base else None),
        Cell(f"{cost.activation_bytes / 1e6:,.1f}", cost.activation_bytes / 1e6),
        Cell(write_amount(count.mult_adds), count.mult_adds),
    )


def _mark(count: Count, limit: float | None) -> Cell:
    is_above = limit is not None and count.mult_adds > limit
    return Cell(f"above {write_amount(limit)}", tone="failed") if limit and is_above else EMPTY


def _count_growth_row(mixer: str, counts: Sequence[Count]) -> Cells:
    lengths = [count.length for count in counts]
    mult_adds = growth(lengths, [count.length * count.cost.mixer for count in counts])
    activations = growth(lengths, [float(count.cost.activation_bytes) for count in counts])
    claimed = attention.find(mixer.partition("[")[0]).card.exponent
    verdict = _verdict(counts_exceed(claimed, [mult_adds, activations]))
    return Cell(mixer), _exponent(mult_adds), _exponent(activations), _claim(claimed), verdict


def _count(number: int | float) -> Cell:
    return Cell(f"{number:,.0f}", number)


def _megabytes(count: int) -> Cell:
    return Cell(f"{count / 1e6:,.0f}", count / 1e6)


def _ratio(value: float | None) -> Cell:
    return MISSING if value is None else Cell(f"{value:.2f}x", value)


def _exponent(value: float | None) -> Cell:
    return MISSING if value is None else Cell(f"{value:.2f}", value)


def _claim(value: float | None) -> Cell:
    return MISSING if value is None else Cell(f"{value:.1f}", value)


def _verdict(is_above: bool) -> Cell:
    return Cell(ABOVE, tone="failed") if is_above else EMPTY
