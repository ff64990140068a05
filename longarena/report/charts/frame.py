"""The frame of a chart: axes, colours, panels, and names beside lines and dots.

Choice: a mechanism has the colour of its family (`palette.py`), the same in every chart. All else
        takes its colour from the page (style.css), so that charts follow light and dark.
Choice: names stand beside lines and dots, with a thin line to a name that had to move; pointing at
        a mechanism fades the others.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import altair as alt

from longarena.attention.cards import MixerCard
from longarena.findings.scores import group
from longarena.report.charts.label_placement import Dot, around, column
from longarena.report.charts.palette import dashes, hue, legend
from longarena.report.charts.pareto import front

Point = dict[str, float | str]
Range = tuple[float, float]
Spec = dict[str, object]

HEIGHT = 400
WIDTH = 640  # names are laid out for this width
NAME_WIDTH = 150.0  # left free for the names of lines
NAME_GAP = 14.0
DOTS_FREE = 0.15
MEBI = 2**20
LARGEST_DOT = 700.0

TIMES = [
    *(1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800),
    *(3600 * hours for hours in (1, 2, 5, 10, 24, 48, 120, 240)),
]
TIME = (
    "datum.value < 60 ? datum.value + ' s' : datum.value < 3600 ? datum.value / 60 + ' min' : "
    "datum.value / 3600 + ' h'"
)

# on a phone there is room for the names of the front alone
IS_NAMED = "width < 420 && datum.is_front === false ? 0 : 1"
LEGEND_COLUMNS = alt.ExprRef("width < 420 ? 2 : 4")
MUTED, INK, RULE, THIN = "#585c64", "#1b1d21", "#e3e3de", "#8a8f98"
CONFIG = {
    "background": None,
    "font": "system-ui, sans-serif",
    "view": {"stroke": None},
    "axis": {
        **{"domain": False, "ticks": False, "labelPadding": 6, "titlePadding": 12},
        **{"gridColor": RULE, "labelColor": MUTED, "titleColor": MUTED},
        **{"titleFontWeight": "normal", "titleFontSize": 12, "labelFontSize": 11},
    },
    "legend": {
        **{"labelColor": MUTED, "titleColor": MUTED, "titleFontWeight": "normal"},
        **{"orient": "bottom", "labelFontSize": 11, "symbolStrokeWidth": 2},
    },
    "text": {"color": INK, "fontSize": 11.5},
}


@dataclass(frozen=True)
class Frame:
    """The axes; each panel is a choice of points, with ranges of its own.

    `cards` has all mechanisms of the page by their names, so that one looks the same in every
    chart. In the panels that are `turned`, y grows downwards, because less of it is better. Where x
    is a time, it is given in seconds and written in the unit that suits it. `area_title` says what
    the area of a dot is; the Pareto front takes more of x for better, or less of it where
    `is_x_less`. Where `x_titles` has one for each panel, these name the axis.
    """

    cards: Mapping[str, MixerCard]
    panels: Sequence[str]
    x_title: str
    y_title: str
    is_x_log: bool = False
    is_y_log: bool = False
    is_x_time: bool = False
    x_ticks: Sequence[int] = ()
    turned: Sequence[int] = ()
    area_title: str = "peak memory, MiB"
    is_x_less: bool = False
    x_titles: Sequence[str] = ()


@dataclass(frozen=True)
class Plot:
    """A frame with the ranges of every panel, and the pixels left free at the right of them."""

    frame: Frame
    x_ranges: list[Range]
    y_ranges: list[Range]
    free_pixels: float = 0.0

    def pixels(self, point: Point) -> tuple[float, float]:
        """Return where a point stands, from the left and the top."""
        panel = int(point["panel"])
        x = _share(float(point["x"]), self.x_ranges[panel], self.frame.is_x_log)
        y = _share(float(point["y"]), self.y_ranges[panel], self.frame.is_y_log)
        return WIDTH * x, HEIGHT * (1 - y)


def draw_lines(frame: Frame, points: list[Point]) -> Spec:
    """Draw a line per mechanism, or per seed of it, named in a column at the right."""
    plot = replace(fit(frame, points, points), free_pixels=NAME_WIDTH)
    styles = dashes(frame.cards)
    scale = alt.Scale(domain=list(styles), range=[list(dash) for dash in styles.values()])
    dash = alt.StrokeDash("mixer:N", scale=scale, legend=None)
    lines = _marks(plot).mark_line(strokeWidth=1.8, point=alt.OverlayMarkDef(size=22)).encode(dash)
    if "seed" in points[0]:
        lines = lines.encode(detail=["mixer:N", "seed:N"])
    layers = [_leaders(plot), lines, _names(plot)]
    names = name_ends(plot, points)
    return _finish(plot, layers, {"points": points, "names": names, "leaders": names})


def draw_dots(frame: Frame, points: list[Point], levels: list[Point]) -> Spec:
    """Draw a dot per mechanism with its area, a dashed level, and the Pareto front."""
    plot = fit(frame, points, [*points, *levels], free=DOTS_FREE)
    largest = max(float(point["area"]) for point in points)
    size = alt.Size(
        "area:Q",
        title=frame.area_title,
        scale=alt.Scale(domain=[0, largest], range=[0, LARGEST_DOT]),
        legend=alt.Legend(
            orient="top",
            titleOrient="left",
            tickCount=3,
            symbolFillColor="transparent",
            symbolStrokeColor=THIN,
            symbolStrokeWidth=1,
        ),
    )
    level = _layer("levels").mark_rule(strokeDash=[4, 4], color=MUTED).encode(_y(plot))
    best = _layer("front").mark_line(color=THIN, strokeWidth=1).encode(_x(plot), _y(plot))
    dots = _marks(plot).mark_circle(fillOpacity=0.85).encode(size)
    names = name_dots(plot, points)
    data = {
        "points": points,
        "names": names,
        "leaders": [name for name in names if name["is_moved"]],
        "levels": levels,
        "front": [point for panel in _by_panel(points) for point in on_front(frame, panel)],
    }
    return _finish(plot, [level, best, _leaders(plot), dots, _names(plot)], data)


def on_front(frame: Frame, points: list[Point]) -> list[Point]:
    """Keep the points of a panel that no other beats in both x and y, from left to right."""
    right = -1 if frame.is_x_less else 1
    up = -1 if points[0]["panel"] in frame.turned else 1
    places = [(right * float(p["x"]), up * float(p["y"])) for p in points]
    return sorted((points[i] for i in front(places)), key=lambda p: float(p["x"]))


def fit(frame: Frame, wide: list[Point], tall: list[Point], free: float = 0.0) -> Plot:
    """Choose the ranges of every panel; a share `free` of the width is left to the names."""

    def ranges(points: list[Point], field: str, is_log: bool) -> list[Range]:
        panels = group(points, lambda point: int(point["panel"]))
        found = [[float(p[field]) for p in panels.get(i, [])] for i in range(len(frame.panels))]
        return [_range(values, is_log) for values in found]

    x_ranges = ranges(wide, "x", frame.is_x_log)
    x_ranges = [_extend(limits, free, frame.is_x_log) for limits in x_ranges]
    y_ranges = [
        limits[::-1] if panel in frame.turned else limits
        for panel, limits in enumerate(ranges(tall, "y", frame.is_y_log))
    ]
    return Plot(frame, x_ranges, y_ranges)


def name_ends(plot: Plot, points: list[Point]) -> list[Point]:
    """Name every line in a column beside the last point of its panel."""
    placed: list[Point] = []
    for panel in _by_panel(points):
        ends = list({point["mixer"]: point for point in panel}.values())
        heights = [plot.pixels(end)[1] for end in ends]
        last = max(float(end["x"]) for end in ends)
        for end, y, free in zip(ends, heights, column(heights, HEIGHT), strict=True):
            offset = _offset(last, NAME_GAP, free - y, (NAME_GAP - 2, free - y))
            placed.append(end | offset | {"side": "left"})
    return placed


def name_dots(plot: Plot, points: list[Point]) -> list[Point]:
    """Name every dot beside it, or a little away where it is crowded."""
    largest = max(float(point["area"]) for point in points)
    placed: list[Point] = []
    for panel in _by_panel(points):
        radii = [math.sqrt(LARGEST_DOT * float(p["area"]) / largest / math.pi) for p in panel]
        dots = [
            Dot(*plot.pixels(point), radius, str(point["mixer"]))
            for point, radius in zip(panel, radii, strict=True)
        ]
        best = on_front(plot.frame, panel)
        line = [plot.pixels(point) for point in best]
        for point, spot in zip(panel, around(dots, (WIDTH, HEIGHT), line), strict=True):
            offset = _offset(float(point["x"]), spot.dx, spot.dy, spot.leader_end)
            marks: Point = {"is_moved": spot.is_away, "is_front": point in best}
            placed.append(point | offset | {"side": spot.side} | marks)
    return placed


def _offset(x: float, dx: float, dy: float, leader_end: tuple[float, float]) -> Point:
    """Return a name's offset from its point in pixels, and where the line to it ends."""
    to_x, to_y = leader_end
    pixels = {"dx": dx, "dy": dy, "to_x": to_x, "to_y": to_y}
    return {"name_x": x, **{key: round(value, 1) for key, value in pixels.items()}}


