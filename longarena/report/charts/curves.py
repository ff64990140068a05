"""Learning curves: validation scores over the steps of training or its time, the mean over seeds.

Choice: a column of scores is a panel, which a list at the chart chooses; columns never mix. Over
        time each machine and number of threads has a panel of its own, because seconds of one
        cannot be compared with seconds of another.
Choice: the axis of time is logarithmic: twice as fast is the same distance to the left everywhere,
        and the slowest mechanism leaves room for the others.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from statistics import fmean

from longarena.findings.minutes import by_clock
from longarena.findings.scores import Column, Row, group
from longarena.records.summary import Run
from longarena.report.charts.frame import Frame, Point, Spec, draw_lines
from longarena.report.findings import Findings
from longarena.report.formatting import column_name, metric_name, row_name, scores_name

MAX_CURVE_POINTS = 60


@dataclass(frozen=True)
class CurvePanel:
    """The curves of one column, a group of seeds each; over time they are also of one clock."""

    title: str
    column: Column
    curves: Sequence[tuple[Row, Sequence[Run]]]


@dataclass(frozen=True)
class Stage:
    """Where some seeds stood at a validation: their means."""

    step: int
    seconds: float
    value: float


def draw_curves(found: Findings) -> Spec | None:
    """Draw validation scores over steps."""
    columns = found.scores.columns
    panels = [CurvePanel(column_name(at, columns), at, _curves(found, at)) for at in columns]
    return _draw(found, panels, "training step", lambda stage: stage.step)


def draw_minutes(found: Findings) -> Spec | None:
    """Draw validation scores over the seconds of training."""
    panels = [panel for column in found.scores.columns for panel in _timed(found, column)]
    return _draw(found, panels, "training time", lambda stage: stage.seconds, is_time=True)


def _draw(
    found: Findings,
    panels: Sequence[CurvePanel],
    title: str,
    place: Callable[[Stage], float],
    *,
    is_time: bool = False,
) -> Spec | None:
    points: list[Point] = [
        {"panel": number, "mixer": row_name(row), "x": place(stage), "y": stage.value}
        for number, panel in enumerate(panels)
        for row, runs in panel.curves
        for stage in mean_curve(runs)
        # the time of a run of a few steps is not known
        if math.isfinite(stage.value) and place(stage) > 0
    ]
    if not points:
        return None
    metrics = [panel.column.metric for panel in panels]
    is_mixed = len(set(metrics)) > 1
    names = [
        f"{panel.title}: {metric_name(metric)}" if is_mixed else panel.title
        for panel, metric in zip(panels, metrics, strict=True)
    ]
    y_title = f"validation {scores_name(metrics)}"
    return draw_lines(
        Frame(found.cards, names, title, y_title, is_x_log=is_time, is_x_time=is_time), points
    )


def _curves(found: Findings, column: Column) -> list[tuple[Row, Sequence[Run]]]:
    return [(row, score.runs) for row, score in found.scores.by_column[column].items()]


def _timed(found: Findings, column: Column) -> list[CurvePanel]:
    """Divide a column by the clocks of its runs, and name each."""
    curves = [
        (clock, (row, runs))
        for row, seeds in _curves(found, column)
        for clock, runs in by_clock(seeds).items()
    ]
    name = column_name(column, [column])
    return [
        CurvePanel(f"{name}, {clock}", column, [curve for _, curve in pairs])
        for clock, pairs in sorted(group(curves, lambda pair: pair[0]).items())
    ]


def mean_curve(runs: Iterable[Run]) -> list[Stage]:
    """Average the curves of several seeds where all have a value, thinned for the page."""
    found: dict[int, list[tuple[float, float]]] = {}
    for run in runs:
        # a record says what it likes, so the lists may differ in length
        points = zip_longest(run.curve.steps, run.curve_seconds, run.curve.values)
        for step, seconds, score in points:
            if step is not None and score is not None:
                found.setdefault(step, []).append((seconds or 0.0, run.metric.scaled(score)))
    longest = max(map(len, found.values()), default=0)
    shared = sorted(step for step, each in found.items() if len(each) == longest)
    stride = -(-len(shared) // MAX_CURVE_POINTS) or 1
    kept = reversed(shared[::-1][::stride])  # counted from the end, so that the end is there
    return [Stage(step, *map(fmean, zip(*found[step], strict=True))) for step in kept]
