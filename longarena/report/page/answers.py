"""The answers that the page opens with: those of choices, and the one that all records give.

The latter stands on the page as words and, for the form that asks other questions, as JSON of the
fragments that `templates/answer.js` filters and sorts.
"""

from dataclasses import asdict, dataclass

from longarena.findings.answer import Question
from longarena.findings.scores import group
from longarena.findings.verdict import SAME_SPEED, python_lines, sentence, train_command
from longarena.records.choice import ChoiceRecord
from longarena.report.answer.contest_words import ContestWords
from longarena.report.answer.fragments import Fragments, fragments
from longarena.report.answer.notes import FAR, OWN_DATA
from longarena.report.answer.sentence import Spoken, speak
from longarena.report.findings import Findings
from longarena.report.remedies import GENERATE
from longarena.report.tables.choice import choice_table
from longarena.table.table import Table, distinct


@dataclass(frozen=True)
class ChoiceAnswer:
    """A choice in words, its table, and what to type next."""

    record: ChoiceRecord
    table: Table
    sentence: str
    command: str | None
    python: list[str]


@dataclass(frozen=True)
class RecordsAnswer:
    """What all records say to the question without conditions, and the words for others."""

    spoken: Spoken
    words: Fragments
    data: dict[str, object]

    @property
    def suites(self) -> dict[str, list[ContestWords]]:
        """The contests by the titles of their suites."""
        return group(self.words.contests, lambda contest: contest.suite)


def choice_answers(found: Findings) -> list[ChoiceAnswer]:
    """Return what the choices say, the latest first."""
    latest = sorted(found.records.choices, key=lambda each: each.finished_at, reverse=True)
    tables = distinct(map(choice_table, latest))
    return [
        ChoiceAnswer(
            record, table, _capital(sentence(record)), train_command(record), python_lines(record)
        )
        for record, table in zip(latest, tables, strict=True)
    ]


def records_answer(found: Findings) -> RecordsAnswer | None:
    """Return what all records say; None where no two mechanisms can be compared."""
    if not found.contests:
        return None
    words = fragments(found)
    return RecordsAnswer(speak(found, words, Question()), words, _data(words))


def _data(words: Fragments) -> dict[str, object]:
    """Pack the fragments for the script: lists where there are many of a kind."""
    data = asdict(words)
    for mechanism in data["mechanisms"]:
        mechanism["costs"] = [list(cost.values()) for cost in mechanism["costs"]]
    for contest in data["contests"]:
        contest["entries"] = [list(entry.values()) for entry in contest["entries"]]
    constants = {"same_speed": SAME_SPEED, "far": FAR, "own_data": OWN_DATA, "generate": GENERATE}
    return data | constants


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
