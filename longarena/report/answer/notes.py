"""What an answer rests on, at which lengths, and what would make it better."""

from collections.abc import Sequence
from dataclasses import dataclass

from longarena.findings.answer import Question
from longarena.report.answer.contest_words import ContestWords
from longarena.report.answer.fragments import Fragments
from longarena.report.answer.missing import names
from longarena.report.remedies import GENERATE

# a length that is off by more than this factor says little
FAR = 1.5
OWN_DATA = "longarena choose YOUR_DATA"


@dataclass(frozen=True)
class Note:
    """A remark, and the command that helps, if there is one."""

    words: str
    command: str = ""


def notes(
    question: Question, contest: ContestWords, words: Fragments, at: int, unmeasured: Sequence[str]
) -> list[Note]:
    """Say what an answer rests on, with the costs of one of the lengths."""
    found = [Note(contest.note), _measured(question, contest, words, at, unmeasured)]
    if question.length and contest.length and question.length > FAR * contest.length:
        asked = f"No score is of examples of {question.length:,.0f} tokens; ask your own data"
        found.append(Note(asked, OWN_DATA))
    if question.must_decode and not words.has_generation:
        found.append(Note("What each carries from token to token was not measured", GENERATE))
    if contest.missing.words:
        found.append(Note(contest.missing.words, contest.missing.command))
    return found


def _measured(
    question: Question, contest: ContestWords, words: Fragments, at: int, unmeasured: Sequence[str]
) -> Note:
    """Say at which length costs were measured, and how to measure what is missing."""
    here, wanted = words.lengths[at], question.length or contest.length
    if not here.length:
        return Note(here.note, words.measure)
    parts, lengths = [here.note], [each.length for each in words.lengths]
    is_far = False
    if wanted and wanted != here.length:
        parts.append(f"of the measured lengths the nearest to {wanted:,.0f}")
        is_far = max(wanted / here.length, here.length / wanted) > FAR
    if is_far:
        lengths = sorted([*lengths, round(wanted or 0)])
    if unmeasured:
        parts.append(f"not measured: {names(unmeasured)}")
    command = f"{words.measure} --lengths {','.join(map(str, lengths))}"
    return Note("; ".join(parts), command if is_far or unmeasured else "")