def _by_panel(points: list[Point]) -> list[list[Point]]:
    return list(group(points, lambda point: point["panel"]).values())


def _finish(plot: Plot, layers: list[alt.Chart], datasets: dict[str, list[Point]]) -> Spec:
    """Join the layers; the data goes in last, past Altair's slow validation of every point."""
    panel = alt.param(name="panel", value=0)
    panels = plot.frame.panels
    if len(panels) > 1:
        choice = alt.binding_select(
            options=list(range(len(panels))), labels=list(panels), name="Show "
        )
        panel = alt.param(name="panel", value=0, bind=choice)
    chart = alt.layer(*layers).add_params(panel).properties(width="container", height=HEIGHT)
    spec = chart.to_dict()
    if plot.frame.x_titles:
        _title_by_panel(spec, plot.frame.x_titles)
    cards = plot.frame.cards
    points = [
        point | {"family": hue(cards[str(point["mixer"])]).name} for point in datasets["points"]
    ]
    return spec | {"datasets": datasets | {"points": points}, "config": CONFIG}


def _title_by_panel(spec: dict[str, Any], titles: Sequence[str]) -> None:
    """Name the axis by the panel that is shown, which Vega-Lite can and Altair does not know."""
    for layer in spec["layer"]:
        if "x" in layer["encoding"]:
            title = {"expr": f"{json.dumps(list(titles))}[panel]"}
            layer["encoding"]["x"]["axis"]["title"] = title


