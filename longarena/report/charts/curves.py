"""Learning curves: validation scores over the steps of training, the mean over seeds.

Choice: a column of scores is a panel, which a list at the chart chooses; columns never mix.
"""

import math
from collections.abc import Iterable
from statistics import fmean

from longarena.records.record import RunRecord
from longarena.report.charts.frame import Frame, Point, Spec, draw_lines
from longarena.report.findings import Findings
from longarena.report.formatting import column_name, metric_name, row_name, scores_name

MAX_CURVE_POINTS = 60


def draw_curves(found: Findings) -> Spec | None:
    """Draw a curve per mechanism, a panel per column."""
    columns = found.scores.columns
    points: list[Point] = [
        {"panel": columns.index(column), "mixer": row_name(row), "x": step, "y": value}
        for (row, column), score in found.scores.scores.items()
        for step, value in mean_curve(score.runs)
        if math.isfinite(value)
    ]
    if not points:
        return None
    metrics = [column.metric for column in columns]
    is_mixed = len(set(metrics)) > 1
    names = [column_name(column, columns) for column in columns]
    if is_mixed:
        names = [
            f"{name}: {metric_name(metric)}" for name, metric in zip(names, metrics, strict=True)
        ]
    frame = Frame(found.family_of, names, "training step", f"validation {scores_name(metrics)}")
    return draw_lines(frame, points)


def mean_curve(runs: Iterable[RunRecord]) -> list[tuple[int, float]]:
    """Average the curves of several seeds where all have a value, thinned for the page."""
    values: dict[int, list[float]] = {}
    for run in runs:
        # a record says what it likes, so the lists may differ in length
        for step, score in zip(run.curve.steps, run.curve.values, strict=False):
            values.setdefault(step, []).append(run.metric.scaled(score))
    longest = max(map(len, values.values()), default=0)
    shared = sorted(step for step, found in values.items() if len(found) == longest)
    stride = -(-len(shared) // MAX_CURVE_POINTS) or 1
    kept = reversed(shared[::-1][::stride])  # counted from the end, so that the end is there
    return [(step, fmean(values[step])) for step in kept]
