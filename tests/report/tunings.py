"""Records of tunings made by hand, and the runs with the values that they chose."""

from report.examples import MACHINE, VERSIONS, run_record

from longarena.records.tuning import Candidate, TuningRecord
from longarena.tracks.metric import ACCURACY

RATES = (0.0025, 0.01, 0.04)
# the rate of the quick preset
PRESET_RATE = 0.01


def at_rate(rate, mixer="transformer", **fields):
    """A run of the quick preset at another rate."""
    sets = (*fields.pop("sets", ()), f"optimiser.rate={rate}")
    return run_record(mixer, sets=sets, **fields)


def tuning_record(rate, mixer="transformer", rates=RATES, sets=(), **fields):
    """One tuning of the quick preset that chose a rate."""
    runs = {each: at_rate(each, mixer, sets=sets) for each in rates}
    values = {
        "id": f"tuning-{mixer}-{len(rates)}{len(sets)}",
        "recipe": runs[rate].recipe,
        "metric": ACCURACY,
        "variant": runs[rate].variant,
        "grid": {"optimiser.rate": list(rates)},
        "rungs": [runs[rate].recipe.steps],
        "candidates": [
            Candidate(
                run=run.recipe.id,
                values={"optimiser.rate": each},
                scores=[0.4 if each == rate else 0.3],
            )
            for each, run in runs.items()
        ],
        "machine": MACHINE,
        "versions": VERSIONS,
        "finished_at": "2025-11-03T09:00:00+00:00",
    }
    return TuningRecord(**values | fields)
