"""A metric: the name of a score, the unit it is written in, and which way is better."""

from typing import Literal

from pydantic import Field

from longarena.options import Options


class Metric(Options):
    """How a model is scored by one number; `scale` turns it into its unit.

    >>> accuracy = Metric(name="accuracy", title="Accuracy", unit="%", better="more", scale=100)
    >>> accuracy.write(0.3349), accuracy.write_with_unit(0.3349), accuracy.is_better(0.3, 0.2)
    ('33.5', '33.5%', True)
    """

    name: str
    title: str
    unit: str
    better: Literal["more", "less"]
    scale: float = Field(1.0, gt=0)
    decimals: int = Field(1, ge=0, le=12)

    @property
    def is_share(self) -> bool:
        """Whether a value is a share, written in percent."""
        return self.unit == "%"

    def scaled(self, value: float) -> float:
        """Return a value in the metric's unit."""
        return self.scale * value

    def write(self, value: float) -> str:
        """Write a value in the metric's unit, without naming the unit."""
        return f"{self.scaled(value):.{self.decimals}f}"

    def write_with_unit(self, value: float) -> str:
        """Write a value with its unit."""
        space = "" if self.unit in ("", "%") else " "
        return f"{self.write(value)}{space}{self.unit}"

    def is_better(self, value: float, other: float) -> bool:
        """Tell whether one value is better than another."""
        return value > other if self.better == "more" else value < other

    def best(self, values: list[float]) -> float:
        """Return the best of some values."""
        return max(values) if self.better == "more" else min(values)


ACCURACY = Metric(name="accuracy", title="Accuracy", unit="%", better="more", scale=100)
