"""Scores over length and depth: whether an answer is found wherever it stands, however far back.

A mechanism is a row of ten stripes, one for each tenth of the sequence in which the answer may
stand, the first at the top; a column is a length. A panel is a column of scores.

Choice: a cell is the mean over seeds, as a colour between nothing and all; pointing at it tells the
        number.
"""

from collections.abc import Sequence
from statistics import fmean

import altair as alt

from longarena.findings.scores import Column, Row, Score
from longarena.records.lengths import length_scores
from longarena.report.charts.frame import CONFIG, Point, Spec
from longarena.report.findings import Findings
from longarena.report.formatting import column_name, metric_name, row_name

STRIPE_HEIGHT, GAP = 4, 10
COLOURS = ["#b4870f", "#f0e6c8", "#0f96b4"]


def draw_depths(found: Findings) -> Spec | None:
    """Draw the scores of the mechanisms that were tested at several lengths."""
    cells = found.scores.scores.items()
    known = [(row, column, score) for (row, column), score in cells if _has_depths(score)]
    columns = list(dict.fromkeys(column for _, column, _ in known))
    points = [
        point
        for row, column, score in known
        for point in _points(columns.index(column), row, column, score)
    ]
    return _spec(points, columns) if points else None


def _has_depths(score: Score) -> bool:
    return any(length_scores(run) for run in score.runs)


def _points(panel: int, row: Row, column: Column, score: Score) -> list[Point]:
    """Average the seeds of a mechanism in every cell that one of them knows."""
    values: dict[tuple[int, int], list[float]] = {}
    for run in score.runs:
        for each in length_scores(run):
            for depth, value in enumerate(each.depths):
                if value is not None:
                    values.setdefault((each.length, depth), []).append(value)
    return [
        {
            "panel": panel,
            "mixer": row_name(row),
            "length": length,
            "depth": depth,
            "value": round(column.metric.scaled(fmean(found)), 2),
            "seeds": len(found),
        }
        for (length, depth), found in sorted(values.items())
    ]


def _spec(points: list[Point], columns: Sequence[Column]) -> Spec:
    metric = columns[0].metric
    mixers = list(dict.fromkeys(str(point["mixer"]) for point in points))
    num_depths = 1 + max(int(point["depth"]) for point in points)
    height = len(mixers) * (num_depths * STRIPE_HEIGHT + GAP)
    colours = alt.Scale(domain=[0, metric.scaled(1.0)], range=COLOURS)
    chart = (
        alt.Chart(alt.NamedData(name="depths"))
        .transform_filter("datum.panel === panel")
        .mark_rect()
        .encode(
            alt.X("length:O", title="sequence length", axis=alt.Axis(labelAngle=0)),
            alt.Y("mixer:N", title=None, sort=mixers, axis=alt.Axis(labelLimit=190)),
            alt.YOffset("depth:O", scale=alt.Scale(paddingInner=0)),
            alt.Color("value:Q", title=f"test {metric_name(metric)}", scale=colours),
            tooltip=[
                alt.Tooltip("mixer:N", title="mechanism"),
                alt.Tooltip("length:Q", format=","),
                alt.Tooltip("depth:Q", title="tenth, from 0"),
                alt.Tooltip("value:Q", title=metric_name(metric)),
                alt.Tooltip("seeds:Q"),
            ],
        )
    )
    names = [column_name(column, columns) for column in columns]
    panel = alt.param(name="panel", value=0)
    if len(names) > 1:
        choice = alt.binding_select(options=list(range(len(names))), labels=names, name="Show ")
        panel = alt.param(name="panel", value=0, bind=choice)
    spec: Spec = chart.add_params(panel).properties(width="container", height=height).to_dict()
    return spec | {"datasets": {"depths": points}, "config": CONFIG}
