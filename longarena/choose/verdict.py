"""The verdict: who is tied with the best, and which of those is the fastest.

Choice: among the mechanisms that cannot be told apart from the best by their answers, the fastest
        is taken, because it costs nothing that is seen. It must be better than an answer without a
        model, by three standard errors; where none is, nothing is taken.
Choice: a test score of a contest is that of one seed, so a difference is one of these very runs.
"""

from collections.abc import Mapping

from longarena.choose.question import YARDSTICK
from longarena.choose.ties import gaps
from longarena.findings.advice import still_rises
from longarena.records.answers import Answers
from longarena.records.choice import Tested
from longarena.records.record import RunRecord, is_significant
from longarena.tracks.metric import Metric


def compare(
    records: Mapping[str, RunRecord], answers: Mapping[str, Answers | None]
) -> dict[str, Tested]:
    """Compare finalists by their answers; one that diverged has no score to compare."""
    tests = {name: test for name, each in records.items() if (test := each.metrics.test)}
    if not tests:
        return {}
    names, values = list(tests), [test.value for test in tests.values()]
    apart = gaps({name: (records[name], answers.get(name)) for name in names})
    best = values.index(records[names[0]].metric.best(values))
    yard = names.index(YARDSTICK) if YARDSTICK in names else None
    return {
        name: Tested(
            value=tests[name].value,
            error=tests[name].error,
            to_best=apart[at][best],
            to_yardstick=None if yard is None else apart[at][yard],
            still_rises=still_rises(records[name]),
        )
        for at, name in enumerate(names)
    }


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
