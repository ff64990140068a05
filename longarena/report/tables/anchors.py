"""Runs of other recipes on official data beside the published scores: how far one comes with less.

A preset that trains a published model in full has its table in `beside.py`. Whatever else was
trained on the data of a paper stands here, whoever it is and with whatever recipe: mostly a smaller
model and fewer steps. So a published number that is not reached says nothing, and one that is
beaten says that it can be.
"""

from longarena.findings import published
from longarena.findings.scores import Column as ScoreColumn
from longarena.findings.scores import Row as Mechanism
from longarena.findings.scores import Score, row_order
from longarena.report import formatting
from longarena.report.findings import Findings
from longarena.report.tables.beside import MARKS, compared, ours
from longarena.report.tables.mechanism import MECHANISM, mechanism
from longarena.table.table import Cell, Column, Row, Table
from longarena.tracks.metric import ACCURACY

SECONDS = 60
COLUMNS = (
    MECHANISM,
    Column("Task", "text"),
    Column("Here", role="first"),
    Column("Published for it", role="theirs"),
    Column("Best of the arena's paper", role="theirs"),
    Column("Minutes"),
    Column("Recipe", "remark"),
)
Anchor = tuple[Mechanism, ScoreColumn, Score]


def anchor_tables(found: Findings) -> list[Table]:
    """Tabulate every score on a paper's data that no preset for its models has."""
    anchors = [
        (row, column, score)
        for (row, column), score in found.scores.scores.items()
        if _is_official(column) and _is_other_recipe(row, column) and score.values
    ]
    if not anchors:
        return []
    return [
        Table(
            name="anchors",
            title="Other recipes on official data, beside the papers",
            columns=COLUMNS,
            rows=tuple(_row(found, *each) for each in sorted(anchors, key=_order)),
            note=f"Test {ACCURACY.name}, {ACCURACY.unit}. Minutes: of training steps, mean over "
            f"seeds. {MARKS}",
        )
    ]


def _is_official(column: ScoreColumn) -> bool:
    return column.task in published.TASKS and not column.variant and column.metric == ACCURACY


def _is_other_recipe(row: Mechanism, column: ScoreColumn) -> bool:
    return bool(column.preset not in published.PRESETS or column.changes or row.options)


def _order(anchor: Anchor) -> tuple[int, float, tuple[int, str, str]]:
    row, column, score = anchor
    return published.TASKS.index(column.task), -(score.mean or 0.0), row_order(row)


def _row(found: Findings, row: Mechanism, column: ScoreColumn, score: Score) -> Row:
    minutes = sum(run.total_seconds for run in score.runs) / len(score.runs) / SECONDS
    papers = (published.PAPER, published.LATER)
    known = [published.accuracy(paper, row.mixer, column.task) for paper in papers]
    theirs = next((each for each in known if each is not None), None)
    recipe = ", ".join(filter(None, [f"preset {column.preset}", row.options, column.changes]))
    return Row(
        (
            mechanism(row, has_family=False),
            Cell(formatting.task_word(column.task), link=found.href(score.runs[0])),
            ours(score),
            compared(theirs, score),
            compared(published.best_accuracy(published.PAPER, column.task), score),
            Cell(formatting.digits(minutes), minutes),
            Cell(recipe),
        )
    )
