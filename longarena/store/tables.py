"""The accuracy table: a pure function of records. What may not be mixed never shares a column.

    rows = mechanisms        columns = task, version, data, preset, changes to it, machine

Choice: the spread is the standard deviation over seeds (n - 1).
Choice: the standard error of a mean over k seeds on n test examples is
        sqrt(p (1 - p) / n + spread^2 / k): all seeds share one test set, so more of them do not
        make its sampling error smaller. A score is above the majority class if it is so by three.
Choice: a seed that was run twice counts once, the later run.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import TypeVar

from longarena import attention, tasks
from longarena.runtime import Machine
from longarena.store.changes import setting
from longarena.store.record import RunRecord, is_beyond_luck

BASELINE = "transformer"
PARAMETER_BUDGET = 1.10

Item = TypeVar("Item")
Key = TypeVar("Key")


@dataclass(frozen=True)
class Row:
    """A mechanism, with the options in which it differs from the preset."""

    mixer: str
    options: str = ""


@dataclass(frozen=True)
class Column:
    """What scores must have in common to be compared."""

    task: str
    version: int
    variant: str
    preset: str
    changes: str
    fingerprint: str
    machine: str


@dataclass(frozen=True)
class Score:
    """The test accuracies of one mechanism, one per seed; `num_without` seeds have none.

    `runs` are the records behind it, one per seed.
    """

    accuracies: tuple[float, ...]
    num_without: int
    num_examples: int
    majority: float
    parameters: int
    parameter_ratio: float | None
    runs: tuple[RunRecord, ...] = ()

    @property
    def mean(self) -> float | None:
        """The mean over the seeds that have a score."""
        return fmean(self.accuracies) if self.accuracies else None

    @property
    def spread(self) -> float | None:
        """The standard deviation over seeds; None for a single one."""
        return stdev(self.accuracies) if len(self.accuracies) > 1 else None

    @property
    def num_collapsed(self) -> int:
        """How many seeds did no better than the best constant answer; they count as scores."""
        return sum(run.status == "collapsed" for run in self.runs)

    @property
    def is_above_majority(self) -> bool:
        """Whether the mean is three standard errors above naming the commonest class."""
        if self.mean is None:
            return False
        sampling = self.mean * (1 - self.mean) / self.num_examples
        seeding = (self.spread or 0.0) ** 2 / len(self.accuracies)
        return is_beyond_luck(self.mean, self.majority, sampling + seeding)

    @property
    def is_over_budget(self) -> bool:
        """Whether it has over 10 % more parameters than the Transformer of the same recipe."""
        return self.parameter_ratio is not None and self.parameter_ratio > PARAMETER_BUDGET


@dataclass(frozen=True)
class AccuracyTable:
    """Scores by mechanism and column; a pair that was never run has none."""

    rows: tuple[Row, ...]
    columns: tuple[Column, ...]
    scores: Mapping[tuple[Row, Column], Score]

    def majority(self, column: Column) -> float:
        """Return the score of always naming the commonest class."""
        return next(score.majority for (_, at), score in self.scores.items() if at == column)

    def best(self, column: Column) -> float | None:
        """Return the highest mean of a column."""
        means = [score.mean for (_, at), score in self.scores.items() if at == column]
        return max((mean for mean in means if mean is not None), default=None)


def accuracy_table(runs: Iterable[RunRecord]) -> AccuracyTable:
    """Tabulate the test accuracy of runs."""
    groups = group(runs, place_of)
    rows = sorted({row for row, _ in groups}, key=row_order)
    columns = sorted({column for _, column in groups}, key=_column_order)
    base = {column: _parameters(groups.get((Row(BASELINE), column), [])) for column in columns}
    scores = {(row, at): _score(found, base[at]) for (row, at), found in groups.items()}
    return AccuracyTable(tuple(rows), tuple(columns), scores)


def place_of(record: RunRecord) -> tuple[Row, Column]:
    """Say in which row and column a run belongs."""
    options, others = setting(record.recipe)
    task = record.recipe.task
    return Row(record.recipe.model.mixer, options), Column(
        task=task.name,
        version=task.version,
        variant=record.variant,
        preset=record.recipe.preset,
        changes=others,
        fingerprint=record.fingerprint,
        machine=machine_name(record.machine),
    )


def machine_name(machine: Machine) -> str:
    """Name what computed; how many threads it used does not change an accuracy."""
    return f"{machine.accelerator or machine.processor}, {machine.cores} cores"


def group(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """Put items with equal keys together."""
    groups: dict[Key, list[Item]] = defaultdict(list)
    for item in items:
        groups[key(item)].append(item)
    return dict(groups)


def row_order(row: Row) -> tuple[int, str, str]:
    """Order rows as the table of mixers does, a user's own last."""
    return _rank(row.mixer, attention.MIXERS), row.mixer, row.options


def _column_order(column: Column) -> tuple[int, str, int, str, str, str, str, str]:
    fields = (column.variant, column.preset, column.changes, column.fingerprint, column.machine)
    return _rank(column.task, tasks.TASKS), column.task, column.version, *fields


def _rank(name: str, known: Iterable[str]) -> int:
    order = list(known)
    return order.index(name) if name in order else len(order)


def _score(runs: list[RunRecord], base_parameters: int | None) -> Score:
    by_seed = {run.recipe.seed: run for run in sorted(runs, key=lambda run: run.finished_at)}
    latest = [by_seed[seed] for seed in sorted(by_seed)]
    tests = [run.metrics.test for run in latest if run.metrics.test]
    parameters = latest[-1].metrics.parameters
    return Score(
        accuracies=tuple(test.accuracy for test in tests),
        num_without=len(latest) - len(tests),
        num_examples=tests[0].examples if tests else 0,
        majority=latest[-1].metrics.majority,
        parameters=parameters,
        parameter_ratio=parameters / base_parameters if base_parameters else None,
        runs=tuple(latest),
    )


def _parameters(runs: list[RunRecord]) -> int | None:
    return runs[-1].metrics.parameters if runs else None
