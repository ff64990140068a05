"""A crew that only pretends to work: each run ends at once, as the test says."""

from records.test_folder import record
from training.runs import small_recipe

from longarena.sweep.drive import Sweep
from longarena.sweep.plan import Estimates, Places, plan
from longarena.sweep.worker import Job, Outcome, carry_out, prepare_data
from longarena.training.trial import Trial

RECIPES = [small_recipe("linear", f"seed={seed}") for seed in range(3)]
FAILED = Outcome(state="failed", reason="ValueError: no\nluck")
KILLED = Outcome(state="killed", reason="killed by signal 9")
BUSY = Outcome(state="busy", reason="in use")
STOPPED = Outcome(state="stopped", reason="saved")


class PretendedCrew:
    """Answers the runs of a seed with its outcomes in turn, and the others with STOPPED."""

    num_workers = 1

    def __init__(self, outcomes):
        self.outcomes = {seed: list(found) for seed, found in outcomes.items()}
        self.started, self.under_way, self.was_stopped = [], [], False

    @property
    def has_room(self):
        return not self.under_way

    def prepare(self, recipe, progress):
        prepare_data(recipe, progress)

    def start(self, recipe, until=None):
        self.started.append(recipe.seed)
        self.under_way.append(recipe)

    def ended(self):
        over, self.under_way = self.under_way, []
        return [(recipe, self.outcomes.get(recipe.seed, [STOPPED]).pop(0)) for recipe in over]

    def news(self):
        return []

    def stop(self):
        self.was_stopped = True


def begin(folder, recipes=RECIPES):
    places = Places(folder / "runs", folder / "records")
    return Sweep.of(plan(recipes, places), places, Estimates([]))


class InlineCrew:
    """Does every run in this process, as soon as it is started; `done` has their steps."""

    num_workers, has_room = 1, True

    def __init__(self, places):
        self.places, self.over, self.done = places, [], []

    def prepare(self, recipe, progress):
        prepare_data(recipe, progress)

    def news(self):
        return []

    def start(self, recipe, until=None):
        places = self.places
        job = Job(recipe=recipe, runs=places.runs, store=places.store, threads=1, until=until)
        self.over.append((recipe, carry_out(job)))
        self.done.append((recipe.id, until))

    def ended(self):
        over, self.over = self.over, []
        return over


class JudgedCrew(InlineCrew):
    """Trains nothing: `curve(recipe)` are a run's validation scores, None where it diverges."""

    def __init__(self, places, curve):
        super().__init__(places)
        self.curve = curve

    def prepare(self, recipe, progress):
        """Prepare nothing."""

    def start(self, recipe, until=None):
        self.done.append((recipe.id, until))
        if until is None:
            outcome = Outcome(state="finished", record=record(recipe=recipe, id=recipe.id))
        else:
            outcome = Outcome(state="finished", trial=self.trial(recipe, until))
        self.over.append((recipe, outcome))

    def trial(self, recipe, until):
        every = recipe.evaluate_every
        values = self.curve(recipe)[: until // every]
        is_lost = None in values
        known = values[: values.index(None)] if is_lost else values
        steps = [every * (at + 1) for at in range(len(known))]
        ended = {"has_ended": is_lost, "has_diverged": is_lost}
        return Trial(step=until, curve_steps=steps, curve_values=known, **ended)
