"""The picture: scores against speed, the area of a dot is memory, every mechanism named.

Choice: a list at the chart chooses what goes upwards (a panel): the averages over tasks first, as
        in the paper, then column after column.
Choice: speed is that at the longest length that the Transformer was measured at, where an efficient
        mechanism has to show what it is for.
Choice: up is better. Where less is better, the axis is turned around.
"""

import math

from longarena.findings.costs import CostTable
from longarena.report.charts.frame import MEBI, Frame, Point, Spec, draw_dots
from longarena.report.charts.panels import ScorePanel, score_panels
from longarena.report.findings import Findings
from longarena.report.formatting import length_name, metric_name, row_name, scores_name


def draw_picture(found: Findings) -> Spec | None:
    """Draw the mechanisms that have both a score and a speed."""
    costs = found.measured
    if costs is None:
        return None
    length = costs.common_length() or max(length for _, length in costs.costs)
    panels = [panel for panel in score_panels(found) if panel.has_any(costs, length)]
    points = [
        point
        for number, panel in enumerate(panels)
        for point in _dots(number, panel, costs, length)
    ]
    if not points:
        return None
    levels: list[Point] = [
        {"panel": number, "y": panel.metric.scaled(panel.level)}
        for number, panel in enumerate(panels)
        if math.isfinite(panel.metric.scaled(panel.level))
    ]
    return draw_dots(_frame(found, panels, costs, length), points, levels)


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


def _frame(found: Findings, panels: list[ScorePanel], costs: CostTable, length: int) -> Frame:
    metrics = [panel.metric for panel in panels]
    is_mixed = len(set(metrics)) > 1
    return Frame(
        found.cards,
        panels=[
            f"{panel.title}: {metric_name(panel.metric)}" if is_mixed else panel.title
            for panel in panels
        ],
        x_title=f"training steps per second at {length_name(length)}, batch {costs.batch_size}",
        y_title=f"test {scores_name(metrics)}",
        is_x_log=True,
        turned=[number for number, metric in enumerate(metrics) if metric.better == "less"],
    )
