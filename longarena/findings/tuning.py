"""Which runs have values that were chosen by tuning, and out of which.

    Procedure   what was tried, and whether the worse ones were stopped early; results of the
                same procedure were given the same chances, so they may be compared
    Choices     the procedures by which the values of a run were chosen, whatever its seed

Choice: where the same tuning was done twice, only the later one counts.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from longarena.findings.changes import flatten, write
from longarena.options import Value
from longarena.recipes.recipe import Recipe, id_without_seed
from longarena.records.tuning import TuningRecord


@dataclass(frozen=True)
class Procedure:
    """How values were chosen; that of an untuned run has no grid."""

    grid: tuple[tuple[str, tuple[str, ...]], ...] = ()
    is_halved: bool = False

    @classmethod
    def of(cls, record: TuningRecord) -> "Procedure":
        """Read it from a record."""
        grid = tuple((key, tuple(map(value_text, tried))) for key, tried in record.grid.items())
        return cls(grid, record.is_halved)

    @property
    def keys(self) -> tuple[str, ...]:
        """What was tuned."""
        return tuple(key for key, _ in self.grid)

    @property
    def words(self) -> str:
        """What was tried, in one line; empty if nothing was.

        >>> Procedure((("optimiser.rate", ("0.001", "0.01")),), is_halved=True).words
        'optimiser.rate of 0.001, 0.01, with halving'
        """
        tried = " and ".join(f"{key} of {', '.join(values)}" for key, values in self.grid)
        return f"{tried}, with halving" if self.is_halved else tried

    def chosen(self, recipe: Recipe) -> str:
        """Write the values that a recipe has for what was tuned."""
        flat = flatten(recipe)
        return write({key: flat[key] for key in self.keys if key in flat})


UNTUNED = Procedure()


class Choices:
    """The procedures that chose the values of some runs."""

    def __init__(self, tunings: Iterable[TuningRecord]) -> None:
        self._found: dict[str, list[Procedure]] = defaultdict(list)
        for record in latest(tunings):
            self._found[id_without_seed(record.recipe)].append(Procedure.of(record))

    def behind(self, recipe: Recipe) -> Sequence[Procedure]:
        """Return the procedures that chose the values of a recipe."""
        return self._found.get(id_without_seed(recipe), ()) if self._found else ()


def latest(tunings: Iterable[TuningRecord]) -> list[TuningRecord]:
    """Keep the later one of tunings that asked the same."""
    ordered = sorted(tunings, key=lambda record: record.finished_at)
    return list({record.id: record for record in ordered}.values())


def value_text(value: Value) -> str:
    """Write one value of a grid.

    >>> value_text(0.001), value_text("cosine"), value_text(True)
    ('0.001', 'cosine', 'true')
    """
    return write({"": value}).removeprefix("=")
