"""The time of one more token against the context: a line per mechanism of the latest session."""

from longarena.report.charts.frame import Frame, Point, Spec, draw_lines
from longarena.report.findings import Findings
from longarena.report.formatting import row_name


def draw_generation(found: Findings) -> Spec | None:
    """Draw milliseconds per token."""
    session = next((table for table in found.generations if table.costs), None)
    if session is None:
        return None
    points: list[Point] = [
        {
            "panel": 0,
            "mixer": row_name(row),
            "x": context,
            "y": 1000 * session.costs[row, context].seconds_per_token,
        }
        for row in session.rows
        for context in session.contexts
        if (row, context) in session.costs
    ]
    frame = Frame(
        {row_name(row): row.card for row in session.rows},
        panels=[""],
        x_title="context",
        y_title="milliseconds per token",
        is_x_log=True,
        is_y_log=True,
        x_ticks=session.contexts,
    )
    return draw_lines(frame, points)
