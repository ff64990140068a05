"""Tune every mechanism alike: try the same values, choose on validation, test the chosen one.

    bring every candidate to the step at which all are compared
    keep the best, write down how it was chosen, and train it with every seed

The test split of a candidate is read only if it is chosen. A candidate is an ordinary run that is
stopped (training/trial.py), so a killed tuning goes on from the checkpoints and chooses the same.

Choice: a run is as good as its best validation so far, since those parameters would be tested.
Choice: of equal ones the first of the grid is better; one that has diverged is worse than all.
Choice: all mechanisms are compared before any goes on, so that the crew always has work for all.
Choice: where a candidate failed, nothing is chosen: the others were not compared with all.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from longarena.recipes.recipe import Recipe, build_task, id_without_seed
from longarena.records.folder import find_tuning_record, write_record
from longarena.records.tuning import Candidate, TuningRecord
from longarena.runtime import machine, versions
from longarena.sweep.candidates import Question, at_point
from longarena.sweep.drive import Entry, Sweep
from longarena.sweep.plan import Places, PlannedRun, look, metric_of, name_all, plan
from longarena.sweep.workplace import Workplace
from longarena.tracks.metric import Metric
from longarena.training.trial import Trial


@dataclass
class Tuned:
    """What came of a tuning: the choices, the trials, and the runs with the chosen values.

    Among the runs of `sweep` are the trials without which nothing could be chosen.
    """

    choices: list[TuningRecord]
    trials: list[Entry]
    sweep: Sweep


@dataclass
class Race:
    """One question on its way to an answer: its trials, and what they scored."""

    question: Question
    scores: list[float | None] = field(default_factory=list)

    def trials(self, places: Places) -> list[PlannedRun]:
        """Plan the trials."""
        everyone = self.question.candidates
        names = name_all(everyone)
        until = self.question.compared_at
        return [look(each, name, places, until) for each, name in zip(everyone, names, strict=True)]

    def settle(self, found: Mapping[str, Trial]) -> None:
        """Note what the trials scored; nothing if one of them failed."""
        everyone, metric = self.question.candidates, metric_of(self.question.recipe)
        if all(recipe.id in found for recipe in everyone):
            at = self.question.compared_at
            self.scores = [found[recipe.id].best_by(at, metric) for recipe in everyone]

    def record(self) -> TuningRecord:
        """Write down how the winner was chosen."""
        question, metric = self.question, metric_of(self.question.recipe)
        (first,) = best(self.scores, 1, metric)
        winner = question.candidates[first]
        points = zip(question.candidates, question.points, self.scores, strict=True)
        return TuningRecord(
            id=question.id,
            recipe=winner,
            metric=metric,
            variant=build_task(winner).variant,
            grid={key: list(values) for key, values in question.grid.items()},
            rungs=[question.compared_at],
            candidates=[
                Candidate(run=recipe.id, values=point, scores=[score])
                for recipe, point, score in points
            ],
            machine=machine(),
            versions=versions(),
            finished_at=datetime.now(UTC).isoformat(timespec="seconds"),
        )


def best(scores: Sequence[float | None], count: int, metric: Metric) -> list[int]:
    """Return the places of the best scores, in their order; None is worse than all.

    >>> from longarena.tracks.metric import ACCURACY
    >>> best([0.2, None, 0.4, 0.2], 2, ACCURACY)
    [0, 2]
    """
    sign = -1 if metric.better == "more" else 1

    def order(place: int) -> tuple[bool, float]:
        score = scores[place]
        return score is None, 0.0 if score is None else sign * score

    return sorted(sorted(range(len(scores)), key=order)[:count])


def answer(question: Question, places: Places) -> TuningRecord | None:
    """Look up whether a question has been answered before."""
    found = find_tuning_record(places.store, question.recipe.model.mixer, question.id)
    if found is None or found.rungs != [question.compared_at]:
        return None
    asked = [recipe.id for recipe in question.candidates]
    return found if [each.run for each in found.candidates] == asked else None


def chosen(
    recipes: Sequence[Recipe], questions: Sequence[Question], choices: Sequence[TuningRecord]
) -> list[Recipe]:
    """Give every recipe the values that were chosen for its mechanism and task, if any were."""
    by_id = {record.id: record.chosen.values for record in choices}
    points = {
        id_without_seed(question.recipe): by_id[question.id]
        for question in questions
        if question.id in by_id
    }
    found = [(recipe, points.get(id_without_seed(recipe))) for recipe in recipes]
    return [at_point(recipe, point) for recipe, point in found if point is not None]


def plan_ahead(
    questions: Sequence[Question], recipes: Sequence[Recipe], places: Places
) -> list[PlannedRun]:
    """Plan what can be known: the first trials, and the runs whose values have been chosen."""
    known = [(question, answer(question, places)) for question in questions]
    open_ = [Race(question) for question, record in known if record is None]
    choices = [record for _, record in known if record is not None]
    trials = [run for race in open_ for run in race.trials(places)]
    return [*trials, *plan(chosen(recipes, questions, choices), places)]


def tune_all(
    questions: Sequence[Question], recipes: Sequence[Recipe], workplace: Workplace
) -> Tuned:
    """Answer every question, then bring the runs with the chosen values to their end."""
    places, trials = workplace.places, list[Entry]()
    known = {question.id: answer(question, places) for question in questions}
    races = [Race(question) for question in questions if known[question.id] is None]
    if races:
        state = _compare(races, workplace)
        trials += state.entries
        if state.was_stopped:
            return Tuned([], trials, state)
    for race in races:
        if race.scores:
            known[race.question.id] = record = race.record()
            write_record(places.store, record)
    choices = [record for record in known.values() if record is not None]
    state = workplace.carry_out(plan(chosen(recipes, questions, choices), places))
    state.entries[:0] = [entry for entry in trials if entry.standing == "failed"]
    return Tuned(choices, trials, state)


def _compare(races: Sequence[Race], workplace: Workplace) -> Sweep:
    """Bring every candidate to where it is compared, and note what it scored."""
    planned = [run for race in races for run in race.trials(workplace.places)]
    workplace.progress.say(f"comparison of {len(planned)} candidates")
    state = workplace.carry_out(planned)
    trials = {e.planned.recipe.id: e.trial for e in state.entries if e.trial is not None}
    for race in races:
        race.settle(trials)
    return state
