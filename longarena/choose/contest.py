"""Carry out a contest: rung by rung, then the finalists to their end.

A trial is an ordinary run that is stopped (training/trial.py). So a contest that was killed goes on
from the checkpoints and ends with the same finalists, and its crew may be this machine or many.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from longarena.choose.budget import RUNGS, rungs_of
from longarena.choose.plan import Plan
from longarena.choose.question import YARDSTICK
from longarena.choose.race import Race, Runner
from longarena.progress import duration
from longarena.recipes.recipe import Recipe
from longarena.records.record import RunRecord
from longarena.sweep.drive import Sweep
from longarena.sweep.plan import look, metric_of, name
from longarena.sweep.plan import plan as plan_runs
from longarena.sweep.workplace import Workplace
from longarena.training.stop import Interrupted


@dataclass
class Clock:
    """How long a command has been at work."""

    started_at: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        """The seconds so far."""
        return time.monotonic() - self.started_at


@dataclass
class Finished:
    """What came of a contest: who was dropped where, and the records of the finalists."""

    race: Race
    records: dict[str, RunRecord]
    failed: dict[str, str]


def hold(plan: Plan, workplace: Workplace, clock: Clock) -> Finished:
    """Bring a contest to its end; raise Interrupted if a stop is asked for."""
    some = next(iter(plan.recipes.values()))
    race = Race.of(plan.runs, plan.steps, metric_of(some), YARDSTICK)
    left = plan.stage_seconds(YARDSTICK)
    for rung, until in enumerate(rungs_of(plan.steps)[:-1]):
        trying = [recipe for runner in race.left for recipe in runner.trying]
        rates = " with each of three rates" if rung == 0 else ""
        what = f"rung {rung + 1} of {len(RUNGS)}: {_many(race.left)}{rates} to step {until:,}"
        workplace.progress.say(f"{what} ({_time(clock, left[rung:])})")
        state = _carry_out(workplace, trying, until)
        trials = {e.planned.recipe.id: e.trial for e in state.entries if e.trial is not None}
        failed = {e.planned.recipe.id: e.reason for e in state.entries if e.standing == "failed"}
        dropped = race.settle(rung, trials, failed)
        if dropped:
            workplace.progress.say(f"  dropped: {', '.join(each.name for each in dropped)}")
    return _final(race, workplace, _time(clock, left[-1:]))


def _final(race: Race, workplace: Workplace, times: str) -> Finished:
    kept = {r.name: r.kept for r in race.left if r.kept is not None}
    names = ", ".join(kept) or "nobody is left"
    workplace.progress.say(f"final: {names}, to step {race.steps:,} and tested ({times})")
    state = _carry_out(workplace, list(kept.values()))
    by_run = {entry.planned.recipe.id: entry for entry in state.entries}
    entries = {name: by_run[recipe.id] for name, recipe in kept.items()}
    return Finished(
        race,
        {name: entry.record for name, entry in entries.items() if entry.record},
        {name: entry.reason for name, entry in entries.items() if not entry.record},
    )


def _carry_out(workplace: Workplace, recipes: Sequence[Recipe], until: int | None = None) -> Sweep:
    """Bring recipes to a step, or to their end."""
    places = workplace.places
    planned = (
        plan_runs(recipes, places)
        if until is None
        else [look(recipe, name(recipe, recipes), places, until) for recipe in recipes]
    )
    state = workplace.carry_out(planned)
    if state.was_stopped or state.count("stopped"):
        raise Interrupted("stopped, and nothing is lost; the same command goes on from there")
    return state


def _many(runners: Sequence[Runner]) -> str:
    return f"{len(runners)} mechanism{'s' * (len(runners) != 1)}"


def _time(clock: Clock, left: Sequence[float]) -> str:
    return f"{duration(clock.seconds)} used, about {duration(sum(left))} left"
