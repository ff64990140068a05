"""The picture: scores against speed, the area of a dot is memory, every mechanism named.

Choice: a list at the chart chooses what goes upwards (a panel): the averages over tasks first, as
        in the paper, then column after column.
Choice: speed is that at the measured length nearest to the longest task of the panel, so that it
        belongs to the scores; the axis names both lengths.
Choice: the level of an answer without a model is drawn where it is near the dots.
Choice: up is better. Where less is better, the axis is turned around.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

from longarena.findings.costs import CostTable
from longarena.report.charts.frame import MEBI, Frame, Point, Spec, draw_dots
from longarena.report.charts.panels import ScorePanel, score_panels
from longarena.report.findings import Findings
from longarena.report.formatting import (
    length_name,
    metric_name,
    range_name,
    row_name,
    scores_name,
)

SPEED = "training steps per second"


def draw_picture(found: Findings) -> Spec | None:
    """Draw the mechanisms that have both a score and a speed."""
    costs = found.widest
    if costs is None:
        return None
    known = [(panel, panel.measured_length(costs)) for panel in score_panels(found)]
    panels = [(panel, length) for panel, length in known if length is not None]
    points = [
        point
        for number, (panel, length) in enumerate(panels)
        for point in _dots(number, panel, costs, length)
    ]
    if not points:
        return None
    levels: list[Point] = [
        {"panel": number, "y": level}
        for number, (panel, _) in enumerate(panels)
        if math.isfinite(level := panel.metric.scaled(panel.level))
        if _is_near(level, [float(each["y"]) for each in points if each["panel"] == number])
    ]
    frame = _frame(found, [panel for panel, _ in panels])
    titles = [_speed_title(panel, costs, length) for panel, length in panels]
    return draw_dots(replace(frame, x_titles=titles), points, levels)


def _is_near(level: float, heights: Sequence[float]) -> bool:
    """Tell whether a level is no further from the dots than they are from each other.

    A distant one would press them into a corner.
    """
    low, high = min(heights, default=level), max(heights, default=level)
    return low - (high - low) <= level <= high + (high - low)


def _speed_title(panel: ScorePanel, costs: CostTable, length: int) -> str:
    """Name the axis of speed, with the length that it was measured at and that of the scores."""
    scores = f"; scores at {range_name(panel.lengths)} tokens" if panel.lengths else ""
    return f"{SPEED} at {length_name(length)}, batch {costs.batch_size}{scores}"


def _dots(number: int, panel: ScorePanel, costs: CostTable, length: int) -> list[Point]:
    return [
        {
            "panel": number,
            "mixer": row_name(row),
            "x": costs.costs[row, length].steps_per_second,
            "y": panel.metric.scaled(mean),
            "area": costs.costs[row, length].peak_bytes / MEBI,
        }
        for row, mean in panel.means.items()
        if (row, length) in costs.costs and math.isfinite(panel.metric.scaled(mean))
    ]


def _frame(found: Findings, panels: list[ScorePanel]) -> Frame:
    metrics = [panel.metric for panel in panels]
    is_mixed = len(set(metrics)) > 1
    return Frame(
        found.cards,
        panels=[
            f"{panel.title}: {metric_name(panel.metric)}" if is_mixed else panel.title
            for panel in panels
        ],
        x_title=SPEED,
        y_title=f"test {scores_name(metrics)}",
        is_x_log=True,
        turned=[number for number, metric in enumerate(metrics) if metric.better == "less"],
    )
