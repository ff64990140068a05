"""The words that an answer is made of: for every contest, mechanism and measured length.

They are few enough to stand in the page as JSON. A question chooses among them: `sentence.py` puts
them together for the question that the page opens with, `answer.js` for all others.
"""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from longarena.attention.cards import CARDS
from longarena.findings.costs import CostTable
from longarena.findings.generation import GenerationTable
from longarena.findings.scores import Row, row_order
from longarena.report.answer.contest_words import ContestWords, contest_words
from longarena.report.answer.cost_words import CostWords, LengthWords, cost_words, length_words
from longarena.report.findings import Findings
from longarena.report.formatting import row_name
from longarena.report.remedies import MEASURE


@dataclass(frozen=True)
class MechanismWords:
    """A mechanism, with its costs at every measured length."""

    title: str
    family: str
    decodes: bool
    why_not: str
    costs: tuple[CostWords, ...]


@dataclass(frozen=True)
class Fragments:
    """All words; the entries of contests point at the mechanisms.

    `measure` is the command that measures everybody, but for the lengths.
    """

    mechanisms: tuple[MechanismWords, ...]
    lengths: tuple[LengthWords, ...]
    contests: tuple[ContestWords, ...]
    measure: str
    has_generation: bool


def fragments(found: Findings) -> Fragments:
    """Write every fragment; without any measurement there is one length, 0."""
    session = found.widest
    rows = {entry.row for contest in found.contests for entry in contest.entries}
    ordered = tuple(sorted(rows, key=row_order))
    lengths = session.shared_lengths() if session else [0]
    generation = next((table for table in found.generations if table.costs), None)
    return Fragments(
        tuple(_mechanism(row, lengths, session, generation) for row in ordered),
        tuple(length_words(length, session) for length in lengths),
        contest_words(found.contests, ordered),
        _measure(ordered, session),
        has_generation=generation is not None,
    )


def _measure(rows: Sequence[Row], session: CostTable | None) -> str:
    own = dict.fromkeys(row.mixer for row in rows if row.mixer not in CARDS)
    batch = ["--batch", str(session.batch_size)] if session else []
    return f"{MEASURE} {shlex.join(['all', *own, *batch])}"


def _mechanism(
    row: Row,
    lengths: Sequence[int],
    session: CostTable | None,
    generation: GenerationTable | None,
) -> MechanismWords:
    return MechanismWords(
        row_name(row),
        row.card.family,
        row.card.causal,
        row.card.why_not_causal,
        tuple(cost_words(row, length, session, generation) for length in lengths),
    )
