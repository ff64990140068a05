"""The frame of a chart: axes, colours, panels, and names beside lines and dots.

Choice: a mechanism keeps its colour in every chart of a page; what twelve colours cannot tell
        apart, dashes do. The colours are readable on white and on black, and everything else
        takes its colour from the page (style.css), so that charts follow light and dark.
Choice: names stand at the lines, not in a legend; pointing at one fades the others.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import altair as alt

from longarena.report.labels import spread
from longarena.store.tables import group

Point = dict[str, float | str]
Range = tuple[float, float]
Spec = dict[str, object]

HEIGHT = 340
WIDTH = 480  # that names are laid out for, between a phone's and a desk's
NAME_WIDTH = 125.0
LARGEST_DOT = 900.0

COLOURS = (
    *("#3b7dd8", "#d9730d", "#2e9e5b", "#d64550", "#9065d6", "#1a94a3"),
    *("#d0559f", "#8a8a1f", "#a8703d", "#7d8590", "#6a6ee0", "#5f9a2c"),
)
DASHES = ((1, 0), (6, 3), (2, 2))
MUTED, INK, RULE = "#585c64", "#1b1d21", "#e3e3de"
CONFIG = {
    "background": None,
    "font": "system-ui, sans-serif",
    "view": {"stroke": None},
    "axis": {
        **{"domain": False, "ticks": False, "labelPadding": 6, "titlePadding": 12},
        **{"gridColor": RULE, "labelColor": MUTED, "titleColor": MUTED},
        **{"titleFontWeight": "normal", "titleFontSize": 12, "labelFontSize": 11},
    },
    "legend": {"labelColor": MUTED, "titleColor": MUTED, "titleFontWeight": "normal"},
    "text": {"color": INK, "fontSize": 11.5},
}


@dataclass(frozen=True)
class Frame:
    """The axes; each panel is a choice of points, with a range of heights of its own.

    `names` are all mechanisms of the page, so that one has one colour in every chart.
    """

    names: Sequence[str]
    panels: Sequence[str]
    x_title: str
    y_title: str
    is_x_log: bool = False
    is_y_log: bool = False
    x_ticks: Sequence[int] = ()


@dataclass(frozen=True)
class Plot:
    """A frame with the ranges that its points need: one of x, and one of y per panel."""

    frame: Frame
    x_range: Range
    y_ranges: list[Range]

    def pixels(self, point: Point) -> tuple[float, float]:
        """Return where a point stands, from the left and the top."""
        x = _share(float(point["x"]), self.x_range, self.frame.is_x_log)
        y = _share(float(point["y"]), self.y_ranges[int(point["panel"])], self.frame.is_y_log)
        return WIDTH * x, HEIGHT * (1 - y)


def draw_lines(frame: Frame, points: list[Point]) -> Spec:
    """Draw a line per mechanism, named at its end."""
    plot = fit(frame, points, points)
    ends = {(point["panel"], point["mixer"]): point for point in points}
    dash = alt.StrokeDash("mixer:N", scale=_cycle(frame, DASHES, every=len(COLOURS)), legend=None)
    lines = _marks(plot).mark_line(point=alt.OverlayMarkDef(size=28)).encode(dash)
    names = place_names(plot, [end | {"dx": 8} for end in ends.values()])
    return _finish(frame, [lines, _names(plot)], {"points": points, "names": names})


def draw_dots(frame: Frame, points: list[Point], levels: list[Point]) -> Spec:
    """Draw a dot per mechanism whose area is its memory, and a dashed level in each panel."""
    plot = fit(frame, points, [*points, *levels])
    largest = max(float(point["memory"]) for point in points)
    size = alt.Size(
        "memory:Q",
        title="peak memory, MiB",
        scale=alt.Scale(domain=[0, largest], range=[0, LARGEST_DOT]),
        legend=alt.Legend(orient="bottom", tickCount=3),
    )
    radii = [math.sqrt(LARGEST_DOT * float(p["memory"]) / largest / math.pi) for p in points]
    names = place_names(plot, [p | {"dx": r + 5} for p, r in zip(points, radii, strict=True)])
    level = _layer("levels").mark_rule(strokeDash=[4, 4], color=MUTED).encode(_y(plot))
    layers = [level, _marks(plot).mark_circle(opacity=1).encode(size), _names(plot)]
    return _finish(frame, layers, {"points": points, "names": names, "levels": levels})


def fit(frame: Frame, wide: list[Point], tall: list[Point]) -> Plot:
    """Choose the ranges of the axes: of x for all panels, of y for each."""
    panels = group(tall, lambda point: int(point["panel"]))
    y_ranges = [
        _range([float(point["y"]) for point in panels.get(panel, [])], frame.is_y_log)
        for panel in range(len(frame.panels))
    ]
    return Plot(frame, _range([float(point["x"]) for point in wide], frame.is_x_log), y_ranges)


def place_names(plot: Plot, named: list[Point]) -> list[Point]:
    """Move the names of points so that they do not cover each other, panel by panel."""
    placed: list[Point] = []
    for points in group(named, lambda point: point["panel"]).values():
        pixels = [plot.pixels(point) for point in points]
        free = spread(pixels, NAME_WIDTH, HEIGHT)
        placed += [
            point | {"dy": round(height - y, 1)}
            for point, (_, y), height in zip(points, pixels, free, strict=True)
        ]
    return placed


def _finish(frame: Frame, layers: list[alt.Chart], datasets: dict[str, list[Point]]) -> Spec:
    """Join the layers; the data goes in last, past Altair's slow validation of every point."""
    panel = alt.param(name="panel", value=0)
    if len(frame.panels) > 1:
        options, labels = list(range(len(frame.panels))), list(frame.panels)
        choice = alt.binding_select(options=options, labels=labels, name="Show ")
        panel = alt.param(name="panel", value=0, bind=choice)
    chart = alt.layer(*layers).add_params(panel).properties(width="container", height=HEIGHT)
    spec: Spec = chart.to_dict()
    return spec | {"datasets": datasets, "config": CONFIG}


