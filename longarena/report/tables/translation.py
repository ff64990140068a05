"""BLEU beside what a sentence costs: a table per comparison, a row per mechanism and size."""

from statistics import fmean, stdev

from longarena.findings.translation import TOTAL, Setting, Translator, translators
from longarena.report.findings import Findings
from longarena.report.formatting import setting_title, short
from longarena.report.tables.mechanism import MECHANISM, mechanism
from longarena.table.table import MISSING, Cell, Column, Row, Table, distinct, slug

# as a record names the kinds of layers
KINDS = ("attention", "convolution", "feed-forward", "cross attention")
COLUMNS = (
    MECHANISM,
    Column("Width"),
    Column("Rate"),
    Column("Parameters"),
    Column("BLEU", better="more"),
    Column("chrF", better="more"),
    Column("Seeds"),
    Column("Mult-Adds", better="less"),
    *(Column(kind.capitalize()) for kind in KINDS),
)


def translation_tables(found: Findings) -> list[Table]:
    """Tabulate models that differ in nothing but mechanism and size."""
    return distinct(translation_table(*each) for each in translators(found.scores).items())


def translation_table(common: Setting, models: list[Translator]) -> Table:
    """Tabulate the models of one comparison."""
    errors = [run.metrics.test.error for model in models for run in model.runs if run.metrics.test]
    return Table(
        name=f"translation-{slug(common.preset)}-{slug(common.task)}",
        title=f"{setting_title(common)}: BLEU and what a sentence costs",
        columns=COLUMNS,
        rows=tuple(map(_row, models)),
        note="Mult-Adds: of a sentence of 30 tokens and its translation of 30, without embedding "
        "and output map; then by kind of layer. BLEU: of the test split, mean and standard "
        "deviation over seeds; the test sentences alone give one model a standard error of up to "
        f"{max(errors):.1f}.",
    )


def _row(model: Translator) -> Row:
    counts = [_count(model.mult_adds.get(kind)) for kind in (TOTAL, *KINDS)]
    cells = (
        mechanism(model.row, has_family=False),
        Cell(str(model.width), model.width),
        Cell(f"{model.rate:g}", model.rate),
        _count(model.runs[0].metrics.parameters),
        _number(model.values),
        _number([each for run in model.runs if (each := _chrf(run.metrics.details.get("chrF")))]),
        Cell(str(len(model.runs)), len(model.runs)),
        *counts,
    )
    return Row(cells, {"family": model.row.card.family})


def _count(count: int | None) -> Cell:
    return MISSING if count is None else Cell(short(count), count)


def _number(values: list[float]) -> Cell:
    if not values:
        return MISSING
    spread = stdev(values) if len(values) > 1 else None
    return Cell(f"{fmean(values):.1f}", fmean(values), spread)


def _chrf(detail: object) -> float | None:
    return detail if isinstance(detail, float) else None
