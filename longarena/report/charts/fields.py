"""Scores over the receptive field: which range of tokens a task needs.

A line per mechanism whose options bound what a token can know of; a panel has the runs of one task
that differ in these options alone. A mechanism that attends to everything is a level line.
"""

from collections.abc import Sequence

from longarena.findings.receptive_field import receptive_field
from longarena.findings.scores import Row, Score, group
from longarena.report.charts.frame import Frame, Point, Spec, draw_lines
from longarena.report.charts.scored import Found, height, scored
from longarena.report.findings import Findings
from longarena.report.formatting import column_name, scores_name

FULL = "full attention"


def draw_fields(found: Findings) -> Spec | None:
    """Draw scores over the receptive field, where a task has several."""
    by_column = group(scored(found), lambda each: each[1])
    panels = {column: each for column, each in by_column.items() if _has_several(each)}
    points = [
        point
        for number, members in enumerate(panels.values())
        for point in _points(number, members)
    ]
    if not points:
        return None
    columns = list(panels)
    metrics = [column.metric for column in columns]
    cards = {row.card.title: row.card for row in found.scores.rows}
    frame = Frame(
        cards,
        panels=[column_name(column, columns) for column in columns],
        x_title="receptive field, tokens",
        y_title=f"test {scores_name(metrics)}",
        is_x_log=True,
        x_ticks=sorted({int(point["x"]) for point in points}),
        turned=[number for number, metric in enumerate(metrics) if metric.better == "less"],
    )
    return draw_lines(frame, points)


def _has_several(members: Sequence[Found]) -> bool:
    """Tell whether the options of one mechanism bound its field in several ways."""
    known = {(row.mixer, _field(score)) for row, _, score in members if _field(score)}
    return len(known) > len({mixer for mixer, _ in known})


def _points(panel: int, members: Sequence[Found]) -> list[Point]:
    bounded = [(field, *each) for each in members if (field := _field(each[2]))]
    ends = sorted({field for field, *_ in bounded})
    free = [
        (field, *each)
        for each in members
        if each[0].card.family == FULL and not each[0].options
        for field in (ends[0], ends[-1])
    ]
    return [
        _point(panel, field, row, height(column, score))
        for field, row, column, score in sorted([*bounded, *free], key=lambda each: each[0])
    ]


def _point(panel: int, field: int, row: Row, y: float) -> Point:
    return {"panel": panel, "mixer": row.card.title, "x": field, "y": y}


def _field(score: Score) -> int | None:
    return receptive_field(score.runs[-1].recipe.model)
