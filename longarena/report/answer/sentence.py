"""The answer to a question in one sentence, and the reason for every place in the order.

    Take S4D: the best average of 5 tasks, tied with no other, 68.7% (67.5 to 69.8); 1.9 times as
    slow as the Transformer at 1K, with 1.4 times its memory (290 MiB).

`answer.js` writes the same words for the questions that a reader asks on the page.
"""

from dataclasses import dataclass, replace

from longarena.findings.answer import Answer, Place, Question, answer
from longarena.findings.scores import Row
from longarena.report.answer.contest_words import ContestWords
from longarena.report.answer.cost_words import CostWords
from longarena.report.answer.fragments import Fragments, MechanismWords
from longarena.report.answer.missing import Absent
from longarena.report.answer.notes import Note, notes
from longarena.report.findings import Findings

EVEN = 0.5


@dataclass(frozen=True)
class Told:
    """A mechanism, and why it stands where it does."""

    title: str
    family: str
    words: str


@dataclass(frozen=True)
class Spoken:
    """An answer in words: what to take, why, what else, everybody in order, who was set aside."""

    take: str
    why: str
    other: str
    ranked: tuple[Told, ...]
    aside: tuple[Told, ...]
    absent: tuple[Absent, ...]
    notes: list[Note]

    @property
    def sentence(self) -> str:
        """The answer in one sentence."""
        return f"{self.take}: {self.why}"


def speak(found: Findings, words: Fragments, question: Question, which: int = 0) -> Spoken:
    """Answer a question about one of the contests."""
    contest, session = found.contests[which], found.widest
    first = _Speech(answer(contest, question, session), words, words.contests[which])
    even = replace(question, speed_share=EVEN)
    second = _Speech(answer(contest, even, session), words, words.contests[which])
    return Spoken(
        *first.sentence(),
        second.alternative(first),
        first.ranked(),
        first.aside(),
        first.contest.missing.absent,
        notes(question, first.contest, words, first.at, first.unmeasured),
    )


class _Speech:
    """Puts the fragments of one answer together."""

    def __init__(self, found: Answer, words: Fragments, contest: ContestWords) -> None:
        self.found, self.words, self.contest = found, words, contest
        lengths = [each.length for each in words.lengths]
        self.at = lengths.index(found.length or 0)
        self.entries = {
            entry.row: spoken
            for entry, spoken in zip(found.contest.entries, contest.entries, strict=True)
        }
        self.tied = [place for place in found.places if self._is_tied(place.entry.row)]

    @property
    def unmeasured(self) -> list[str]:
        """Who stands in the order without a speed."""
        rows = [place.entry.row for place in self.found.places if place.cost is None]
        return [self._mechanism(row).title for row in rows]

    def sentence(self) -> tuple[str, str]:
        """Say which one to take, and why."""
        if not self.found.places:
            return self._nobody()
        first = self.found.places[0]
        row, fastest = first.entry.row, self._fastest(first)
        standing = " and ".join(filter(None, [self._standing(row, self.contest.best), fastest]))
        how = f"{standing}, {self.entries[row].score}"
        decoding = [self._cost(row).decoding] if self.found.question.must_decode else []
        parts = [how, self.entries[row].size, self._cost(row).words, *decoding]
        words = "; ".join(filter(None, parts))
        return f"Take {self._mechanism(row).title}", f"{words}."

    def alternative(self, first: "_Speech") -> str:
        """Say what to take where speed matters as much; nothing if that is the same."""
        if first.found.question.speed_share > 0 or not self.found.places:
            return ""
        row, taken = self.found.places[0].entry.row, first.found.places[0]
        if row == taken.entry.row or taken.cost is None:
            return ""
        parts = [f"{self.entries[row].score}, {self._standing(row)}", self.entries[row].size]
        words = "; ".join(filter(None, [*parts, self._cost(row).words]))
        return f"Where speed matters as much, take {self._mechanism(row).title}: {words}."

    def ranked(self) -> tuple[Told, ...]:
        """Give the reason for every place."""
        return tuple(
            self._told(place.entry.row, self._reason(place)) for place in self.found.places
        )

    def aside(self) -> tuple[Told, ...]:
        """Say why others were set aside."""
        return tuple(self._told(row, self._excuse(row)) for row in self.found.aside)

    def _nobody(self) -> tuple[str, str]:
        if set(self.found.aside.values()) == {"no better than chance"}:
            level = f"an answer without a model ({self.contest.level})"
            return "Take none yet", f"no mechanism is better than {level} beyond error."
        return "Take none", "no mechanism meets these conditions."

    def _reason(self, place: Place) -> str:
        row = place.entry.row
        cost = self._cost(row)
        by_speed = "not measured" if place.by_speed is None else place.by_speed
        places = f"place {place.by_score} of {len(self.found.places)} by score, {by_speed} by speed"
        is_weighed = self.found.question.speed_share > 0
        how = f"{self.entries[row].score}, {self._standing(row)}"
        parts = [how, places if is_weighed else "", self.entries[row].size]
        return "; ".join([*filter(None, parts), cost.words, cost.decoding])

    def _excuse(self, row: Row) -> str:
        cost, mechanism = self._cost(row), self._mechanism(row)
        match self.found.aside[row]:
            case "no better than chance":
                level = f"an answer without a model ({self.contest.level})"
                return f"{self.entries[row].score}, no better than {level} beyond error"
            case "cannot decode":
                return ": ".join(filter(None, [cost.decoding, mechanism.why_not]))
            case "did not run":
                return cost.words
            case "too much memory":
                return f"above the limit of memory: {cost.words}"
            case "too large":
                return self.entries[row].size

    def _standing(self, row: Row, the_best: str = "the best") -> str:
        """Say how a score stands beside the best."""
        best = self.found.best
        if best is None or best.row == row:
            others = len(self.tied) - 1
            tied = f"{others} other{'s' * (others > 1)}" if others else "no other"
            return f"{the_best}, tied with {tied}"
        whom = f"{the_best} ({self._mechanism(best.row).title})"
        if self._is_tied(row):
            return f"tied with {whom}"
        apart = abs(self.entries[best.row].value - self.entries[row].value)
        return f"{apart:.{self.contest.decimals}f} behind {whom}"

    def _fastest(self, place: Place) -> str:
        """Say that the one to take is the fastest of those tied, or of all."""
        if place.by_speed is None or len(self.found.places) == 1:
            return ""
        if place.by_speed == 1:
            return "the fastest"
        known = [other.by_speed for other in self.tied if other.by_speed]
        is_fastest = place in self.tied and len(known) > 1 and place.by_speed == min(known)
        return f"the fastest of the {len(self.tied)} tied" if is_fastest else ""

    def _is_tied(self, row: Row) -> bool:
        best = self.found.best
        return best is not None and self.found.contest.is_tied(best.row, row)

    def _told(self, row: Row, words: str) -> Told:
        return Told(self._mechanism(row).title, self._mechanism(row).family, words)

    def _mechanism(self, row: Row) -> MechanismWords:
        return self.words.mechanisms[self.entries[row].mechanism]

    def _cost(self, row: Row) -> CostWords:
        return self._mechanism(row).costs[self.at]
