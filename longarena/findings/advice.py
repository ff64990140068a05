"""What may be wrong with a run, and what to try: the likeliest first.

    diverged     a lower rate, clipped gradients, a longer warm-up
    at chance    positions where there were none, a shorter warm-up if it took most of the steps, a
                 rate by what the loss did, other seeds, a longer warm-up, a search over rates
    any other    more steps where the score still rose, less room for memorising where it memorised

A run is at chance if its test score is not better than an answer without a model by three standard
errors. An advice is a reason and the words that follow it: `--set key=value`, to be added to the
command of the run, or a command of its own.

Choice: a late loss above both the first one and that of the best constant answer, by 5 % or more,
        was thrown there by too high a rate; one that is still at either was not moved enough.
        Where it is between them, or was not kept, only a search tells the direction.
Choice: the score still rose if the last validation was the best, by more than a standard error over
        all in the first half.
Choice: a run has memorised if its score in training is better than on validation by three standard
        errors, and by half of what validation gained over an answer without a model.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from shlex import quote

from longarena.findings.changes import assign, sweep_command
from longarena.options import Value
from longarena.recipes.recipe import Recipe
from longarena.records.record import LateTraining, RunRecord, is_significant

RATE_STEP = 3
TUNED_RATES = (1 / 10, 1 / 3, 1, 3, 10)
LOSS_MARGIN = 1.05
NUM_SEEDS = 3
# mechanisms that know the order of their tokens without any positions
ORDERED = {"recurrence", "state space", "convolution", "gated recurrence"}


@dataclass(frozen=True)
class Advice:
    """A reason, and what to type; `sets` are the assignments if it changes the recipe."""

    why: str
    words: str
    sets: tuple[str, ...] = ()


def advise(record: RunRecord) -> list[Advice]:
    """Say what to try after a run; nothing if nothing seems wrong with it."""
    recipe = record.recipe
    if recipe.masking is not None:
        return []  # it is trained for other runs, whose words it has to go by
    if record.status == "diverged":
        return [*_tamer(recipe)]
    found = [*_longer(record), *_memorised(record)]
    return [*found, *_at_chance(record)] if record.is_at_chance else found


def _tamer(recipe: Recipe) -> Iterator[Advice]:
    rate = recipe.optimiser.rate / RATE_STEP
    yield _set("a lower rate, as the loss became infinite", "optimiser.rate", _round(rate))
    if recipe.optimiser.clip is None or recipe.optimiser.clip > 1:
        yield _set("a bound on the norm of the gradient", "optimiser.clip", 1)
    yield from _warmer(recipe)


def _longer(record: RunRecord) -> Iterator[Advice]:
    if still_rises(record):
        steps = 2 * record.recipe.steps
        yield _set("more steps, as the score was still getting better", "steps", steps)


def _memorised(record: RunRecord) -> Iterator[Advice]:
    if not has_memorised(record):
        return
    recipe = record.recipe
    why = "as it did much better in training"
    if recipe.model.dropout < 0.5:
        dropout = min(0.5, max(0.1, 2 * recipe.model.dropout))
        yield _set(f"more dropout, {why}", "model.dropout", _round(dropout))
    decay = max(0.01, RATE_STEP * recipe.optimiser.weight_decay)
    yield _set(f"more decay, {why}", "optimiser.weight_decay", _round(decay))
    if recipe.task.size < 1:
        size = min(1.0, 4 * recipe.task.size)
        yield _set(f"more of the data, {why}", "task.size", _round(size))


def _at_chance(record: RunRecord) -> Iterator[Advice]:
    recipe, late = record.recipe, record.metrics.late
    if recipe.model.positions == "none" and recipe.model.card.family not in ORDERED:
        yield _set(
            "positions, as it cannot tell the order of the tokens", "model.positions", "learned"
        )
    yield from _colder(recipe)
    yield from _other_rate(recipe, late) if late else ()
    seeds = sweep_command(recipe, "--seeds", str(NUM_SEEDS))
    yield from _run("other seeds, as some stay at chance where others learn", seeds)
    yield from _warmer(recipe)
    if recipe.model.positions == "sinusoidal":
        yield _set("learned positions instead of fixed ones", "model.positions", "learned")
    rates = ",".join(f"{_round(recipe.optimiser.rate * factor):g}" for factor in TUNED_RATES)
    tune = ("--tune", f"optimiser.rate={rates}")
    yield from _run("a search over rates", sweep_command(recipe, *tune, varied={"optimiser.rate"}))


def _other_rate(recipe: Recipe, late: LateTraining) -> Iterator[Advice]:
    rate, before = recipe.optimiser.rate, (late.first_loss, late.level_loss)
    if late.loss > LOSS_MARGIN * max(before):
        yield _set("a lower rate, as the loss rose", "optimiser.rate", _round(rate / RATE_STEP))
    elif any(loss / LOSS_MARGIN < late.loss < loss * LOSS_MARGIN for loss in before):
        why = "a higher rate, as the loss hardly moved"
        yield _set(why, "optimiser.rate", _round(rate * RATE_STEP))


def _warmer(recipe: Recipe) -> Iterator[Advice]:
    before = recipe.schedule.warmup_steps
    after = min(max(2 * before, recipe.steps // 10), recipe.steps // 2)
    if after > before:
        yield _set("a longer warm-up", "schedule.warmup_steps", after)


def _colder(recipe: Recipe) -> Iterator[Advice]:
    if recipe.schedule.warmup_steps > recipe.steps // 2:
        why = "a shorter warm-up, as it took most of the steps"
        yield _set(why, "schedule.warmup_steps", recipe.steps // 10)


def still_rises(record: RunRecord) -> bool:
    """Tell whether the last validation was the best, and clearly better than the first half."""
    values, valid = record.curve.values, record.metrics.valid
    if valid is None or len(values) < 2:
        return False
    early, last = record.metric.best(values[: len(values) // 2]), values[-1]
    is_best = record.metric.best(values) == last
    return is_best and record.metric.is_better(last, early) and abs(last - early) > valid.error


def has_memorised(record: RunRecord) -> bool:
    """Tell whether the score of late training is far better than that on validation."""
    valid, late, metric = record.metrics.valid, record.metrics.late, record.metric
    if valid is None or late is None or late.value is None:
        return False
    gained = abs(valid.value - record.metrics.level)
    is_far = abs(late.value - valid.value) > gained / 2
    return is_far and is_significant(metric, late.value, valid.value, valid.error)


def _set(why: str, key: str, value: Value) -> Advice:
    assignment = assign(key, value)
    return Advice(why, f"--set {quote(assignment)}", (assignment,))


def _run(why: str, command: str | None) -> Iterator[Advice]:
    if command is not None:
        yield Advice(why, command)


def _round(number: float) -> float:
    """Round to two significant digits.

    >>> _round(0.002 / 3), _round(0.002 * 3)
    (0.00067, 0.006)
    """
    return float(f"{number:.2g}")