def _layer(dataset: str) -> alt.Chart:
    return alt.Chart(alt.NamedData(name=dataset)).transform_filter("datum.panel === panel")


def _marks(plot: Plot) -> alt.Chart:
    hover = alt.selection_point(
        name="hover", fields=["mixer"], on="pointerover", clear="pointerout", empty=True
    )
    used = legend(plot.frame.cards.values())
    colours = alt.Scale(domain=list(used), range=list(used.values()))
    shown = alt.Legend(title=None, columns=LEGEND_COLUMNS, symbolType="circle", symbolSize=90)
    return (
        _layer("points")
        .encode(
            _x(plot),
            _y(plot),
            alt.Color("family:N", scale=colours, legend=shown),
            detail="mixer:N",
            opacity=alt.condition(hover, alt.value(1), alt.value(0.15)),
            tooltip=[
                alt.Tooltip("mixer:N", title="mechanism"),
                alt.Tooltip("family:N"),
                alt.Tooltip("x:Q", title=_x_name(plot.frame), format=",.4~r"),
                alt.Tooltip("y:Q", title=plot.frame.y_title, format=",.4~r"),
            ],
        )
        .add_params(hover)
    )


def _names(plot: Plot) -> alt.Chart:
    # the offsets are in the data: where a name may stand depends on its neighbours
    text = _layer("names").mark_text(
        align=alt.ExprRef("datum.side"),
        baseline="middle",
        dx=alt.ExprRef("datum.dx"),
        dy=alt.ExprRef("datum.dy"),
        opacity=alt.ExprRef(IS_NAMED),
    )
    named: alt.Chart = text.encode(_x(plot, "name_x"), _y(plot), text="mixer:N")
    return named


