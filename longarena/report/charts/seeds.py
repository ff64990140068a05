"""Learning curves seed by seed: where the lines of a mechanism part, training is a matter of luck.

A panel has the mechanisms of one column that have several seeds.
"""

from longarena.findings.scores import Column
from longarena.findings.seeds import has_seeds
from longarena.report.charts.frame import Frame, Point, Spec, draw_lines
from longarena.report.findings import Findings
from longarena.report.formatting import column_name, row_name, scores_name


def draw_seeds(found: Findings) -> Spec | None:
    """Draw validation scores over steps, a line for every seed."""
    columns = [column for column in found.scores.columns if _points(found, 0, column)]
    if not columns:
        return None
    points = [point for number, at in enumerate(columns) for point in _points(found, number, at)]
    metrics = [column.metric for column in columns]
    names = [column_name(column, columns) for column in columns]
    turned = [number for number, metric in enumerate(metrics) if metric.better == "less"]
    y_title = f"validation {scores_name(metrics)}"
    return draw_lines(Frame(found.cards, names, "training step", y_title, turned=turned), points)


def _points(found: Findings, panel: int, column: Column) -> list[Point]:
    return [
        {
            "panel": panel,
            "mixer": row_name(row),
            "seed": seed,
            "x": step,
            "y": column.metric.scaled(value),
        }
        for row, score in found.scores.by_column[column].items()
        if has_seeds(score)
        for seed, run in enumerate(score.runs)
        # a record says what it likes, so the lists may differ in length
        for step, value in zip(run.curve.steps, run.curve.values, strict=False)
    ]
