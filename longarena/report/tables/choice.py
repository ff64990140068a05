"""How the mechanisms of a choice stand: test score, ties, speed and memory beside the yardstick."""

from longarena.findings.verdict import (
    conditions,
    in_order,
    memory_ratio,
    speed_ratio,
    title,
)
from longarena.records.choice import ChoiceRecord, Entrant
from longarena.report.findings import Findings
from longarena.report.formatting import bytes_name, digits, metric_name, ratio, task_word
from longarena.table.table import MISSING, Cell, Column, Row, Table, Words, distinct, slug
from longarena.tracks.metric import Metric


def choice_tables(found: Findings) -> list[Table]:
    """Tabulate every choice, the latest first."""
    latest = sorted(found.records.choices, key=lambda each: each.finished_at, reverse=True)
    return distinct(map(choice_table, latest))


def choice_table(record: ChoiceRecord) -> Table:
    """Tabulate one choice: a row per mechanism, the best first, who was left out last."""
    metric = record.metric
    return Table(
        name=f"choice-{slug(record.task.name)}",
        title=f"Which one for {task_word(record.task.name)}",
        columns=(
            Column("Mechanism", "name"),
            Column("Standing", "text"),
            Column("Test", unit=metric_name(metric), better=metric.better),
            Column("Validation", unit=metric_name(metric)),
            Column("Speed", unit="relative to the Transformer", better="more"),
            Column("Memory", unit="relative to the Transformer", better="less"),
            Column("Rate"),
        ),
        rows=tuple(_row(record, each) for each in in_order(record)),
        note=f"Speed and memory of a training step at {record.length:,} tokens. "
        f"{conditions(record)}.",
    )


def _row(record: ChoiceRecord, each: Entrant) -> Row:
    return Row(
        (
            Cell(title(each), details=((Words(each.card.family),),)),
            _standing(record, each),
            _test(record.metric, each),
            _validation(record, each),
            _speed(record, each),
            _memory(record, each),
            MISSING if each.rate is None else Cell(f"{each.rate:g}", each.rate),
        ),
        {"family": each.card.family},
    )


def _standing(record: ChoiceRecord, each: Entrant) -> Cell:
    """Say what became of an entrant in a word, with the reason."""
    if each.mixer == record.taken:
        return Cell("take this")
    if each.tested:
        return Cell("tied with the best" if each.tested.to_best.is_tie else "worse")
    return Cell(each.fate if each.fate != "final" else "failed", note=each.reason)


def _test(metric: Metric, each: Entrant) -> Cell:
    """Write the test score with its standard error, and how far it is from the best."""
    found = each.tested
    if found is None:
        return MISSING
    low, high = (metric.scaled(bound) for bound in (found.to_best.low, found.to_best.high))
    is_best = low == high == 0
    bounds = f"{low:+.{metric.decimals}f} to {high:+.{metric.decimals}f} beside the best"
    return Cell(
        metric.write(found.value),
        metric.scaled(found.value),
        abs(metric.scaled(found.error)),
        is_best=is_best,
        details=() if is_best else ((Words(bounds),),),
    )


def _validation(record: ChoiceRecord, each: Entrant) -> Cell:
    """Write the last validation, and at which step that was."""
    if not each.scores:
        return MISSING
    score, step = each.scores[-1], record.rungs[len(each.scores) - 1]
    when = f"by step {step:,}"
    if score is None:
        return Cell("diverged", note=when, tone="failed")
    return Cell(record.metric.write(score), record.metric.scaled(score), details=((Words(when),),))


def _speed(record: ChoiceRecord, each: Entrant) -> Cell:
    if each.seconds_per_step is None:
        return MISSING
    found, rate = speed_ratio(record, each), f"{digits(1 / each.seconds_per_step)} steps/s"
    if found is None:
        return Cell(rate)
    return Cell(ratio(found), found, details=((Words(rate),),))


def _memory(record: ChoiceRecord, each: Entrant) -> Cell:
    if each.peak_bytes is None:
        return MISSING
    found, peak = memory_ratio(record, each), bytes_name(each.peak_bytes)
    if found is None:
        return Cell(peak)
    return Cell(ratio(found), found, details=((Words(peak),),))
