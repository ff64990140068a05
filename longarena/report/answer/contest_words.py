"""A contest in words: what is compared, every score with its interval, who is tied with whom."""

from collections.abc import Sequence
from dataclasses import dataclass

from longarena.findings.contests import Contest, Entry
from longarena.findings.scores import Column, Row
from longarena.report.answer.missing import Missing, missing, names
from longarena.report.formatting import (
    card,
    data_parts,
    metric_name,
    other_data,
    range_name,
    task_title,
    task_word,
    tuned,
)
from longarena.table.table import slug

# a mean is off by less than so many standard errors in 95 cases of 100
REACH = 1.96


@dataclass(frozen=True)
class EntryWords:
    """A mechanism in a contest, with its value in the unit of the metric.

    `tied` has a character for every entry of the contest: 1 if the two are tied, and else 0.
    `size` says how many parameters it has, if that is more than the rules of the suite allow.
    """

    mechanism: int
    value: float
    score: str
    has_learnt: bool
    tied: str
    size: str


@dataclass(frozen=True)
class ContestWords:
    """What mechanisms are compared on, and those that are, the best first."""

    name: str
    suite: str
    title: str
    best: str
    level: str
    length: int | None
    decimals: int
    entries: tuple[EntryWords, ...]
    note: str
    missing: Missing


def contest_words(contests: Sequence[Contest], rows: Sequence[Row]) -> tuple[ContestWords, ...]:
    """Write every contest; the entries point at rows."""
    used: dict[str, int] = {}
    found = []
    for contest in contests:
        one = contest.columns[0] if len(contest.columns) == 1 else None
        name = slug(one.task if one else contest.board.suite.name) or "task"
        used[name] = used.get(name, 0) + 1
        name += f"-{used[name]}" if used[name] > 1 else ""
        found.append(_contest(contest, name, rows))
    return tuple(found)


def _contest(contest: Contest, name: str, rows: Sequence[Row]) -> ContestWords:
    one, tasks = contest.columns[0], len(contest.columns)
    title = f"average of {tasks} tasks" if tasks > 1 else _title(one, contest.board.columns)
    return ContestWords(
        name=name,
        suite=contest.board.suite.title,
        title=title[:1].upper() + title[1:],
        best=f"the best {title}" if tasks > 1 else f"the best on {task_word(one.task)}",
        level=contest.metric.write_with_unit(contest.level),
        length=contest.length,
        decimals=contest.metric.decimals,
        entries=tuple(_entry(contest, entry, rows) for entry in contest.entries),
        note=_note(contest),
        missing=missing(contest),
    )


def _title(column: Column, among: Sequence[Column]) -> str:
    """Name a task, and how its data differs from the preset's or from another column's."""
    if sum(other.task == column.task for other in among) > 1:
        return ", ".join([task_word(column.task), *data_parts(column, among)])
    return ", ".join([task_title(column.task, column.variant), *other_data(column)])


def _entry(contest: Contest, entry: Entry, rows: Sequence[Row]) -> EntryWords:
    metric = contest.metric
    bounds = sorted((entry.value - REACH * entry.error, entry.value + REACH * entry.error))
    low, high = map(metric.write, bounds)
    tied = (contest.is_tied(entry.row, other.row) for other in contest.entries)
    return EntryWords(
        rows.index(entry.row),
        round(metric.scaled(entry.value), metric.decimals + 4),
        f"{metric.write_with_unit(entry.value)} ({low} to {high})",
        entry.has_learnt,
        "".join(str(int(each)) for each in tied),
        _size(contest, entry),
    )


def _size(contest: Contest, entry: Entry) -> str:
    baseline = card(contest.board.suite.baseline).title
    words = f"{entry.size:.2f} times the parameters of the {baseline}"
    return words if contest.is_over_budget(entry) else ""


def _note(contest: Contest) -> str:
    """Say what the scores are, and at which lengths they were obtained."""
    board, tasks = contest.board, [task_word(column.task) for column in contest.columns]
    over = f"mean over {names(tasks)}" if len(tasks) > 1 else tasks[0]
    lengths = range_name(contest.lengths)
    changed = " with the changes that its table names" if board.changes else ""
    parts = [
        f"Scores: test {metric_name(contest.metric)}, {over}",
        f"preset {board.preset}{changed}",
        tuned(board.tuning),
        f"examples of {lengths} tokens" if lengths else "",
        "95 % intervals",
        "one seed each, whose luck is not in them" if contest.num_seeds == 1 else "",
    ]
    return "; ".join(filter(None, parts))
