"""Runs of the small preset with given scores and lengths, for contests made by hand."""

from report.arena import run
from report.examples import split_score

from longarena.records.folder import Records
from longarena.report.findings import Findings

TOKENS = {"listops": 1000, "text": 2000, "retrieval": 4000, "image": 1024, "pathfinder": 1024}


def scored(mixer, accuracy, task="listops", seed=0, **metrics):
    """One run; its record says how many tokens an example has."""
    found = run(task, mixer, seed, status="finished" if accuracy else "diverged")
    test = split_score(accuracy) if accuracy else None
    tokens = TOKENS[task] * found.recipe.batch_size * found.metrics.steps_per_second
    update = {"test": test, "tokens_per_second": tokens, "parameters": 100_000} | metrics
    return found.model_copy(update={"metrics": found.metrics.model_copy(update=update)})


def runs(scores):
    """One run for every mixer and task: {"linear": {"listops": 0.3}}."""
    return [
        scored(mixer, accuracy, task)
        for mixer, of_tasks in scores.items()
        for task, accuracy in of_tasks.items()
    ]


def findings(scores, measurements=(), **kinds):
    """What runs with these scores say, together with measurements."""
    return Findings.of(Records(runs=runs(scores), measurements=list(measurements), **kinds))
