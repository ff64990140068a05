"""Contests in this process: short lists, pretended speeds, and runs that are trained or judged."""

from contextlib import contextmanager

from measure.test_summary import record as measured
from sweep.crews import InlineCrew, JudgedCrew

from longarena.choose import Constraints, Question, choose
from longarena.choose.speed import Ruler
from longarena.records.record import SplitScore
from longarena.sweep.worker import Outcome

SETS = ("task.min_length=4", "task.max_length=40", "task.size=0.005", "model.width=16")
SHORT = (*SETS, "model.mlp_width=16", "batch_size=8", "steps=16")
# seconds per step
SPEEDS = {"linear": 0.1, "local": 0.2, "s4d": 0.3, "transformer": 0.4}


def question(*only, minutes=30.0, **constraints):
    return Question("listops", minutes, "cpu", SHORT, Constraints(only=only, **constraints))


def pretend_speeds(monkeypatch, speeds=SPEEDS):
    """Measure nothing: the speeds are those of the table."""

    def measure(self, recipes, session, rule):
        names = {name: recipe.model.mixer for name, recipe in recipes.items()}
        return {
            name: measured(mixer, self.data.length, speeds[mixer], peak=10**6)
            for name, mixer in names.items()
            if mixer in speeds
        }

    monkeypatch.setattr(Ruler, "_measure", measure)


def hold(asked, folder, crew=InlineCrew, **options):
    """Answer a question with one crew; return the record, and the crew if it was called."""
    hands = []

    @contextmanager
    def gather(places):
        hands.append(crew(places))
        yield hands[0]

    record = choose(asked, folder, crew=gather, **options)
    return record, hands[0] if hands else None


class Contestants(JudgedCrew):
    """Trains nothing: `scores` are what each mechanism scores, on validation and on the test."""

    scores: dict[str, float | None]

    def __init__(self, places):
        super().__init__(places, lambda recipe: [self.scores[recipe.model.mixer]] * 8)

    def start(self, recipe, until=None):
        super().start(recipe, until)
        _, outcome = self.over[-1]
        if outcome.record is not None:
            value = self.scores[recipe.model.mixer]
            score = SplitScore(value=value, error=0.01, loss=1.0, weight=1000, examples=1000)
            metrics = outcome.record.metrics.model_copy(
                update={"test": score, "valid": score, "level": 0.2}
            )
            record = outcome.record.model_copy(update={"metrics": metrics})
            self.over[-1] = (recipe, Outcome(state="finished", record=record))


def scoring(**scores):
    """A crew whose mechanisms score as given."""
    return type("Scoring", (Contestants,), {"scores": scores})
