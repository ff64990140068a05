"""How the costs of a session grow with the length, beside what each mechanism's card claims.

Choice: a mechanism that is not in the table of mixers claims nothing here, since a page never
        imports what a record names.
"""

from longarena.attention import MIXERS
from longarena.measure.growth import Growth, Point, fit_growth
from longarena.measure.speed import uncertainty
from longarena.store.costs import CostTable, StepCost
from longarena.store.tables import Row


def growths(table: CostTable) -> dict[Row, Growth]:
    """Fit the growth of every mechanism that was measured at two lengths or more."""
    found: dict[Row, list[Point]] = {row: [] for row in table.rows}
    for (row, length), cost in table.costs.items():
        found[row].append(_point(length, cost))
    return {
        row: fit_growth(points, MIXERS[row.mixer].card.exponent if row.mixer in MIXERS else None)
        for row, points in found.items()
        if len(points) > 1
    }


def _point(length: int, cost: StepCost) -> Point:
    return Point(
        length,
        # had the machine been as fast as its best at every length
        cost.pace / cost.steps_per_second,
        uncertainty(cost.turns),
        float(cost.peak_bytes),
        length * cost.count.mixer if cost.count else None,
    )
