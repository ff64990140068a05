"""Scores of a run at several lengths, as its record keeps them among its details."""

from pydantic import Field, TypeAdapter, ValidationError

from longarena.options import Options, Positive
from longarena.records.summary import Run

LENGTHS = "lengths"  # their name among the details


class LengthScore(Options):
    """How a model does at one length: its score, the standard error, and the score by depth.

    The depth of an example is the tenth of the sequence in which the answer stands; there is None
    where no example has its answer at a depth.
    """

    length: Positive
    value: float
    error: float = Field(ge=0)
    depths: list[float | None]


def length_scores(record: Run) -> list[LengthScore]:
    """Read the scores of a run by length; nothing if it has none."""
    found = record.metrics.details.get(LENGTHS, [])
    try:
        return TypeAdapter(list[LengthScore]).validate_python(found)
    except ValidationError:  # a record says what it likes
        return []
