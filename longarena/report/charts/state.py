"""Scores against what must be carried from token to token, and recall against what is to be kept.

    state    a dot per mechanism: its score over the bytes of its state at the end of a sequence
    pairs    a line per mechanism: recall over the number of pairs

Choice: the bytes are those of all layers of the trained model, as its record says. Only a causal
        model has any.
Choice: a panel of `pairs` has the runs that differ in the number of pairs alone, of mechanisms that
        have several.
"""

from collections.abc import Sequence

from longarena.findings.scores import Column, Score, group
from longarena.report.charts.frame import Frame, Point, Spec, draw_dots, draw_lines
from longarena.report.charts.scored import Found, height, scored
from longarena.report.findings import Findings
from longarena.report.formatting import column_name, metric_name, row_name, scores_name
from longarena.tasks.recall import RecallOptions

RECALL, PAIRS, STATE = "recall", "pairs", "state_bytes"
THOUSAND = 1000


def draw_state(found: Findings) -> Spec | None:
    """Draw scores against the bytes of state, a panel per column."""
    known = [each for each in scored(found) if _state_bytes(each[2])]
    columns = list(dict.fromkeys(column for _, column, _ in known))
    if not columns:
        return None
    points: list[Point] = [
        {
            "panel": columns.index(column),
            "mixer": row_name(row),
            "x": _state_bytes(score),
            "y": height(column, score),
            "area": score.parameters / THOUSAND,
        }
        for row, column, score in known
    ]
    levels: list[Point] = [
        {"panel": number, "y": column.metric.scaled(found.scores.level(column))}
        for number, column in enumerate(columns)
    ]
    return draw_dots(_state_frame(found, columns), points, levels)


def _state_frame(found: Findings, columns: Sequence[Column]) -> Frame:
    metrics = [column.metric for column in columns]
    is_mixed = len(set(metrics)) > 1
    return Frame(
        found.cards,
        panels=[
            f"{column_name(column, columns)}: {metric_name(column.metric)}"
            if is_mixed
            else column_name(column, columns)
            for column in columns
        ],
        x_title="bytes of state at the end of a sequence",
        y_title=f"test {scores_name(metrics)}",
        is_x_log=True,
        turned=[number for number, metric in enumerate(metrics) if metric.better == "less"],
        area_title="parameters, thousands",
        is_x_less=True,
    )


def draw_pairs(found: Findings) -> Spec | None:
    """Draw recall over the number of pairs, where there are several."""
    recalled = [each for each in scored(found) if each[1].task == RECALL]
    by_setting = group(recalled, lambda each: _setting(each[1], each[2]))
    several = {name: _with_lines(members) for name, members in by_setting.items()}
    panels = {name: members for name, members in several.items() if members}
    points: list[Point] = [
        {
            "panel": number,
            "mixer": row_name(row),
            "x": _num_pairs(score),
            "y": height(column, score),
        }
        for number, members in enumerate(panels.values())
        for row, column, score in sorted(members, key=lambda each: _num_pairs(each[2]))
    ]
    if not points:
        return None
    frame = Frame(
        found.cards,
        panels=list(panels),
        x_title="pairs to be kept in mind",
        y_title="test accuracy, %",
        is_x_log=True,
        x_ticks=sorted({int(point["x"]) for point in points}),
    )
    return draw_lines(frame, points)


def _with_lines(members: Sequence[Found]) -> list[Found]:
    """Keep the mechanisms with several numbers of pairs."""
    return [
        each
        for of_one in group(members, lambda each: each[0]).values()
        if len({_num_pairs(score) for _, _, score in of_one}) > 1
        for each in of_one
    ]


def _state_bytes(score: Score) -> int:
    """Return the bytes of state of a score's last run; 0 if its record does not tell."""
    value = score.runs[-1].metrics.details.get(STATE)
    return value if isinstance(value, int) and value > 0 else 0


def _num_pairs(score: Score) -> int:
    value = score.runs[-1].recipe.task.options.get(PAIRS)
    return value if isinstance(value, int) else int(RecallOptions().pairs)


def _setting(column: Column, score: Score) -> str:
    """Name all that runs of one panel share."""
    options = score.runs[-1].recipe.task.options
    others = [f"{key}={value}" for key, value in sorted(options.items()) if key != PAIRS]
    parts = [column.preset, *others, column.changes, column.tuning.words]
    return ", ".join(filter(None, parts))
