"""Make the plan: measure everybody, and fix the steps that fit into what is left of the time."""

from longarena.choose.budget import Contest, plan_budget
from longarena.choose.contest import Clock
from longarena.choose.plan import Measured, Plan
from longarena.choose.question import YARDSTICK, Field, Question, enough, question_id
from longarena.choose.speed import Ruler, prices, unfit
from longarena.errors import UserError
from longarena.progress import duration

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
    contest = Contest({key: every[key] for key in found.recipes}, workers, YARDSTICK)
    seconds = PLANNED * total - clock.seconds
    if seconds <= 0:
        raise UserError(
            f"measuring alone took {duration(clock.seconds)}; give more than --minutes "
            f"{question.minutes:g}, or name a few mechanisms with --only"
        )
    budget = plan_budget(contest, found.any_recipe.steps, question.minutes, seconds)
    found = found.without(
        {key: f"too slow: needs --minutes {need}" for key, need in budget.too_slow.items()}
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
    )