def _layer(dataset: str) -> alt.Chart:
    return alt.Chart(alt.NamedData(name=dataset)).transform_filter("datum.panel === panel")


def _marks(plot: Plot) -> alt.Chart:
    hover = alt.selection_point(
        name="hover", fields=["mixer"], on="pointerover", clear="pointerout", empty=True
    )
    return (
        _layer("points")
        .encode(
            _x(plot),
            _y(plot),
            alt.Color("mixer:N", scale=_cycle(plot.frame, COLOURS), legend=None),
            opacity=alt.condition(hover, alt.value(1), alt.value(0.15)),
            tooltip=[
                alt.Tooltip("mixer:N", title="mechanism"),
                alt.Tooltip("x:Q", title=plot.frame.x_title, format=",.4~r"),
                alt.Tooltip("y:Q", title=plot.frame.y_title, format=",.4~r"),
            ],
        )
        .add_params(hover)
    )


def _names(plot: Plot) -> alt.Chart:
    # the offsets are in the data: where a name may stand depends on its neighbours
    dx, dy = alt.ExprRef("datum.dx"), alt.ExprRef("datum.dy")
    text = _layer("names").mark_text(align="left", baseline="middle", dx=dx, dy=dy)
    named: alt.Chart = text.encode(_x(plot), _y(plot), text="mixer:N")
    return named


def _x(plot: Plot) -> alt.X:
    axis = alt.Axis(format=",.4~r", grid=False, tickCount=6)
    if plot.frame.x_ticks:
        axis = alt.Axis(format="d", grid=False, values=list(plot.frame.x_ticks))
    scale = alt.Scale(type=_kind(plot.frame.is_x_log), domain=list(plot.x_range), nice=False)
    return alt.X("x:Q", title=plot.frame.x_title, scale=scale, axis=axis)


def _y(plot: Plot) -> alt.Y:
    domain = alt.ExprRef(f"{[list(limits) for limits in plot.y_ranges]}[panel]")
    scale = alt.Scale(type=_kind(plot.frame.is_y_log), domain=domain, nice=False)
    axis = alt.Axis(format=",.4~r", tickCount=6)
    return alt.Y("y:Q", title=plot.frame.y_title, scale=scale, axis=axis)


def _kind(is_log: bool) -> Literal["log", "linear"]:
    return "log" if is_log else "linear"


def _cycle(
    frame: Frame, values: Sequence[str] | Sequence[Sequence[float]], every: int = 1
) -> alt.Scale:
    """Give a value to every name, the next one after `every` names."""
    return alt.Scale(
        domain=list(frame.names),
        range=[values[i // every % len(values)] for i in range(len(frame.names))],
    )


def _range(values: list[float], is_log: bool) -> Range:
    """Return the ends of an axis with a margin around the values."""
    low, high = min(values, default=1.0), max(values, default=1.0)
    if is_log:
        return low / 1.2, high * 1.2
    margin = 0.06 * (high - low) or 1.0
    return max(0.0, low - margin), high + margin


def _share(value: float, limits: Range, is_log: bool) -> float:
    scale = math.log if is_log else float
    return (scale(value) - scale(limits[0])) / (scale(limits[1]) - scale(limits[0]))
