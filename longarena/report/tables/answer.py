"""Which one to take, as a table per contest: everybody in order, with the reasons as numbers.

The order is that of the page without any conditions: who cannot be told from the best comes first,
the fastest in front; the others follow by their scores.
"""

from longarena.findings.answer import Answer, Place, Question, answer
from longarena.report.answer.contest_words import ContestWords
from longarena.report.answer.fragments import fragments
from longarena.report.answer.sentence import Spoken, speak
from longarena.report.findings import Findings
from longarena.report.formatting import bytes_name, length_name, metric_name, ratio
from longarena.report.tables.mechanism import MECHANISM, mechanism
from longarena.report.tables.scores import TIED_WORDS
from longarena.table.table import MISSING, Cell, Column, Row, Table, Words

PLAIN = Question()


def answer_tables(found: Findings) -> list[Table]:
    """Tabulate the order of every contest."""
    words = fragments(found)
    return [
        _table(
            answer(contest, PLAIN, found.widest),
            speak(found, words, PLAIN, which),
            words.contests[which],
        )
        for which, contest in enumerate(found.contests)
    ]


def _table(found: Answer, spoken: Spoken, words: ContestWords) -> Table:
    metric = found.contest.metric
    at = f"at {length_name(found.length)}" if found.length else "not measured"
    return Table(
        name=f"answer-{words.name}",
        title=f"{words.suite}, {words.title}: which one to take",
        columns=(
            MECHANISM,
            Column("Standing", "text"),
            Column("Test", unit=metric_name(metric), better=metric.better),
            Column("Speed", unit="relative to the Transformer", details=(at,), better="more"),
            Column("Memory", unit="relative to the Transformer", details=(at,), better="less"),
            Column("Parameters", unit="relative to the Transformer", better="less"),
            Column("Decodes", "text"),
        ),
        rows=tuple(_row(found, words, place) for place in found.places),
        note=" ".join([spoken.sentence, *(f"{note.words}." for note in spoken.notes)]),
    )


def _row(found: Answer, words: ContestWords, place: Place) -> Row:
    entry, cost = place.entry, place.cost
    which = found.contest.entries.index(entry)
    interval = words.entries[which].score.partition("(")[2].rstrip(")")
    metric = found.contest.metric
    score = Cell(metric.write(entry.value), metric.scaled(entry.value), note=interval)
    return Row(
        (
            mechanism(entry.row),
            Cell(_standing(found, place)),
            score,
            _ratio(cost.speed_ratio, "") if cost else MISSING,
            _ratio(cost.memory_ratio, bytes_name(cost.peak_bytes)) if cost else MISSING,
            _ratio(entry.size, ""),
            Cell("yes" if entry.row.card.causal else "no"),
        ),
        {"family": entry.row.card.family},
    )


def _standing(found: Answer, place: Place) -> str:
    best = found.best
    if best is None or best.row == place.entry.row:
        return "best"
    return TIED_WORDS if found.contest.is_tied(best.row, place.entry.row) else "worse"


def _ratio(value: float | None, note: str) -> Cell:
    if value is None:
        return Cell(note) if note else MISSING
    return Cell(ratio(value), value, note=note, details=((Words(note),),) if note else ())
