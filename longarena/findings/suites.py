"""Suites: tasks that stand on one board and are averaged together.

A task that no suite names comes from outside; such tasks have a board of their own.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class AverageOf:
    """A mean over some of a suite's tasks."""

    title: str
    tasks: tuple[str, ...]


@dataclass(frozen=True)
class Suite:
    """Tasks that belong together, and the rules of their board.

    The model of a comparable result has at most `parameter_budget` times as many parameters as the
    `baseline` in the same column.
    """

    name: str
    title: str
    tasks: tuple[str, ...] = ()
    averages: tuple[AverageOf, ...] = ()
    baseline: str = "transformer"
    parameter_budget: float = 1.10


FIVE = ("listops", "text", "retrieval", "image", "pathfinder")

ARENA = Suite(
    name="arena",
    title="Long Range Arena",
    tasks=(*FIVE, "path-x", "pathfinder-64", "pathfinder-256", "digits"),
    averages=(AverageOf("Average", FIVE), AverageOf("with Path-X", (*FIVE, "path-x"))),
)
LANGUAGE = Suite(name="language", title="Language", tasks=("enwik8",))
FOUR = ("recall", "selective-copy", "induction", "passkey")
PROBES = Suite(
    name="probes",
    title="Probes",
    tasks=FOUR,
    averages=(AverageOf("Average", FOUR),),
    # what counts here is what a mechanism carries along, not how many weights it has
    parameter_budget=5.0,
)
TRANSLATION = Suite(name="translation", title="Translation", tasks=("multi30k", "iwslt14", "wmt14"))
YOURS = Suite(name="yours", title="Tasks from outside")

SUITES = {suite.name: suite for suite in (ARENA, LANGUAGE, PROBES, TRANSLATION, YOURS)}


def suite_of(task: str) -> Suite:
    """Return the suite that a task belongs to."""
    return next((suite for suite in SUITES.values() if task in suite.tasks), YOURS)