def _leaders(plot: Plot) -> alt.Chart:
    """Draw a thin line from a point to its name."""
    rule = _layer("leaders").mark_rule(
        color=THIN,
        strokeWidth=0.6,
        opacity=alt.ExprRef(IS_NAMED),
        x2Offset=alt.ExprRef("datum.to_x"),
        y2Offset=alt.ExprRef("datum.to_y"),
    )
    led: alt.Chart = rule.encode(_x(plot), _y(plot), x2="name_x:Q", y2="y:Q")
    return led


def _x_name(frame: Frame) -> str:
    return f"{frame.x_title}, s" if frame.is_x_time else frame.x_title


def _x(plot: Plot, field: str = "x") -> alt.X:
    axis = alt.Axis(format=",.4~r", grid=False, tickCount=6)
    if plot.frame.is_x_time:
        axis = alt.Axis(grid=False, values=TIMES, labelExpr=TIME, labelSeparation=8)
    if plot.frame.x_ticks:
        axis = alt.Axis(format="d", grid=False, values=list(plot.frame.x_ticks))
    scale = _scale(plot.x_ranges, plot.frame.is_x_log, plot.free_pixels)
    return alt.X(f"{field}:Q", title=plot.frame.x_title, scale=scale, axis=axis)


def _y(plot: Plot) -> alt.Y:
    axis = alt.Axis(format=",.4~r", tickCount=6)
    scale = _scale(plot.y_ranges, plot.frame.is_y_log)
    return alt.Y("y:Q", title=plot.frame.y_title, scale=scale, axis=axis)


def _scale(ranges: list[Range], is_log: bool, free_pixels: float = 0.0) -> alt.Scale:
    """Take the range of the chosen panel; its upper end moves with the width of the page."""
    kind: Literal["log", "linear"] = "log" if is_log else "linear"
    low, high = (f"{[limits[end] for limits in ranges]}[panel]" for end in (0, 1))
    if free_pixels:
        stretch = f"1 / (1 - {free_pixels} / max(width, {2 * free_pixels}))"
        log = f"{low} * pow({high} / {low}, {stretch})"
        high = log if is_log else f"{low} + ({high} - {low}) * {stretch}"
    return alt.Scale(type=kind, domain=alt.ExprRef(f"[{low}, {high}]"), nice=False)


def _range(values: list[float], is_log: bool) -> Range:
    """Return the ends of an axis with a margin around the values."""
    low, high = min(values, default=1.0), max(values, default=1.0)
    if is_log:
        margin = max(1.1, (high / low) ** 0.06)
        return low / margin, high * margin
    margin = 0.06 * (high - low) or 1.0
    # an axis of what is never negative does not begin below zero
    return max(0.0, low - margin) if low >= 0 else low - margin, high + margin


def _extend(limits: Range, free: float, is_log: bool) -> Range:
    """Move the upper end so that a share of the axis lies beyond the limits.

    >>> _extend((0.0, 3.0), 0.25, is_log=False)
    (0.0, 4.0)
    """
    low, high = limits
    if is_log:
        return low, float(low * (high / low) ** (1 / (1 - free)))
    return low, low + (high - low) / (1 - free)


def _share(value: float, limits: Range, is_log: bool) -> float:
    scale = math.log if is_log else float
    return (scale(value) - scale(limits[0])) / (scale(limits[1]) - scale(limits[0]))
