"""The scores that a chart can show: those that are numbers, and how high they stand."""

import math

from longarena.findings.scores import Column, Row, Score
from longarena.report.findings import Findings

Found = tuple[Row, Column, Score]


def scored(found: Findings) -> list[Found]:
    """List the scores that are numbers."""
    cells = found.scores.scores.items()
    known = [(row, column, score) for (row, column), score in cells if score.mean is not None]
    return [each for each in known if math.isfinite(height(each[1], each[2]))]


def height(column: Column, score: Score) -> float:
    """Return a score in the unit of its axis."""
    return column.metric.scaled(score.mean or 0.0)
