"""Who of a column is tied with the best: cannot be told apart from it by the answers.

Where the answers of all runs are known, they are compared example by example
(`differences.py`). Otherwise the errors of the two scores are added as if the answers had nothing
to do with each other, which finds more ties; the level is divided among all pairs (Bonferroni).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from statistics import NormalDist

from longarena.findings.comparison import AnsweredRun, contestant
from longarena.findings.differences import CONFIDENCE, Difference, differences
from longarena.findings.scores import Row, Score, score_table
from longarena.records.answers import Answers
from longarena.records.summary import Run

ReadAnswers = Callable[[Run], Answers | None]
# pairs[a][b] says by how much a is better than b
Pairs = Mapping[Row, Mapping[Row, Difference]]


def standings(runs: Sequence[Run], read: ReadAnswers) -> dict[str, str]:
    """Say which runs are the best of their column, and which are tied with it, by their ids.

    All that share task, data, recipe and machine are compared; who stands alone is not named.
    """
    table, found = score_table(runs), dict[str, str]()
    for column in table.columns:
        scores = table.by_column[column]
        tied = ties(scores, read)
        for row, score in scores.items():
            is_best = score.is_above_level and score.mean == table.best(column)
            word = "best" if is_best else "tied" if row in tied else ""
            if word and len(scores) > 1:
                found |= {run.id: word for run in score.runs}
    return found


def ties(scores: Mapping[Row, Score], read: ReadAnswers) -> frozenset[Row]:
    """Return the rows that are tied with the best of some comparable scores, without the best."""
    found = behind(scores, lambda: pairs(scores, read))
    return frozenset(row for row, each in found.items() if each.is_tie)


def behind(scores: Mapping[Row, Score], compare: Callable[[], Pairs]) -> dict[Row, Difference]:
    """Say by how much the best of some comparable scores is better than each of the others.

    Where the best is not better than an answer without a model, nobody is compared with it.
    """
    means = {row: score.mean for row, score in scores.items() if score.mean is not None}
    if len(means) < 2:
        return {}
    metric = next(iter(scores.values())).metric
    best = next(row for row in means if means[row] == metric.best(list(means.values())))
    if not scores[best].is_above_level:
        return {}
    return {row: each for row, each in compare()[best].items() if row in means and row != best}


def pairs(scores: Mapping[Row, Score], read: ReadAnswers) -> Pairs:
    """Say by how much each of some comparable scores is better than every other."""
    known = {row: score for row, score in scores.items() if score.mean is not None}
    if not known:
        return {}
    return _by_answers(known, read) or _by_errors(known)


def _by_answers(scores: Mapping[Row, Score], read: ReadAnswers) -> Pairs | None:
    """Compare example by example; None if some answers are not there, or are to other examples."""
    contestants = []
    for score in scores.values():
        runs = [run for run in score.runs if run.metrics.test]
        answers = [read(run) for run in runs]
        known = [AnsweredRun(run, found) for run, found in zip(runs, answers, strict=True) if found]
        if len(known) < len(runs) or len({len(each.answers.scores) for each in known}) != 1:
            return None
        contestants.append(contestant("", known))
    if len({each.scores.shape[1] for each in contestants}) != 1:
        return None
    better = next(iter(scores.values())).metric.better
    return {
        row: {other: each.better_by(better) for other, each in zip(scores, found, strict=True)}
        for row, found in zip(scores, differences(contestants), strict=True)
    }


def _by_errors(scores: Mapping[Row, Score]) -> Pairs:
    """Compare by the standard errors of the scores alone."""
    num_pairs = math.comb(len(scores), 2)
    quantile = NormalDist().inv_cdf(1 - (1 - CONFIDENCE) / 2 / max(1, num_pairs))
    better = next(iter(scores.values())).metric.better
    known = {row: (score.mean or 0.0, score.error) for row, score in scores.items()}

    def difference(one: Row, other: Row) -> Difference:
        (mean, error), (other_mean, other_error) = known[one], known[other]
        apart = mean - other_mean
        reach = 0.0 if one == other else quantile * math.hypot(error, other_error)
        return Difference(apart, apart - reach, apart + reach).better_by(better)

    return {row: {other: difference(row, other) for other in known} for row in known}
