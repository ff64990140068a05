"""The table of scores, a pure function of records; only comparable scores share a column.

    rows = mechanisms        columns = task, version, data, metric, preset, changes to it,
                                       and how values were tuned

Choice: machines share a column: a recipe counts steps, so a machine changes the rounding of a score
        and not what was asked for.
Choice: the spread is the standard deviation over seeds (n - 1).
Choice: the standard error of a mean over k seeds is sqrt(e^2 + spread^2 / k), where e is the error
        of one score by its test examples: all seeds share one test set, so more of them do not
        make its sampling error smaller. A score is above the level if it exceeds it by three
        standard errors.
Choice: where a seed was run twice, only the later run counts.
Choice: runs of a user's own mixer before its source was edited stand in a row of their own.
Choice: a run with tuned values stands in the column of its tuning, where all were given the same
        choice. If these values are also the preset's, it stands in the plain column as well, beside
        runs that nobody tuned; where there are none, that column would say nothing new.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import fmean, stdev
from typing import TypeVar

from longarena import attention, tasks
from longarena.attention.cards import MixerCard, OwnMixer, card_of
from longarena.findings.changes import setting
from longarena.findings.suites import suite_of
from longarena.findings.tuning import UNTUNED, Choices, Procedure
from longarena.records.record import is_significant
from longarena.records.summary import Run, RunSummary, any_seed
from longarena.records.tuning import TuningRecord
from longarena.tracks.metric import Metric

# ratios of time and memory are relative to this mechanism
BASELINE = "transformer"

Item = TypeVar("Item")
Key = TypeVar("Key")


@dataclass(frozen=True)
class Row:
    """A mechanism, with the options in which it differs from the preset.

    `source` is the digest of a source of a user's own mixer that was edited later; what stands in
    the present one has none. `own` is what was noted of such a mixer.
    """

    mixer: str
    options: str = ""
    source: str = ""
    own: OwnMixer | None = field(default=None, compare=False, repr=False)

    @property
    def card(self) -> MixerCard:
        """The card of the mechanism."""
        return card_of(self.mixer, self.own)

    @property
    def words(self) -> str:
        """What sets it apart from others of its name."""
        return ", ".join(filter(None, [self.options, self.source and f"source {self.source}"]))


@dataclass(frozen=True)
class Column:
    """What scores must have in common to be compared."""

    task: str
    version: int
    variant: str
    preset: str
    changes: str
    fingerprint: str
    metric: Metric
    tuning: Procedure = UNTUNED

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        # tables look columns up by the hundred thousand, and that of a metric takes long
        return hash((self.task, self.variant, self.preset, self.changes, self.fingerprint))


@dataclass(frozen=True)
class Score:
    """The test scores of one mechanism, one per seed; `num_without` seeds have none.

    `sampling_error` is the standard error of one score over the examples of the test split; `level`
    is what an answer without a model scores. `runs` are the records behind it, one per seed, and
    `tuned` are the values that were chosen for them.
    """

    metric: Metric
    values: tuple[float, ...]
    num_without: int
    sampling_error: float
    level: float
    parameters: int
    parameter_ratio: float | None
    runs: tuple[Run, ...] = ()
    tuned: str = ""

    @property
    def mean(self) -> float | None:
        """The mean over the seeds that have a score."""
        return fmean(self.values) if self.values else None

    @property
    def spread(self) -> float | None:
        """The standard deviation over seeds; None for a single one."""
        return stdev(self.values) if len(self.values) > 1 else None

    @property
    def num_collapsed(self) -> int:
        """How many seeds did no better than the best constant answer; they count as scores."""
        return sum(run.status == "collapsed" for run in self.runs)

    @property
    def error(self) -> float:
        """The standard error of the mean, over test examples and seeds."""
        seeding = (self.spread or 0.0) / math.sqrt(len(self.values) or 1)
        return math.hypot(self.sampling_error, seeding)

    @property
    def is_above_level(self) -> bool:
        """Whether the mean is better than the level by three standard errors."""
        return self.mean is not None and is_significant(
            self.metric, self.mean, self.level, self.error
        )

    def is_over_budget(self, budget: float) -> bool:
        """Tell whether it has more parameters than a multiple of the baseline's."""
        return self.parameter_ratio is not None and self.parameter_ratio > budget


@dataclass(frozen=True)
class ScoreTable:
    """Scores by mechanism and column; a pair that was never run has none."""

    rows: tuple[Row, ...]
    columns: tuple[Column, ...]
    scores: Mapping[tuple[Row, Column], Score]

    @cached_property
    def by_column(self) -> Mapping[Column, Mapping[Row, Score]]:
        """The scores of every column by their rows."""
        found = defaultdict[Column, dict[Row, Score]](dict)
        for (row, column), score in self.scores.items():
            found[column][row] = score
        return found

    def level(self, column: Column) -> float:
        """Return what an answer without a model scores."""
        return next(iter(self.by_column[column].values())).level

    def best(self, column: Column) -> float | None:
        """Return the best mean of a column."""
        means = [score.mean for score in self.by_column[column].values()]
        known = [mean for mean in means if mean is not None]
        return column.metric.best(known) if known else None


