"""Every table that can be exported, built from records: one function per kind.

    accuracy    one per preset and machine, comparable results; `accuracy-...-free` has the others
    speed       training steps per second by length, one per session, the latest first
    memory      peak of live tensors by length
    limit       operations of a step as a share of the machine's matrix rate
    cost        Mult-Adds per token by kind of layer, one per length
    growth      exponents of time, memory and Mult-Adds with the length, beside the claim
    families    the mechanisms by family, and where each stands here
    ratios      speed and memory relative to the Transformer, here and in the paper
    published   the numbers of the papers

The name of a kind means all of its tables: `cost` is `cost-1024` and `cost-4096`.
"""

from collections.abc import Callable, Mapping

from longarena.report.table import Table
from longarena.report.tables.accuracy import accuracy_tables
from longarena.report.tables.costs import (
    growth_tables,
    limit_tables,
    memory_tables,
    speed_tables,
)
from longarena.report.tables.counts import count_tables
from longarena.report.tables.families import family_tables
from longarena.report.tables.published import published_tables
from longarena.report.tables.ratios import ratio_tables
from longarena.store.folder import Records

TABLES: Mapping[str, Callable[[Records], list[Table]]] = {
    "accuracy": accuracy_tables,
    "speed": speed_tables,
    "memory": memory_tables,
    "limit": limit_tables,
    "cost": count_tables,
    "growth": growth_tables,
    "families": family_tables,
    "ratios": ratio_tables,
    "published": published_tables,
}
