"""The verdict: who is tied with the best, and which of those is the fastest.

Choice: among the mechanisms that cannot be told apart from the best by their answers, the fastest
        is taken, because it costs nothing that is seen. It must be better than an answer without a
        model, by three standard errors; where none is, nothing is taken.
Choice: a test score of a contest is that of one seed, so a difference is one of these very runs.
"""

from collections.abc import Mapping

from longarena.choose.question import YARDSTICK
from longarena.choose.ties import Scored, gaps
from longarena.findings.advice import still_rises
from longarena.records.answers import Answers
from longarena.records.choice import Tested
from longarena.records.record import RunRecord, is_significant
from longarena.tracks.metric import Metric


def compare(
    records: Mapping[str, RunRecord], answers: Mapping[str, Answers | None], metric: Metric
) -> dict[str, Tested]:
    """Compare finalists by their answers; one that diverged has no score to compare."""
    scored = {
        name: _scored(record, answers.get(name))
        for name, record in records.items()
        if record.metrics.test
    }
    if not scored:
        return {}
    names, apart = list(scored), gaps(list(scored.values()))
    values = [each.value for each in scored.values()]
    best = values.index(metric.best(values))
    yard = names.index(YARDSTICK) if YARDSTICK in names else None
    return {
        name: Tested(
            value=scored[name].value,
            error=scored[name].error,
            to_best=apart[at][best],
            to_yardstick=None if yard is None else apart[at][yard],
            still_rises=still_rises(records[name]),
        )
        for at, name in enumerate(names)
    }


def _scored(record: RunRecord, answers: Answers | None) -> Scored:
    test = record.metrics.test
    if test is None:
        raise ValueError(f"run {record.id} was not tested")
    if answers is None or not len(answers.scores):
        return Scored(test.value, test.error)
    share = len(answers.scores) / test.weight
    return Scored(test.value, test.error, share * answers.scores.astype("float64"))


def take(
    tested: Mapping[str, Tested], speeds: Mapping[str, float], metric: Metric, level: float
) -> str:
    """Return the fastest of those tied with the best; nothing if nothing has learnt.

    `speeds` are seconds per step. One without a speed is slower than all.
    """
    able = [
        name
        for name, each in tested.items()
        if each.to_best.is_tie and is_significant(metric, each.value, level, each.error)
    ]
    return min(able, key=lambda name: speeds.get(name, float("inf")), default="")
