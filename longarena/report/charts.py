"""Charts: tables in, Vega-Lite specifications out. One specification serves page, SVG and PNG.

    picture    accuracy against speed, the area of a dot is memory, every mechanism named
    speed      training steps per second against length        memory    peak memory against length
    curves     validation accuracy over the steps of training, mean over seeds

Choice: where there are several columns a list at the chart chooses one (a panel); they never mix.
Choice: the picture begins with the averages over tasks, as the paper's does.
Choice: the picture takes the longest length that the Transformer was measured at: what an
        efficient mechanism is for shows there.
"""

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

from longarena.attention.base import Family
from longarena.report.chart import Chart
from longarena.report.frame import Frame, Point, Spec, draw_dots, draw_lines
from longarena.report.names import card, column_name, length_name, row_name
from longarena.report.scores import score_panels
from longarena.store.costs import CostTable
from longarena.store.record import RunRecord
from longarena.store.tables import BASELINE, AccuracyTable, Row, group, place_of, row_order

Families = Mapping[str, Family]

MAX_CURVE_POINTS = 60
MEBI = 2**20


def charts(
    accuracy: AccuracyTable, costs: Sequence[CostTable], runs: Iterable[RunRecord]
) -> list[Chart]:
    """Draw everything that the records suffice for."""
    latest = next((table for table in costs if table.costs), None)
    rows = {*accuracy.rows, *(latest.rows if latest else ())}
    families = {row_name(row): card(row.mixer).family for row in sorted(rows, key=row_order)}
    drawn: list[Chart | None] = []
    if latest:
        drawn += [picture(families, accuracy, latest)]
        drawn += [speed(families, latest), memory(families, latest)]
    drawn += [curves(families, accuracy, runs)]
    return [chart for chart in drawn if chart]


def picture(families: Families, accuracy: AccuracyTable, costs: CostTable) -> Chart | None:
    """Draw accuracy against speed for the mechanisms that have both."""
    base = [length for row, length in costs.costs if row == Row(BASELINE)]
    length = max(base, default=max(length for _, length in costs.costs))
    panels = [panel for panel in score_panels(accuracy) if panel.has_any(costs, length)]
    points: list[Point] = [
        {
            "panel": number,
            "mixer": row_name(row),
            "x": costs.costs[row, length].steps_per_second,
            "y": 100 * mean,
            "memory": costs.costs[row, length].peak_bytes / MEBI,
        }
        for number, panel in enumerate(panels)
        for row, mean in panel.means.items()
        if (row, length) in costs.costs
    ]
    if not points:
        return None
    x_title = f"training steps per second at {length_name(length)}, batch {costs.batch_size}"
    titles = [panel.title for panel in panels]
    frame = Frame(families, titles, x_title, "test accuracy, %", is_x_log=True)
    levels: list[Point] = [
        {"panel": number, "y": 100 * panel.majority} for number, panel in enumerate(panels)
    ]
    return Chart(
        name="picture",
        title="Accuracy against speed",
        caption="Up is more accurate, right is faster, and the area of a dot is its peak memory. "
        "The thin line joins what no other beats in both accuracy and speed; the dashed one is the "
        "majority class.",
        spec=draw_dots(frame, points, levels),
    )


def speed(families: Families, costs: CostTable) -> Chart:
    """Draw speed against length."""
    values = {at: cost.steps_per_second for at, cost in costs.costs.items()}
    return Chart(
        name="speed",
        title="Speed against length",
        caption="Both axes are logarithmic: a straight line is a power law.",
        spec=_against_length(families, costs, "training steps per second", values),
    )


def memory(families: Families, costs: CostTable) -> Chart:
    """Draw memory against length."""
    values = {at: cost.peak_bytes / MEBI for at, cost in costs.costs.items()}
    return Chart(
        name="memory",
        title="Memory against length",
        caption="The peak of live tensors in a training step; both axes are logarithmic.",
        spec=_against_length(families, costs, "peak memory, MiB", values),
    )


def curves(families: Families, accuracy: AccuracyTable, runs: Iterable[RunRecord]) -> Chart | None:
    """Draw the validation accuracy over the steps of training."""
    points: list[Point] = [
        {"panel": accuracy.columns.index(column), "mixer": row_name(row), "x": step, "y": value}
        for (row, column), found in group(runs, place_of).items()
        for step, value in _mean_curve(found)
    ]
    if not points:
        return None
    frame = Frame(families, _panels(accuracy), "training step", "validation accuracy, %")
    return Chart(
        name="curves",
        title="Learning curves",
        caption="Validation accuracy during training, the mean over seeds.",
        spec=draw_lines(frame, points),
    )


def _panels(accuracy: AccuracyTable) -> list[str]:
    return [column_name(column, accuracy.columns) for column in accuracy.columns]


def _against_length(
    families: Families, costs: CostTable, title: str, values: dict[tuple[Row, int], float]
) -> Spec:
    points: list[Point] = [
        {"panel": 0, "mixer": row_name(row), "x": length, "y": values[row, length]}
        for row in costs.rows
        for length in costs.lengths
        if (row, length) in values
    ]
    logarithmic = {"is_x_log": True, "is_y_log": True}
    frame = Frame(families, [""], "sequence length", title, **logarithmic, x_ticks=costs.lengths)
    return draw_lines(frame, points)


def _mean_curve(runs: list[RunRecord]) -> list[tuple[int, float]]:
    """Average the curves of several seeds where all have a value, thinned for the page."""
    values: dict[int, list[float]] = {}
    for run in runs:
        for step, accuracy in zip(run.curve.steps, run.curve.valid_accuracy, strict=True):
            values.setdefault(step, []).append(accuracy)
    longest = max(map(len, values.values()), default=0)
    shared = sorted(step for step, found in values.items() if len(found) == longest)
    stride = -(-len(shared) // MAX_CURVE_POINTS) or 1
    kept = reversed(shared[::-1][::stride])  # counted from the end, so that the end is there
    return [(step, 100 * fmean(values[step])) for step in kept]
