"""The families of the survey, and where each mechanism stands here: speed, memory, score.

Speed and memory are ratios to the Transformer at the longest length that the latest session has
of both. The score is the average over tasks, without Path-X, on the board with the most results;
only mechanisms that did the same number of its tasks are ranked.

Survey: Tay et al. (2020), https://arxiv.org/abs/2009.06732
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import get_args

from longarena.attention import MIXERS, MixerCard
from longarena.attention.base import Family
from longarena.store.boards import Average, Board, boards
from longarena.store.costs import CostTable, cost_tables
from longarena.store.folder import Records
from longarena.store.tables import accuracy_table


@dataclass(frozen=True)
class Standing:
    """A number, and its place among so many others; the first is the best."""

    value: float
    place: int
    among: int


@dataclass(frozen=True)
class Member:
    """A mechanism of a family; it has no standing in what was never tried."""

    mixer: str
    card: MixerCard
    speed: Standing | None
    memory: Standing | None
    score: Standing | None


@dataclass(frozen=True)
class FamilyTable:
    """Every mechanism in the order of the families, and what the standings refer to."""

    members: tuple[Member, ...]
    length: int | None
    preset: str | None
    num_tasks: int


def card(mixer: str) -> MixerCard:
    """Return the card of a mechanism; one that is not in the table is somebody's own.

    Records name what they like, so nothing is imported here.
    """
    return MIXERS[mixer].card if mixer in MIXERS else MixerCard(name=mixer, title=mixer)


def family_table(records: Records) -> FamilyTable:
    """Rank every mechanism of the table and of the records."""
    costs = next(
        (table for table in cost_tables(records.measurements) if table.common_length()), None
    )
    board = max(boards(accuracy_table(records.runs)), key=_num_scores, default=None)
    averages = _averages(board) if board else {}
    num_tasks = max((average.num_tasks for average in averages.values()), default=0)
    scores = {name: found.mean for name, found in averages.items() if found.num_tasks == num_tasks}
    speed, memory = _ratios(costs) if costs else ({}, {})
    standings = [
        _rank(speed, is_more=True),
        _rank(memory, is_more=False),
        _rank(scores, is_more=True),
    ]
    names = sorted({*MIXERS, *speed, *scores}, key=_order)
    return FamilyTable(
        members=tuple(
            Member(name, card(name), *(s.get(name) for s in standings)) for name in names
        ),
        length=costs.common_length() if costs else None,
        preset=board.preset if board else None,
        num_tasks=num_tasks,
    )


def _order(mixer: str) -> tuple[int, int, str]:
    known = list(MIXERS)
    family = get_args(Family).index(card(mixer).family)
    return family, known.index(mixer) if mixer in known else len(known), mixer


def _num_scores(board: Board) -> int:
    return sum(len(line.scores) for line in (*board.comparable, *board.free))


def _averages(board: Board) -> dict[str, Average]:
    """Return the average of every mechanism under the preset itself; a free line has all of it.

    Path-X is left out, as in the paper, unless there is nothing else.
    """
    lines = (*board.comparable, *board.free)
    plain = [line for line in lines if not line.changes and not line.row.options]
    five = {line.row.mixer: line.five for line in plain if line.five}
    return five or {line.row.mixer: line.six for line in plain if line.six}


def _ratios(costs: CostTable) -> tuple[dict[str, float], dict[str, float]]:
    length = costs.common_length()
    found = {
        row.mixer: cost
        for (row, at), cost in costs.costs.items()
        if at == length and not row.options
    }
    speed = {name: cost.speed_ratio for name, cost in found.items() if cost.speed_ratio}
    return speed, {name: cost.memory_ratio for name, cost in found.items() if cost.memory_ratio}


def _rank(values: Mapping[str, float], *, is_more: bool) -> dict[str, Standing]:
    """Give every value its place; equal values share one."""
    order = sorted(values.values(), reverse=is_more)
    return {
        name: Standing(value, order.index(value) + 1, len(order)) for name, value in values.items()
    }
