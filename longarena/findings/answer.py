"""Which one should I take? The mechanisms of a contest in the order that suits a question.

    by_score    1 for the best and who is tied with it; the others by their scores
    by_speed    1 + how many take a training step faster, by 5 % or more
    order       (1 - speed_share) by_score + speed_share by_speed, the least first

With a share of 0 those that cannot be told from the best come first, the fastest of them in front,
and the others follow in the order of their scores. Who cannot serve is set aside with the reason:
no better than an answer without a model, cannot decode, did not run at the length, takes too much
memory, has more parameters than the rules of the suite allow.

Choice: only ties with the best share a place. Ties are not transitive, so that places counted by
        them would put a fast mechanism before better ones.
Choice: speed and memory are those at the measured length that is nearest to the wanted one. A
        question without a length takes that of the contest's longest task, so that speeds and
        scores belong together.
Choice: who was not measured comes last by speed; a limit of memory does not concern it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from longarena.findings.contests import Contest, Entry
from longarena.findings.costs import CostTable, StepCost, nearest
from longarena.findings.scores import Row
from longarena.findings.verdict import SAME_SPEED

Reason = Literal[
    "no better than chance", "cannot decode", "did not run", "too much memory", "too large"
]


@dataclass(frozen=True)
class Question:
    """What is wanted: a length in tokens, limits, decoding, and how much speed matters."""

    length: float | None = None
    max_memory_bytes: float | None = None
    must_decode: bool = False
    must_keep_budget: bool = False
    speed_share: float = 0.0


@dataclass(frozen=True)
class Place:
    """A mechanism in the order, and its places by score and by speed, where that was measured."""

    entry: Entry
    cost: StepCost | None
    by_score: int
    by_speed: int | None


@dataclass(frozen=True)
class Answer:
    """The order of a contest, and who was set aside; costs are those at `length`."""

    contest: Contest
    question: Question
    length: int | None
    places: tuple[Place, ...]
    aside: Mapping[Row, Reason]

    @property
    def best(self) -> Entry | None:
        """The best of those in the order by its score."""
        ranked = {place.entry.row for place in self.places}
        return next((entry for entry in self.contest.entries if entry.row in ranked), None)


def answer(contest: Contest, question: Question, session: CostTable | None) -> Answer:
    """Put the mechanisms of a contest in order."""
    length = nearest_length(session, question.length or contest.length)
    costs = {
        entry.row: session.costs.get((entry.row, length)) if session and length else None
        for entry in contest.entries
    }
    failed = {row for row, at in session.failures if at == length} if session else set[Row]()
    aside: dict[Row, Reason] = {}
    for entry in contest.entries:
        if contest.is_over_budget(entry) and question.must_keep_budget:
            aside[entry.row] = "too large"
        elif reason := _reason(entry, question, costs[entry.row], has_failed=entry.row in failed):
            aside[entry.row] = reason
    left = [entry for entry in contest.entries if entry.row not in aside]
    values = [entry.value for entry in left]
    places = [
        Place(
            entry,
            costs[entry.row],
            by_score=1
            if contest.is_tied(left[0].row, entry.row)
            else 1 + values.index(entry.value),
            by_speed=_place_by_speed(costs[entry.row], [costs[other.row] for other in left]),
        )
        for entry in left
    ]
    share = question.speed_share
    return Answer(contest, question, length, tuple(_ordered(places, share)), aside)


def nearest_length(session: CostTable | None, wanted: float | None) -> int | None:
    """Return the measured length that is nearest to a wanted one, by default the shortest."""
    return nearest(session.shared_lengths() if session else [], wanted or 1)


def _reason(
    entry: Entry, question: Question, cost: StepCost | None, *, has_failed: bool
) -> Reason | None:
    """Say why a mechanism cannot serve; None if it can."""
    if not entry.has_learnt:
        return "no better than chance"
    if question.must_decode and not entry.row.card.causal:
        return "cannot decode"
    if has_failed:
        return "did not run"
    most = question.max_memory_bytes
    return "too much memory" if most and cost and cost.peak_bytes > most else None


def _place_by_speed(cost: StepCost | None, field: Sequence[StepCost | None]) -> int | None:
    if cost is None:
        return None
    least = SAME_SPEED * cost.steps_per_second
    return 1 + sum(each is not None and each.steps_per_second >= least for each in field)


def _ordered(places: Sequence[Place], share: float) -> list[Place]:
    """Sort by the weighted places; equal ones by what matters more, then by the other.

    The places come in the order of their scores, which decides the rest.
    """

    def key(place: Place) -> tuple[float, int, int]:
        by = place.by_score, place.by_speed or len(places)
        return (1 - share) * by[0] + share * by[1], *(by if share <= 0.5 else by[::-1])

    return sorted(places, key=key)
