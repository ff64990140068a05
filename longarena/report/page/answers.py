"""The answers of choices, as the page shows them above everything else."""

from dataclasses import dataclass

from longarena.findings.verdict import python_lines, sentence, train_command
from longarena.records.choice import ChoiceRecord
from longarena.report.findings import Findings
from longarena.report.tables.choice import choice_table
from longarena.table.table import Table, distinct


@dataclass(frozen=True)
class Answer:
    """A choice in words, its table, and what to type next."""

    record: ChoiceRecord
    table: Table
    sentence: str
    command: str | None
    python: list[str]


def answers(found: Findings) -> list[Answer]:
    """Return what the choices say, the latest first."""
    latest = sorted(found.records.choices, key=lambda each: each.finished_at, reverse=True)
    tables = distinct(map(choice_table, latest))
    return [
        Answer(
            record, table, _capital(sentence(record)), train_command(record), python_lines(record)
        )
        for record, table in zip(latest, tables, strict=True)
    ]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
