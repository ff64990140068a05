"""How the costs of a session grow with the length, beside what each mechanism's card claims.

Choice: a mechanism that is not in the table of mixers claims nothing here, since a page never
        imports what a record names.
"""

from dataclasses import dataclass

from longarena.attention import MIXERS
from longarena.measure.cost import growth, growth_error
from longarena.measure.speed import uncertainty
from longarena.measure.summary import Growth
from longarena.store.costs import CostTable, StepCost
from longarena.store.tables import Row


@dataclass(frozen=True)
class Exponents:
    """The fitted powers of the length; `claimed` and `mult_adds` where there are any."""

    time: float
    memory: float
    mult_adds: float | None
    claimed: float | None
    is_above_claim: bool


def exponents(table: CostTable) -> dict[Row, Exponents]:
    """Fit the growth of every mechanism that was measured at two lengths or more."""
    found: dict[Row, dict[int, StepCost]] = {row: {} for row in table.rows}
    for (row, length), cost in table.costs.items():
        found[row][length] = cost
    return {row: _fit(row, costs) for row, costs in found.items() if len(costs) > 1}


def _fit(row: Row, costs: dict[int, StepCost]) -> Exponents:
    # had the machine been as fast as its best at every length
    seconds = [cost.pace / cost.steps_per_second for cost in costs.values()]
    time = growth(list(costs), seconds)
    errors = [uncertainty(cost.turns) for cost in costs.values()]
    memory = growth(list(costs), [float(cost.peak_bytes) for cost in costs.values()])
    counts = {length: cost.count.mixer * length for length, cost in costs.items() if cost.count}
    is_counted = len(counts) > 1 and all(counts.values())
    mult_adds = growth(list(counts), list(counts.values())) if is_counted else None
    claimed = MIXERS[row.mixer].card.exponent if row.mixer in MIXERS else None
    if claimed is None:
        return Exponents(time, memory, mult_adds, None, is_above_claim=False)
    error = growth_error(list(costs), errors)
    fitted = Growth(row.mixer, time, memory, mult_adds or 0.0, claimed, error)
    return Exponents(time, memory, mult_adds, claimed, fitted.is_above_claim)
