"""The chart of attention spans: how far each trained model looks, task by task."""

import altair as alt

from longarena.report.chart import Chart
from longarena.report.frame import COLOURS, CONFIG, HEIGHT, Spec
from longarena.report.names import card, task_title
from longarena.store.record import SpanRecord


def spans(records: list[SpanRecord]) -> Chart | None:
    """Draw a bar per run; pointing at one tells its share of the sequence."""
    if not records:
        return None
    values = [
        {
            "task": ", ".join(filter(None, [task_title(record.recipe.task.name), record.variant])),
            "mixer": card(record.recipe.model.mixer).title,
            "run": record.id,
            "span": round(record.mean_span, 2),
            "length": round(record.mean_length, 1),
        }
        for record in records
    ]
    bars = (
        alt.Chart(alt.NamedData(name="spans"))
        .mark_bar(color=COLOURS[0])
        .encode(
            x=alt.X("task:N", title=None, axis=alt.Axis(labelAngle=0, labelLimit=240)),
            xOffset=alt.XOffset("run:N"),
            y=alt.Y("span:Q", title="mean distance, tokens"),
            color=alt.Color("mixer:N", title=None),
            tooltip=["mixer:N", "task:N", "span:Q", alt.Tooltip("length:Q", title="mean length")],
        )
        .properties(width="container", height=HEIGHT)
    )
    spec: Spec = bars.to_dict()
    return Chart(
        name="spans",
        title="Required attention span",
        caption="The mean distance between a query and what it attends to, over heads, layers and "
        "validation samples of a trained model.",
        spec=spec | {"datasets": {"spans": values}, "config": CONFIG},
    )
