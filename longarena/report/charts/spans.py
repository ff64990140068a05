"""The chart of attention spans: how far each trained model looks, task by task.

A bar is the mean over the runs of one mechanism on one task; the name stands at its end, with the
share of the sequence. Attention that weighs all tokens alike has a third.
"""

from collections.abc import Collection, Mapping
from statistics import fmean

import altair as alt

from longarena.findings.scores import group
from longarena.records.record import SpanRecord
from longarena.report.charts.frame import CONFIG, LEGEND_COLUMNS, Point, Spec
from longarena.report.charts.palette import hue, legend
from longarena.report.findings import Findings
from longarena.report.formatting import task_title

GROUP_GAP = 10
BAR_HEIGHT = 18


def draw_spans(found: Findings) -> Spec | None:
    """Draw a bar per mechanism and task; pointing at one tells its share of the sequence."""
    # where a run was looked at twice, the later record counts
    ordered = sorted(found.records.spans, key=lambda record: record.finished_at)
    latest = list({(record.id, *_place_of(record)): record for record in ordered}.values())
    variants = group({_place_of(each)[:2] for each in latest}, lambda place: place[0])
    several = {title for title, places in variants.items() if len(places) > 1}
    bars = [_bar(records, several) for records in group(latest, _place_of).values()]
    bars = sorted(bars, key=lambda bar: (str(bar["task"]), -float(bar["span"])))
    cards = [record.recipe.model.card for record in found.records.spans]
    return _spec(bars, legend(cards)) if bars else None


def _place_of(record: SpanRecord) -> tuple[str, str, str]:
    title = task_title(record.recipe.task.name, record.variant)
    return title, record.variant, record.recipe.model.mixer


def _bar(records: list[SpanRecord], several: Collection[str]) -> Point:
    """Describe a bar; the variant of the data is named where `several` have a title."""
    (title, variant, _), card = _place_of(records[0]), records[-1].recipe.model.card
    span = fmean(record.mean_span for record in records)
    length = fmean(record.mean_length for record in records)
    return {
        "task": ", ".join(filter(None, [title, variant if title in several else ""])),
        "mixer": card.title,
        "label": f"{card.title}, {span / length:.0%} of {length:.0f}",
        "family": hue(card).name,
        "span": round(span, 2),
        "length": round(length, 1),
        "runs": len(records),
    }


def _spec(bars: list[Point], used: Mapping[str, str]) -> Spec:
    order = list(dict.fromkeys(str(bar["mixer"]) for bar in bars))
    colours = alt.Scale(domain=list(used), range=list(used.values()))
    longest = max(float(bar["span"]) for bar in bars)
    base = alt.Chart(alt.NamedData(name="spans")).encode(
        alt.X(
            "span:Q",
            title="mean distance, tokens",
            scale=alt.Scale(domain=[0, 1.4 * longest]),
            axis=alt.Axis(tickCount=6),
        ),
        alt.Y("task:N", title=None, axis=alt.Axis(labelLimit=190, grid=False)),
        alt.YOffset("mixer:N", sort=order, scale=alt.Scale(paddingInner=0.25)),
    )
    shown = alt.Legend(title=None, columns=LEGEND_COLUMNS, symbolType="circle")
    layers = [
        base.mark_bar().encode(
            alt.Color("family:N", scale=colours, legend=shown),
            tooltip=["mixer:N", "task:N", "span:Q", "length:Q", "runs:Q"],
        ),
        base.mark_text(align="left", dx=5).encode(text="label:N"),
    ]
    # a number: a height in steps beside a width that fits makes Vega complain in the console
    height = len({bar["task"] for bar in bars}) * (len(order) * BAR_HEIGHT + GROUP_GAP)
    chart = alt.layer(*layers).properties(width="container", height=height)
    spec: Spec = chart.to_dict()
    return spec | {"datasets": {"spans": bars}, "config": CONFIG}
