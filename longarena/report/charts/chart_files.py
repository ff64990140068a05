"""Charts as files: the page's own specification, with a fixed width on white paper.

Choice: every panel is a file of its own; the first has the chart's plain name.
Choice: text is set in Arial or a font of the same widths. The place of every word is fixed here, so
        in a wider font words would overlap.
"""

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import vl_convert

from longarena.report.charts.chart import Chart
from longarena.report.charts.frame import INK, MUTED, WIDTH, Spec
from longarena.table.table import slug

PIXELS_PER_INCH = 200
LONGEST_NAME = 80
FONT = "Arial, Liberation Sans, Helvetica, sans-serif"

WRITERS: Mapping[str, Callable[[Spec], bytes]] = {
    "svg": lambda spec: vl_convert.vegalite_to_svg(spec).encode(),
    "png": lambda spec: bytes(vl_convert.vegalite_to_png(spec, ppi=PIXELS_PER_INCH)),
    "pdf": lambda spec: bytes(vl_convert.vegalite_to_pdf(spec)),
}


@dataclass(frozen=True)
class Figure:
    """One panel of a chart, ready to be drawn."""

    name: str
    chart: Chart
    spec: Spec


def figures(chart: Chart) -> list[Figure]:
    """Return a figure per panel of a chart."""
    panels = _panels(chart.spec)
    found = [Figure(chart.name, chart, _still(chart, 0, panels[0]))]
    used = {chart.name}
    for number, panel in enumerate(panels[1:], start=1):
        name = f"{chart.name}-{slug(panel)[:LONGEST_NAME]}"
        name = f"{name}-{number}" if name in used else name
        used.add(name)
        found.append(Figure(name, chart, _still(chart, number, panel)))
    return found


def _panels(spec: Spec) -> list[str]:
    """Read the names of the panels off the list that chooses between them."""
    parameter = _panel_parameter(spec)
    return list(parameter["bind"]["labels"]) if "bind" in parameter else [""]


def _panel_parameter(spec: Any) -> dict[str, Any]:
    named = (each for each in spec.get("params", []) if each["name"] == "panel")
    return next(named, {})


def _still(chart: Chart, number: int, panel: str) -> Spec:
    """Fix the panel, and name it in the title."""
    spec: Any = copy.deepcopy(chart.spec)
    spec["config"]["font"] = FONT
    parameter = _panel_parameter(spec)
    parameter.pop("bind", None)
    if parameter:
        parameter["value"] = number
    title = {"text": chart.title, "subtitle": panel, "anchor": "start", "offset": 14}
    title |= {"color": INK, "subtitleColor": MUTED, "fontSize": 15}
    still: Spec = spec | {"width": WIDTH, "background": "#fff", "padding": 12, "title": title}
    return still
