"""Charts as the page, `export` and `fill` take them, and what an entry of CHARTS is."""

from collections.abc import Callable
from dataclasses import dataclass

from longarena.report.charts.frame import Spec
from longarena.report.findings import Findings


@dataclass(frozen=True)
class Chart:
    """A specification with the words around it."""

    name: str
    title: str
    caption: str
    spec: Spec


@dataclass(frozen=True)
class ChartKind:
    """How a chart is drawn, and the command that makes the records it is missing.

    `draw` returns None where there is nothing to show.
    """

    title: str
    caption: str
    remedy: str
    draw: Callable[[Findings], Spec | None]
