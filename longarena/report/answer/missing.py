"""What a comparison lacks, and the command that makes it."""

from collections.abc import Sequence
from dataclasses import dataclass

from longarena import tasks
from longarena.attention.cards import CARDS
from longarena.findings.changes import sweep_command
from longarena.findings.contests import Contest, Gap, Why
from longarena.findings.scores import group
from longarena.recipes.presets import mixers_of
from longarena.report.formatting import card, many, row_name, task_word

MOST_NAMES = 5


@dataclass(frozen=True)
class Absent:
    """A mechanism that is not in the order, and why."""

    title: str
    why: str


@dataclass(frozen=True)
class Missing:
    """Who is not in the order, what else is missing, and the command that runs it."""

    absent: tuple[Absent, ...]
    words: str
    command: str


def missing(contest: Contest) -> Missing:
    """Say what a contest lacks."""
    there = {row.mixer for row in (*contest.absent, *(each.row for each in contest.entries))}
    others, able = _other_tasks(contest), _able(contest)
    gaps = [gap for found in contest.absent.values() for gap in found]
    num_others = len(set(able) - there)
    lacks = [f"not run here: {num_others} of {len(able)} mechanisms"] if num_others else []
    if others:
        lacks.append(f"too few have a score to compare on {names([*map(task_word, others)])}")
    if not lacks and any(gap.why == "not run" for gap in gaps):
        lacks = [f"{many(len(contest.absent), 'mechanism')} cannot be compared yet"]
    words = "; ".join(lacks)
    return Missing(
        tuple(Absent(row_name(row), _why(contest, found)) for row, found in contest.absent.items()),
        words[:1].upper() + words[1:],
        (_command(contest, others) or "") if words else "",
    )


def names(titles: Sequence[str]) -> str:
    """Join names with commas and a last and; many are counted.

    >>> names(["a"]), names(["a", "b", "c"]), names(list("abcdefgh"))
    ('a', 'a, b and c', 'a, b, c, d, e and 3 others')
    """
    shown = list(titles)
    if len(shown) > MOST_NAMES + 1:
        shown = [*shown[:MOST_NAMES], f"{len(shown) - MOST_NAMES} others"]
    *rest, last = shown
    return f"{', '.join(rest)} and {last}" if rest else last


def _able(contest: Contest) -> list[str]:
    """List the mechanisms of the table that could take part; of a foreign task nobody knows."""
    task = contest.columns[0].task
    return mixers_of(contest.board.preset, task) if task in tasks.TASKS else []


def _other_tasks(contest: Contest) -> list[str]:
    """Return the tasks of the suite's average that a contest of several tasks leaves out."""
    averages = contest.board.suite.averages
    if len(contest.columns) == 1 or not averages:
        return []
    counted = {column.task for column in contest.columns}
    return [task for task in averages[0].tasks if task not in counted]


def _why(contest: Contest, gaps: Sequence[Gap]) -> str:
    """Say why a mechanism has no score to compare on some tasks."""
    base = card(contest.board.suite.baseline).title
    words: dict[Why, str] = {
        "not run": "not run on",
        "diverged": "diverged on",
        "no baseline": f"no {base} to compare its size with on",
    }
    by_reason = group(gaps, lambda gap: gap.why)
    return "; ".join(
        f"{words[why]} {names([task_word(gap.column.task) for gap in found])}"
        for why, found in by_reason.items()
    )


def _command(contest: Contest, others: Sequence[str]) -> str | None:
    """Write the command that runs what is missing; finished runs are skipped."""
    scores, tuning = contest.board.alike(contest.columns[0]), contest.board.tuning
    plain = min(scores, key=lambda row: (bool(row.words), row.mixer not in CARDS))
    own = [row.mixer for row in contest.absent if row.mixer not in CARDS]
    tunes = [f"{key}={','.join(values)}" for key, values in tuning.grid]
    return sweep_command(
        scores[plain].runs[0].recipe,
        *(word for tune in tunes for word in ("--tune", tune)),
        *(["--halve"] if tuning.is_halved else []),
        varied=tuning.keys,
        tasks=",".join([*(column.task for column in contest.columns), *others]),
        mixers=",".join(["all", *dict.fromkeys(own)]),
    )
