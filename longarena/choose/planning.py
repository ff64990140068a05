"""Make the plan: measure everybody, and fix the steps that fit into what is left of the time."""

import math

from longarena.choose.budget import Contest, plan_budget
from longarena.choose.contest import Clock
from longarena.choose.plan import Measured, Plan
from longarena.choose.question import (
    YARDSTICK,
    Field,
    Question,
    enough,
    families,
    question_id,
)
from longarena.choose.speed import Ruler, prices, unfit
from longarena.errors import UserError
from longarena.progress import duration
from longarena.sweep.plan import metric_of
from longarena.tracks.metric import Metric

# of all the time: at most so much for the first look at speeds, and so much is planned with
MEASURING, PLANNED = 0.2, 0.9


def make_plan(question: Question, found: Field, ruler: Ruler, workers: int, clock: Clock) -> Plan:
    """Decide who takes part, and for how many steps."""
    total, name = 60 * question.minutes, question_id(question, found)
    data, say = ruler.data, ruler.progress.say
    say(
        f"measuring {len(found.recipes)} mechanisms at {data.length:,} tokens, which 95% of the "
        f"examples do not exceed ({duration(clock.seconds)} used of {duration(total)})"
    )
    measured = ruler.quickly(found.recipes, MEASURING * total)
    limit = question.constraints.max_memory_bytes
    found = found.without(dict(unfit(list(found.recipes), measured, limit)))
    enough(found)
    every = prices(found, measured, data)
    contest = Contest(
        {key: every[key] for key in found.recipes}, workers, YARDSTICK, families(found)
    )
    seconds = PLANNED * total - clock.seconds
    if seconds <= 0:
        raise UserError(
            f"measuring alone took {duration(clock.seconds)}; give more than --minutes "
            f"{question.minutes:g}, or name a few mechanisms with --only"
        )
    budget = plan_budget(contest, found.any_recipe.steps, question.minutes, seconds)
    found = found.without(
        {key: f"no time for it: needs --minutes {need}" for key, need in budget.left_out.items()}
    )
    for key, why in found.left_out.items():
        say(f"  left out: {key}: {why}")
    return Plan(
        id=name,
        steps=budget.steps,
        length=data.length,
        test_examples=data.test_examples,
        workers=workers,
        recipes=dict(found.recipes),
        prices=dict(budget.contest.prices),
        measured={key: Measured.of(record) for key, record in measured.items() if record.metrics},
        left_out=dict(found.left_out),
        seconds=total,
        noise=_noise(metric_of(found.any_recipe), data.valid_examples),
    )


def _noise(metric: Metric, examples: int) -> float:
    """Return two standard errors of the difference between two shares of so many examples.

    Of other scores too little is known beforehand.

    >>> from longarena.tracks.metric import ACCURACY
    >>> round(_noise(ACCURACY, 800), 3)
    0.05
    """
    return math.sqrt(2 / examples) if metric.is_share and examples else 0.0
