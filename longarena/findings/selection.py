"""Which of very many results are shown: a page of 100,000 of them would not open.

Of every mechanism on the same data under the same preset come first what it did under the preset as
it is, then its other results, the best on validation first. As many ranks are shown as there is
room for; who was run last comes first in the last of them.

Choice: by validation, not by test: the best of many test scores flatters, and the reader would have
        to know of how many.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from statistics import fmean

from longarena.findings.scores import Column, Row, Score, ScoreTable
from longarena.tracks.metric import Metric

MOST_RESULTS = 1000
MOST_OF_ONE = 10
# a result in a chart is a curve of up to 60 points
MOST_CHARTED = 500

Place = tuple[Row, Column]


def select(table: ScoreTable, most: int = MOST_RESULTS) -> ScoreTable:
    """Keep the results that there is room for, and the rows and columns that have any."""
    if len(table.scores) <= most:
        return table
    groups = defaultdict[object, list[Place]](list)
    for row, column in table.scores:
        groups[row.mixer, row.source, replace(column, changes="")].append((row, column))
    ranked: list[tuple[int, str, Place]] = []
    for places in groups.values():
        ordered = sorted(places, key=lambda at: _order(at, table.scores[at]))
        for rank, at in enumerate(ordered[:MOST_OF_ONE]):
            ranked.append((rank, _latest(table.scores[at]), at))
    ranked.sort(key=lambda each: each[1], reverse=True)
    ranked.sort(key=lambda each: each[0])
    chosen = {at for _, _, at in ranked[:most]}
    return _part(table, {at: score for at, score in table.scores.items() if at in chosen})


def charted(table: ScoreTable) -> ScoreTable:
    """Keep the results that charts have room for: of very many, those without changes."""
    if len(table.scores) <= MOST_RESULTS:
        return table
    plain = {at: score for at, score in table.scores.items() if not at[1].changes}
    return select(_part(table, plain) if plain else table, MOST_CHARTED)


def _part(table: ScoreTable, scores: Mapping[Place, Score]) -> ScoreTable:
    """Keep the rows and columns that have any of some scores."""
    rows, columns = {row for row, _ in scores}, {column for _, column in scores}
    return ScoreTable(
        rows=tuple(row for row in table.rows if row in rows),
        columns=tuple(column for column in table.columns if column in columns),
        scores=scores,
    )


def _order(at: Place, score: Score) -> tuple[bool, float]:
    """Put results without changes first, then the best on validation."""
    row, column = at
    values = [run.metrics.valid.value for run in score.runs if run.metrics.valid]
    return bool(column.changes or row.options), _badness(values, score.metric)


def _badness(values: list[float], metric: Metric) -> float:
    if not values:
        return float("inf")
    return -fmean(values) if metric.better == "more" else fmean(values)


def _latest(score: Score) -> str:
    return max(run.finished_at for run in score.runs)
