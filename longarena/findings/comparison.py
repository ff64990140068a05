"""Compare runs by their answers: who is the best, and who cannot be told apart from it.

Runs of one recipe that differ in their seeds alone are one contestant. Only runs that answered the
same examples can be compared: one fingerprint of the data, one metric, one way of cutting a text
into windows.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from longarena.errors import UserError
from longarena.findings.changes import flatten, write
from longarena.findings.details import conditions
from longarena.findings.differences import Contestant, Difference, behind_best, mcnemar
from longarena.recipes.recipe import id_without_seed
from longarena.records.answers import Answers
from longarena.records.summary import Run
from longarena.tracks.metric import Metric

# they name a run, or say how often something is written
UNNAMED = {"seed", "task.name", "model.mixer", "log_every", "checkpoint_every"}


@dataclass(frozen=True)
class AnsweredRun:
    """A run that has ended, and what it answered to the test split."""

    record: Run
    answers: Answers


@dataclass(frozen=True)
class Place:
    """A contestant in the order of the scores, and by how much the best is better."""

    name: str
    runs: tuple[Run, ...]
    value: float
    behind: Difference
    is_best: bool

    @property
    def verdict(self) -> str:
        """Whether it is the best, tied with it, or worse."""
        return "best" if self.is_best else "tied" if self.behind.is_tie else "worse"


@dataclass(frozen=True)
class Comparison:
    """All contestants, the best first; `chance` is McNemar's, where that test applies."""

    metric: Metric
    places: tuple[Place, ...]
    num_examples: int
    chance: float | None = None

    @property
    def has_seeds(self) -> bool:
        """Whether any contestant has several seeds, so that their noise is known."""
        return any(len(place.runs) > 1 for place in self.places)


def compare(runs: Sequence[AnsweredRun]) -> Comparison:
    """Compare runs, the seeds of a recipe together; seeds of one recipe alone, one by one."""
    _check(runs)
    groups: dict[str, list[AnsweredRun]] = {}
    for run in runs:
        groups.setdefault(id_without_seed(run.record.recipe), []).append(run)
    if len(groups) == 1:
        groups = {run.record.id: [run] for run in runs}
    found = list(groups.values())
    contestants = [contestant(label(group, runs), group) for group in found]
    metric = runs[0].record.metric
    sign = 1 if metric.better == "more" else -1
    order = sorted(range(len(found)), key=lambda at: -sign * contestants[at].value)
    behind = behind_best([contestants[at] for at in order], metric.better)
    places = tuple(
        Place(
            contestants[at].name,
            tuple(run.record for run in found[at]),
            contestants[at].value,
            difference,
            is_best=which == 0,
        )
        for which, (at, difference) in enumerate(zip(order, behind, strict=True))
    )
    return Comparison(metric, places, len(runs[0].answers.scores), _chance(contestants))


def contestant(name: str, runs: Sequence[AnsweredRun]) -> Contestant:
    """Gather the seeds of a recipe."""
    scores = np.stack([run.answers.scores.astype(np.float64) for run in runs])
    test = runs[0].record.metrics.test
    return Contestant(name, scores, test.weight if test else float(scores.shape[1]))


def label(group: Sequence[AnsweredRun], runs: Sequence[AnsweredRun]) -> str:
    """Name a contestant by its mechanism and by what tells it from the others."""
    recipe = group[0].record.recipe
    others = [flatten(run.record.recipe) for run in runs]
    own = {
        key: value
        for key, value in flatten(recipe).items()
        if key not in UNNAMED and any(other.get(key, value) != value for other in others)
    }
    like = [
        run.record.recipe for run in runs if run.record.recipe.model.mixer == recipe.model.mixer
    ]
    words = [recipe.model.mixer, write(own)]
    sources = {each.model.own.source for each in like if each.model.own}
    if len(sources) > 1 and recipe.model.own:
        words.append(f"source {recipe.model.own.source}")
    if len({id_without_seed(each) for each in like}) == 1 and len(like) == len(runs):
        words.append(f"seed {recipe.seed}")
    return " ".join(filter(None, words))


def _chance(contestants: Sequence[Contestant]) -> float | None:
    """Do McNemar's test, if there are two runs and their examples are right or wrong."""
    if len(contestants) != 2 or any(each.num_seeds > 1 for each in contestants):
        return None
    first, second = (each.scores[0] for each in contestants)
    if not np.isin([first, second], (0.0, 1.0)).all():
        return None
    return mcnemar(first, second)


def _check(runs: Sequence[AnsweredRun]) -> None:
    """Refuse runs that did not answer the same examples."""
    if len({run.record.id for run in runs}) < max(2, len(runs)):
        raise UserError("a comparison needs different runs; name at least two")
    first = runs[0].record
    for run in runs[1:]:
        record = run.record
        ours, theirs = _data(first), _data(record)
        if ours != theirs:
            raise UserError(
                f"{first.id} and {record.id} were tested on different data ({ours}; {theirs}); "
                "compare runs on the same data"
            )
        if record.metric != first.metric or len(run.answers.scores) != len(runs[0].answers.scores):
            raise UserError(
                f"{first.id} and {record.id} were not scored alike; compare runs of one task"
            )


def _data(record: Run) -> str:
    task = record.recipe.task
    parts = [f"{task.name} version {task.version}", record.variant, *conditions(record)]
    return ", ".join([*filter(None, parts), f"fingerprint {record.fingerprint[:8]}"])
