"""Records of choices for tests: finalists by name, with what each scored and took."""

from training.runs import small_recipe

from longarena.records.choice import ChoiceRecord, Constraints, Entrant, Gap, Tested
from longarena.runtime import machine, versions
from longarena.tracks.metric import ACCURACY


def gap(value, reach):
    return Gap(value=value, low=value - reach, high=value + reach)


def scoring(value, best=None, yardstick=None, reach=0.02, rises=False):
    """What a finalist scored; the gaps follow from the scores, with the same reach for all."""
    best = value if best is None else best
    return Tested(
        value=value,
        error=0.01,
        to_best=gap(value - best, 0.0 if value == best else reach),
        to_yardstick=None if yardstick is None else gap(value - yardstick, reach),
        still_rises=rises,
    )


def finalist(mixer, found, seconds=0.1, peak=1000):
    return Entrant(
        mixer=mixer,
        fate="final",
        seconds_per_step=seconds,
        peak_bytes=peak,
        rate=0.01,
        scores=[0.1, 0.2, 0.3, found.value],
        run="0" * 10,
        tested=found,
    )


def choice(*entrants, taken="", **changes):
    values = {
        "id": "abc",
        "task": small_recipe().task,
        "preset": "cpu",
        "metric": ACCURACY,
        "variant": "",
        "fingerprint": "0" * 16,
        "constraints": Constraints(),
        "minutes": 30,
        "length": 3400,
        "batch_size": 8,
        "steps": 800,
        "rungs": [100, 200, 400, 800],
        "level": 0.1,
        "test_examples": 1000,
        "entrants": list(entrants),
        "taken": taken,
        "recipe": small_recipe(taken.partition("[")[0]) if taken else None,
        "machine": machine(),
        "versions": versions(),
        "finished_at": "2026-01-01T00:00:00+00:00",
    }
    return ChoiceRecord(**values | changes)


def usual(**changes):
    """A choice of Local, which is tied with the Transformer, with one dropped and one left out."""
    return choice(
        finalist("local", scoring(0.80, 0.81, 0.81), 0.1, 500),
        finalist("transformer", scoring(0.81, 0.81, 0.81), 0.31),
        finalist("s4d", scoring(0.70, 0.81, 0.81), 0.2),
        Entrant(
            mixer="linear",
            fate="dropped",
            reason="worse than others at step 100",
            seconds_per_step=0.05,
            peak_bytes=100,
            rate=0.1,
            scores=[0.05],
        ),
        Entrant(mixer="fnet", fate="left out", reason="too slow: needs --minutes 90"),
        **{"taken": "local"} | changes,
    )
