"""A chart as the page takes it."""

from dataclasses import dataclass

from longarena.report.frame import Spec


@dataclass(frozen=True)
class Chart:
    """A specification with the words around it."""

    name: str
    title: str
    caption: str
    spec: Spec
