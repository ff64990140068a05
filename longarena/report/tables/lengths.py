"""Scores of one run at several lengths: a row per length, a column per depth of the answer."""

from collections.abc import Sequence

from longarena.records.lengths import LengthScore
from longarena.table.table import MISSING, Cell, Column, Row, Table
from longarena.tracks.metric import Metric


def length_table(scores: Sequence[LengthScore], metric: Metric) -> Table:
    """Tabulate the scores of a run by length and depth."""
    num_depths = max((len(each.depths) for each in scores), default=0)
    depths = [Column(f"{100 * at // num_depths} %") for at in range(num_depths)]
    return Table(
        name="lengths",
        title=f"{metric.title} by length, and by how deep the answer stands",
        columns=(Column("length"), Column("all"), *depths),
        rows=tuple(_row(each, metric, num_depths) for each in scores),
        note="After the score of all examples its standard error.",
    )


def _row(score: LengthScore, metric: Metric, num_depths: int) -> Row:
    values = [*score.depths, *[None] * (num_depths - len(score.depths))]
    whole = Cell(metric.write(score.value), metric.scaled(score.value), metric.scaled(score.error))
    cells = [
        MISSING if value is None else Cell(metric.write(value), metric.scaled(value))
        for value in values
    ]
    return Row((Cell(f"{score.length:,}", score.length), whole, *cells))
