"""What an entry of TABLES is."""

from collections.abc import Callable
from dataclasses import dataclass

from longarena.report.findings import Findings
from longarena.table.table import Table

TRAIN, MEASURE = "longarena train listops linear", "longarena measure"
GENERATE = f"{MEASURE} --generate"
CHOOSE = "longarena choose listops --minutes 30"
COMPARE = "longarena sweep --tasks listops --mixers transformer,linear,s4d"
AGREE = "longarena sweep --tasks listops,pathfinder --mixers all"
SEEDS = "longarena sweep --tasks listops --mixers transformer,linear --seeds 3"
PROBE = "longarena train recall"
TRANSLATE = "longarena train multi30k transformer"
TUNE = "longarena sweep --tasks listops --tune optimiser.rate=3e-4,1e-3,3e-3"


@dataclass(frozen=True)
class TableKind:
    """Tables of one kind, and the command that makes the records they are missing."""

    make: Callable[[Findings], list[Table]]
    remedy: str
