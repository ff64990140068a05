"""What the picture can show upwards: the averages of the leaderboards, then column after column."""

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean

from longarena.report.names import column_name
from longarena.store.boards import FIVE, Board, boards, own_variant
from longarena.store.costs import CostTable
from longarena.store.tables import AccuracyTable, Column, Row


@dataclass(frozen=True)
class ScorePanel:
    """Mean accuracies of mechanisms that may be compared, and that of the commonest class."""

    title: str
    means: Mapping[Row, float]
    majority: float

    def has_any(self, costs: CostTable, length: int) -> bool:
        """Tell whether one of them was measured at a length."""
        return any((row, length) in costs.costs for row in self.means)


def score_panels(accuracy: AccuracyTable) -> list[ScorePanel]:
    """List the panels, the averages of several tasks in front."""
    averages = [_average(board) for board in boards(accuracy)]
    columns = [_column(accuracy, column) for column in accuracy.columns]
    return [*(panel for panel in averages if panel), *columns]


def _average(board: Board) -> ScorePanel | None:
    """Average over the paper's five tasks, for the mechanisms that did the most of them."""
    found = {line.row: line.five for line in board.comparable if line.five}
    most = max((average.num_tasks for average in found.values()), default=0)
    if most < 2:
        return None
    own = [
        column
        for column in board.columns
        if column.task in FIVE and column.variant == own_variant(column.preset, column.task)
    ]
    return ScorePanel(
        title=f"Average of {most} tasks, {board.preset}, {board.machine}",
        means={row: each.mean for row, each in found.items() if each.num_tasks == most},
        majority=fmean(board.majority(column) for column in own),
    )


def _column(accuracy: AccuracyTable, column: Column) -> ScorePanel:
    scores = {row: score.mean for (row, at), score in accuracy.scores.items() if at == column}
    return ScorePanel(
        title=column_name(column, accuracy.columns),
        means={row: mean for row, mean in scores.items() if mean is not None},
        majority=accuracy.majority(column),
    )
