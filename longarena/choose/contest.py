"""Carry out a contest: rung by rung, then the finalists to their end.

A trial is an ordinary run that is stopped (training/trial.py). So a contest that was killed goes on
from the checkpoints and ends with the same finalists, and its crew may be this machine or many.

Choice: where a rung took longer than planned, because the machine has other work, the rest is
        expected to do so too, and fewer go on. What the clock decides is noted in the plan, so
        that a contest that was stopped decides the same.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from longarena.choose.budget import RUNGS, affordable, num_kept, rungs_of
from longarena.choose.plan import Plan
from longarena.choose.question import YARDSTICK
from longarena.choose.race import Race
from longarena.progress import duration
from longarena.recipes.recipe import Recipe
from longarena.records.record import RunRecord
from longarena.records.summary import whole
from longarena.sweep.drive import Sweep
from longarena.sweep.plan import look, metric_of, name_all
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


@dataclass
class Contesting:
    """A contest in progress; `pace` is how much longer it takes than planned."""

    plan: Plan
    workplace: Workplace
    clock: Clock
    note: Callable[[Plan], None]
    pace: float = 1.0

    def hold(self) -> Finished:
        """Bring the contest to its end; raise Interrupted if a stop is asked for."""
        plan = self.plan
        metric = metric_of(next(iter(plan.recipes.values())))
        race = Race.of(plan.runs, plan.steps, metric, YARDSTICK, plan.noise)
        for rung, until in enumerate(rungs_of(plan.steps)[:-1]):
            self._climb(race, rung, until)
        return self._final(race)

    def _climb(self, race: Race, rung: int, until: int) -> None:
        """Bring everybody who is left to a rung, and drop the worse ones."""
        trying = [recipe for runner in race.left for recipe in runner.trying]
        who = f"{len(race.left)} mechanisms" + (" with each of three rates" if rung == 0 else "")
        self._say(f"rung {rung + 1} of {len(RUNGS)}: {who} to step {until:,}", rung)
        state = self._carry_out(trying, until)
        if rung == len(self.plan.most):
            self._look_at_the_clock(rung, len(race.left), state)
        trials = {e.planned.recipe.id: e.trial for e in state.entries if e.trial is not None}
        failed = {e.planned.recipe.id: e.reason for e in state.entries if e.standing == "failed"}
        dropped = race.settle(rung, trials, failed, self.plan.most[rung])
        if dropped:
            self.workplace.progress.say(f"  dropped: {', '.join(each.name for each in dropped)}")

    def _look_at_the_clock(self, rung: int, count: int, state: Sweep) -> None:
        """Decide how many can go on in the time that is left, and note it."""
        planned = self.plan.stage_seconds(YARDSTICK)
        if state.count("finished"):
            self.pace = max(1.0, (time.monotonic() - state.started_at) / planned[rung])
        kept, there = num_kept(rung, count), self.plan.seconds - self.clock.seconds
        most = affordable(kept, self.pace * sum(planned[rung + 1 :]), there)
        if most < kept:
            self.workplace.progress.say(f"  time is short: {most} instead of {kept} go on")
        self.plan = self.plan.model_copy(update={"most": [*self.plan.most, most]})
        self.note(self.plan)

    def _final(self, race: Race) -> Finished:
        """Bring the finalists to their end."""
        kept = {each.name: each.kept for each in race.left if each.kept is not None}
        names = ", ".join(kept) or "nobody is left"
        self._say(f"final: {names}, to step {race.steps:,} and tested", len(RUNGS) - 1)
        state = self._carry_out(list(kept.values()))
        by_run = {entry.planned.recipe.id: entry for entry in state.entries}
        entries = {name: by_run[recipe.id] for name, recipe in kept.items()}
        return Finished(
            race,
            {name: whole(entry.record) for name, entry in entries.items() if entry.record},
            {name: entry.reason for name, entry in entries.items() if not entry.record},
        )

    def _carry_out(self, recipes: Sequence[Recipe], until: int | None = None) -> Sweep:
        """Bring recipes to a step, or to their end."""
        places = self.workplace.places
        planned = (
            plan_runs(recipes, places)
            if until is None
            else [
                look(recipe, names, places, until)
                for recipe, names in zip(recipes, name_all(recipes), strict=True)
            ]
        )
        state = self.workplace.carry_out(planned)
        if state.was_stopped or state.count("stopped"):
            raise Interrupted("stopped, and nothing is lost; the same command goes on from there")
        return state

    def _say(self, what: str, rung: int) -> None:
        """Tell a stage, the time that is used, and that of what is left."""
        left = self.pace * sum(self.plan.stage_seconds(YARDSTICK)[rung:])
        times = f"{duration(self.clock.seconds)} used, about {duration(left)} left"
        self.workplace.progress.say(f"{what} ({times})")


def hold(plan: Plan, workplace: Workplace, clock: Clock, note: Callable[[Plan], None]) -> Finished:
    """Hold the contest of a plan; `note` writes down what the clock decides."""
    return Contesting(plan, workplace, clock, note).hold()
