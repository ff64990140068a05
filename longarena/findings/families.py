"""The families of the survey, and where each mechanism stands here: speed, memory, score.

Speed and memory are ratios to the Transformer at the longest length at which the latest session
measured both. The score is the first average of the suite, on the arena's board with the most
results under a common recipe; only mechanisms that were run on the same number of its tasks are
ranked.

Survey: Tay et al. (2020), https://arxiv.org/abs/2009.06732
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

from longarena.attention import CARDS, Family, MixerCard
from longarena.findings.boards import Average, Board, boards
from longarena.findings.costs import CostTable, cost_tables
from longarena.findings.scores import score_table
from longarena.findings.suites import ARENA
from longarena.records.folder import Records
from longarena.tracks.metric import Metric


@dataclass(frozen=True)
class Standing:
    """A number, and its place among all of its kind; the first place is the best."""

    value: float
    place: int
    among: int


@dataclass(frozen=True)
class Member:
    """A mechanism of a family; its standing is None in what was never measured."""

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
    metric: Metric | None = None


def family_table(records: Records) -> FamilyTable:
    """Rank every mechanism of the table and of the records."""
    scores = score_table(records.runs, records.tunings)
    return rank_families(boards(scores), cost_tables(records.measurements))


def rank_families(found: Sequence[Board], sessions: Sequence[CostTable]) -> FamilyTable:
    """Rank every mechanism by what boards and sessions say."""
    costs = next((table for table in sessions if table.common_length()), None)
    plain = [each for each in found if each.suite is ARENA and not each.changes]
    board = max((each for each in plain if each.has_common_recipe), key=_num_scores, default=None)
    averages = _averages(board) if board else {}
    num_tasks = max((average.num_tasks for average in averages.values()), default=0)
    scores = {name: found.mean for name, found in averages.items() if found.num_tasks == num_tasks}
    metric = _metric(board) if board else None
    speed, memory = _ratios(costs) if costs else ({}, {})
    standings = [
        _rank(speed, is_more=True),
        _rank(memory, is_more=False),
        _rank(scores, is_more=metric is None or metric.better == "more"),
    ]
    cards = CARDS | _own_cards(board, costs)
    names = sorted({*CARDS, *speed, *scores}, key=lambda name: _order(name, cards))
    return FamilyTable(
        members=tuple(
            Member(name, cards[name], *(s.get(name) for s in standings)) for name in names
        ),
        length=costs.common_length() if costs else None,
        preset=_setting(board) if board else None,
        num_tasks=num_tasks,
        metric=metric,
    )


def _own_cards(board: Board | None, costs: CostTable | None) -> dict[str, MixerCard]:
    """Return the cards of the mechanisms from outside."""
    lines = (*board.comparable, *board.free) if board else ()
    rows = [*(line.row for line in lines), *(costs.rows if costs else ())]
    return {row.mixer: row.card for row in rows if row.mixer not in CARDS}


def _order(mixer: str, cards: Mapping[str, MixerCard]) -> tuple[int, int, str]:
    known = list(CARDS)
    family = get_args(Family).index(cards[mixer].family)
    return family, known.index(mixer) if mixer in known else len(known), mixer


def _setting(board: Board) -> str:
    return f"{board.preset}, tuned" if board.tuning.words else board.preset


def _num_scores(board: Board) -> int:
    return sum(len(line.scores) for line in (*board.comparable, *board.free))


def _averages(board: Board) -> dict[str, Average]:
    """Return the average of every mechanism under the preset itself.

    It is the suite's first average (in the arena, as in the paper, without Path-X), or the next one
    if that is empty. The average of a free line includes its comparable results.
    """
    lines = (*board.comparable, *board.free)
    plain = [line for line in lines if not line.changes and not line.row.words]
    for which in range(len(board.suite.averages)):
        averages = {line.row.mixer: line.averages[which] for line in plain}
        if found := {mixer: average for mixer, average in averages.items() if average}:
            return found
    return {}


def _metric(board: Board) -> Metric | None:
    """Return the metric of the first average that has one."""
    metrics = map(board.average_metric, range(len(board.suite.averages)))
    return next((metric for metric in metrics if metric), None)


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
