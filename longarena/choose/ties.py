"""By how much the test scores of finalists differ, and who cannot be told apart.

Where the answers of all runs are at hand, they are compared example by example
(`findings/differences.py`). Otherwise the errors of two scores are added as if their answers had
nothing to do with each other, which finds more ties; the level is divided among all pairs
(Bonferroni).
"""

import math
from collections.abc import Mapping, Sequence
from statistics import NormalDist

from longarena.findings.comparison import AnsweredRun, contestant
from longarena.findings.differences import CONFIDENCE, differences
from longarena.records.answers import Answers
from longarena.records.choice import Gap
from longarena.records.record import RunRecord, SplitScore

Finalist = tuple[RunRecord, Answers | None]


def gaps(finalists: Mapping[str, Finalist]) -> list[list[Gap]]:
    """Compare every finalist with every other; all were tested on the same examples."""
    answered = [
        contestant(name, [AnsweredRun(record, answers)])
        for name, (record, answers) in finalists.items()
        if answers is not None
    ]
    if len(answered) == len(finalists):
        found = differences(answered)
        return [[Gap(value=d.value, low=d.low, high=d.high) for d in row] for row in found]
    tests = [record.metrics.test for record, _ in finalists.values()]
    return unpaired([test for test in tests if test is not None])


def unpaired(scores: Sequence[SplitScore]) -> list[list[Gap]]:
    """Compare scores by their errors alone."""
    pairs = max(1, math.comb(len(scores), 2))
    reach = NormalDist().inv_cdf(1 - (1 - CONFIDENCE) / 2 / pairs)
    return [[_gap(first, second, reach) for second in scores] for first in scores]


def _gap(first: SplitScore, second: SplitScore, reach: float) -> Gap:
    value = first.value - second.value
    margin = 0.0 if first is second else reach * math.hypot(first.error, second.error)
    return Gap(value=value, low=value - margin, high=value + margin)
