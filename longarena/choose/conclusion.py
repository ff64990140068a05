"""Conclude a contest: compare the finalists, take one, and write all of it down."""

from collections.abc import Mapping
from datetime import UTC, datetime

from longarena.choose.budget import rungs_of
from longarena.choose.contest import Finished
from longarena.choose.plan import Measured, Plan
from longarena.choose.question import Question
from longarena.choose.race import Runner
from longarena.choose.speed import Ruler
from longarena.choose.verdict import compare, take
from longarena.errors import UserError
from longarena.recipes.recipe import Recipe, replace
from longarena.records.choice import ChoiceRecord, Entrant, Tested, TriedRate
from longarena.records.record import RunRecord
from longarena.runtime import machine, versions
from longarena.sweep.plan import Places
from longarena.training.folder import RunFolder


def conclude(
    question: Question, plan: Plan, finished: Finished, places: Places, ruler: Ruler
) -> ChoiceRecord:
    """Make the record of a contest."""
    records = finished.records
    if not records:
        raise UserError(f"no mechanism could be trained to its end: {_why_not(finished)}")
    some = next(iter(records.values()))
    answers = {
        name: RunFolder.of(places.runs, record.recipe).read_answers(record)
        for name, record in records.items()
    }
    tested = compare(records, answers)
    measured = plan.measured | _measure_again(records, ruler)
    speeds = {name: each.seconds_per_step for name, each in measured.items()}
    taken = take(tested, speeds, some.metric, some.metrics.level)
    return ChoiceRecord(
        id=plan.id,
        task=some.recipe.task,
        preset=question.preset,
        metric=some.metric,
        variant=some.variant,
        fingerprint=some.fingerprint,
        constraints=question.constraints,
        minutes=question.minutes,
        length=plan.length,
        batch_size=some.recipe.batch_size,
        steps=plan.steps,
        rungs=rungs_of(plan.steps),
        level=some.metrics.level,
        test_examples=plan.test_examples,
        entrants=_entrants(plan, finished, tested, measured),
        taken=taken,
        recipe=full_recipe(plan, taken, records[taken].recipe) if taken else None,
        machine=machine(),
        versions=versions(),
        finished_at=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def full_recipe(plan: Plan, name: str, run: Recipe) -> Recipe:
    """Derive what trains a mechanism fully: all steps of the preset, or twice as many as it had."""
    recipe = plan.recipes[name]
    steps = recipe.steps if recipe.steps > plan.steps else 2 * plan.steps
    return replace(recipe, optimiser=run.optimiser.model_dump(), steps=steps)


def _measure_again(records: Mapping[str, RunRecord], ruler: Ruler) -> dict[str, Measured]:
    """Measure the finalists side by side."""
    ruler.progress.say("measuring the finalists side by side")
    found = ruler.side_by_side({name: record.recipe for name, record in records.items()})
    return {name: Measured.of(record) for name, record in found.items() if record.metrics}


def _entrants(
    plan: Plan,
    finished: Finished,
    tested: Mapping[str, Tested],
    measured: Mapping[str, Measured],
) -> list[Entrant]:
    """List everybody: those who ran, then those who were left out."""
    ran = [_entrant(runner, finished, tested) for runner in finished.race.runners]
    out = [Entrant(mixer=name, fate="left out", reason=why) for name, why in plan.left_out.items()]
    return [
        each.model_copy(update=measured[each.mixer].model_dump())
        if each.mixer in measured
        else each
        for each in (*ran, *out)
    ]


def _entrant(runner: Runner, finished: Finished, tested: Mapping[str, Tested]) -> Entrant:
    record = finished.records.get(runner.name)
    reason = runner.reason or finished.failed.get(runner.name, "")
    if record is not None and runner.name not in tested:
        reason = f"{record.status} at step {record.metrics.steps:,}"
    tried = zip(runner.candidates, runner.first_scores, strict=True)
    # the last comparison is that of the finalists' best validations
    last = [record.metrics.valid.value] if record and record.metrics.valid else []
    return Entrant(
        mixer=runner.name,
        fate="final" if runner.is_on else "dropped",
        reason=reason,
        rates=[
            TriedRate(rate=recipe.optimiser.rate, run=recipe.id, score=score)
            for recipe, score in tried
        ],
        rate=runner.kept.optimiser.rate if runner.kept else None,
        scores=[*runner.scores, *last],
        run=runner.kept.id if runner.kept else "",
        tested=tested.get(runner.name),
        own=runner.candidates[0].model.own,
    )


def _why_not(finished: Finished) -> str:
    dropped = {runner.name: runner.reason for runner in finished.race.runners if runner.reason}
    return "; ".join(f"{name}: {why}" for name, why in (dropped | finished.failed).items())
