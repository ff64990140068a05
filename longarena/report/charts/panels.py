"""The vertical axis of the picture: averages of the leaderboards, then one column after another."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from longarena.findings.boards import Board
from longarena.findings.contests import average_contest, tokens_per_example
from longarena.findings.costs import CostTable, nearest
from longarena.findings.scores import Column, Row, Score, ScoreTable
from longarena.report.findings import Findings
from longarena.report.formatting import column_name, tuned
from longarena.tracks.metric import Metric


@dataclass(frozen=True)
class ScorePanel:
    """Mean scores that may be compared, and the score of an answer without a model.

    `lengths` are the tokens of an average example, task by task, where that is known.
    """

    title: str
    means: Mapping[Row, float]
    level: float
    metric: Metric
    lengths: Sequence[int]

    def measured_length(self, costs: CostTable) -> int | None:
        """Return the measured length nearest to the longest task; None if nobody was measured."""
        there = {length for row, length in costs.costs if row in self.means}
        lengths = there.intersection(costs.shared_lengths()) or there
        return nearest(lengths, max(self.lengths, default=1))


def score_panels(found: Findings) -> list[ScorePanel]:
    """List the panels, the averages of several tasks in front."""
    averages = [_average(found, board) for board in found.boards]
    columns = [_column(found.scores, column) for column in found.scores.columns]
    return [*(panel for panel in averages if panel), *columns]


def _average(found: Findings, board: Board) -> ScorePanel | None:
    """Take the suite's first average, of the mechanisms that have the same tasks."""
    contest = average_contest(board, found.pairs)
    if contest is None:
        return None
    setting = [board.preset, board.changes, tuned(board.tuning)]
    return ScorePanel(
        title=", ".join(filter(None, [f"Average of {len(contest.columns)} tasks", *setting])),
        means={entry.row: entry.value for entry in contest.entries},
        level=contest.level,
        metric=contest.metric,
        lengths=contest.lengths,
    )


def _column(scores: ScoreTable, column: Column) -> ScorePanel:
    found = {row: score for (row, at), score in scores.scores.items() if at == column}
    return ScorePanel(
        title=column_name(column, scores.columns),
        means={row: score.mean for row, score in found.items() if score.mean is not None},
        level=scores.level(column),
        metric=column.metric,
        lengths=_lengths(found.values()),
    )


def _lengths(scores: Iterable[Score]) -> list[int]:
    """Return the tokens of an average example of one task, in a list if they are known."""
    lengths = (tokens_per_example(score.runs[0]) for score in scores)
    return [length for length in lengths if length][:1]
