"""A crew that only pretends to work: each run ends at once, as the test says."""

from training.runs import small_recipe

from longarena.sweep.drive import Sweep
from longarena.sweep.plan import Estimates, Places, plan
from longarena.sweep.worker import Outcome

RECIPES = [small_recipe("linear", f"seed={seed}") for seed in range(3)]
FAILED = Outcome(state="failed", reason="ValueError: no\nluck")
KILLED = Outcome(state="killed", reason="killed by signal 9")
BUSY = Outcome(state="busy", reason="in use")
STOPPED = Outcome(state="stopped", reason="saved")


class PretendedCrew:
    """Answers the runs of a seed with its outcomes in turn, and the others with STOPPED."""

    num_workers, is_local = 1, True

    def __init__(self, outcomes):
        self.outcomes = {seed: list(found) for seed, found in outcomes.items()}
        self.started, self.under_way, self.was_stopped = [], [], False

    @property
    def has_room(self):
        return not self.under_way

    def start(self, recipe, until=None):
        self.started.append(recipe.seed)
        self.under_way.append(recipe)

    def ended(self):
        over, self.under_way = self.under_way, []
        return [(recipe, self.outcomes.get(recipe.seed, [STOPPED]).pop(0)) for recipe in over]

    def stop(self):
        self.was_stopped = True


def begin(folder, recipes=RECIPES):
    places = Places(folder / "runs", folder / "records")
    return Sweep.of(plan(recipes, places), places, Estimates([]))
