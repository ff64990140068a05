"""Speed and memory against length: a line per mechanism of the latest session."""

from collections.abc import Callable

from longarena.findings.costs import StepCost
from longarena.report.charts.frame import MEBI, Frame, Point, Spec, draw_lines
from longarena.report.findings import Findings
from longarena.report.formatting import row_name


def draw_speed(found: Findings) -> Spec | None:
    """Draw training steps per second."""
    return _against_length(found, "training steps per second", lambda cost: cost.steps_per_second)


def draw_memory(found: Findings) -> Spec | None:
    """Draw the peak of live tensors."""
    return _against_length(found, "peak memory, MiB", lambda cost: cost.peak_bytes / MEBI)


def _against_length(found: Findings, title: str, read: Callable[[StepCost], float]) -> Spec | None:
    costs = found.measured
    if costs is None:
        return None
    points: list[Point] = [
        {"panel": 0, "mixer": row_name(row), "x": length, "y": read(costs.costs[row, length])}
        for row in costs.rows
        for length in costs.lengths
        if (row, length) in costs.costs
    ]
    frame = Frame(
        found.cards,
        panels=[""],
        x_title="sequence length",
        y_title=title,
        is_x_log=True,
        is_y_log=True,
        x_ticks=costs.lengths,
    )
    return draw_lines(frame, points)