def score_table(runs: Iterable[Run], tunings: Iterable[TuningRecord] = ()) -> ScoreTable:
    """Tabulate the test scores of runs; one that fills in hidden tokens has no place there."""
    scored = [run for run in runs if not run.is_masked]
    settings = list(group(enumerate(scored), lambda pair: _setting(pair[1])).values())
    choices, sources = Choices(tunings), _latest_sources(settings)
    placed = defaultdict[tuple[Row, Column], list[tuple[int, Run]]](list)
    is_needed = set[Column]()
    for found in settings:
        places = places_of(found[0][1], choices)
        is_needed |= {column for _, column in places if column.tuning.grid or len(places) == 1}
        for row, column in places:
            is_latest = row.source == sources.get(row.mixer)
            placed[replace(row, source="") if is_latest else row, column] += found
    kept = {at: found for at, found in placed.items() if at[1] in is_needed}
    # runs of several settings that share a place go back into their order
    groups = {at: [run for _, run in sorted(found, key=_first)] for at, found in kept.items()}
    rows = sorted({row for row, _ in groups}, key=row_order)
    columns = sorted({column for _, column in groups}, key=_column_order)
    baselines = {at: Row(suite_of(at.task).baseline) for at in columns}
    base = {at: _parameters(groups.get((row, at), [])) for at, row in baselines.items()}
    scores = {(row, at): _score(found, at, base[at]) for (row, at), found in groups.items()}
    return ScoreTable(tuple(rows), tuple(columns), scores)


def _first(pair: tuple[int, Run]) -> int:
    return pair[0]


def _setting(run: Run) -> object:
    """Return what runs share that stand in the same places; a whole record stands alone."""
    return run.setting if isinstance(run, RunSummary) else id(run)


def places_of(record: Run, choices: Choices) -> list[tuple[Row, Column]]:
    """Say in which rows and columns a run belongs."""
    plain = place_of(record)
    tuned = [place_of(record, tuning) for tuning in choices.behind(record.recipe)]
    # whoever took the preset's own values stands among the untuned too
    is_plain = all(replace(at, tuning=UNTUNED) == plain[1] and row == plain[0] for row, at in tuned)
    return [plain, *tuned] if is_plain else tuned


def place_of(record: Run, tuning: Procedure = UNTUNED) -> tuple[Row, Column]:
    """Say in which row and column a run belongs."""
    recipe = any_seed(record)
    options, others = setting(recipe, tuning.keys)
    task, model = recipe.task, recipe.model
    source = model.own.source if model.own else ""
    return Row(model.mixer, options, source, model.own), Column(
        task=task.name,
        version=task.version,
        variant=record.variant,
        preset=recipe.preset,
        changes=others,
        fingerprint=record.fingerprint,
        metric=record.metric,
        tuning=tuning,
    )


def _latest_sources(settings: Iterable[Sequence[tuple[int, Run]]]) -> dict[str, str]:
    """Return the source of the latest run of every mixer from outside."""
    own = [found for found in settings if found[0][1].mixer not in attention.CARDS]
    last = [max((run.finished_at, at, run) for at, run in found) for found in own]
    models = [run.recipe.model for _, _, run in sorted(last)]
    return {model.mixer: model.own.source for model in models if model.own}


def group(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """Put items with equal keys together."""
    groups: dict[Key, list[Item]] = defaultdict(list)
    for item in items:
        groups[key(item)].append(item)
    return dict(groups)


def row_order(row: Row) -> tuple[int, str, str]:
    """Order rows as the table of mixers does, a user's own last."""
    return _rank(row.mixer, attention.CARDS), row.mixer, row.words


def _column_order(column: Column) -> tuple[int, str, int, str, str, str, str, str, str]:
    what = (column.variant, column.preset, column.tuning.words, column.changes)
    which = (column.fingerprint, column.metric.name)
    return _rank(column.task, tasks.TASKS), column.task, column.version, *what, *which


def _rank(name: str, known: Iterable[str]) -> int:
    order = list(known)
    return order.index(name) if name in order else len(order)


def _score(runs: list[Run], column: Column, base_parameters: int | None) -> Score:
    by_seed = {run.seed: run for run in sorted(runs, key=lambda run: run.finished_at)}
    latest = [by_seed[seed] for seed in sorted(by_seed)]
    tests = [run.metrics.test for run in latest if run.metrics.test]
    parameters = latest[-1].metrics.parameters
    return Score(
        metric=latest[-1].metric,
        values=tuple(test.value for test in tests),
        num_without=len(latest) - len(tests),
        sampling_error=math.sqrt(fmean(test.error**2 for test in tests)) if tests else 0.0,
        level=latest[-1].metrics.level,
        parameters=parameters,
        parameter_ratio=parameters / base_parameters if base_parameters else None,
        runs=tuple(latest),
        tuned=column.tuning.chosen(latest[-1].recipe) if column.tuning.grid else "",
    )


def _parameters(runs: list[Run]) -> int | None:
    return runs[-1].metrics.parameters if runs else None
