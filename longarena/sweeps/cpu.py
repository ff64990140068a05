"""The arena on a laptop: every mechanism on five tasks with the `cpu` preset.

One seed for all comes first, all tasks of a mechanism in a row, so that the table fills evenly;
then two more seeds for five mechanisms, one of each of five families, on two tasks. Text and Image
are the official data, Retrieval is aan-mini and says so.
"""

from longarena import Recipe, override, preset
from longarena.attention import MIXERS

DATA = {
    "listops": [],
    "text": [],
    "image": [],
    "retrieval": ["task.data=aan-mini"],
    "pathfinder": [],
}
# rates of studies in which a mechanism stands for its family: at the preset's, S4D learns little
OWN_RATES = {"s4d": "1e-2"}
# what a recipe counts in steps, but for the warm-up
COUNTED = ("steps", "evaluate_every", "log_every", "checkpoint_every")
AGAIN = ("transformer", "linear", "local", "linformer", "bigbird")


def recipes() -> list[Recipe]:
    once = [recipe(task, mixer, 0) for mixer in MIXERS for task in DATA]
    again = [
        recipe(task, mixer, seed)
        for seed in (1, 2)
        for mixer in AGAIN
        for task in ("text", "image")
    ]
    return once + again


def recipe(task: str, mixer: str, seed: int) -> Recipe:
    return override(preset(task, mixer, "cpu", seed), DATA[task])


def in_steps(recipe: Recipe, times: float) -> Recipe:
    """Train for some times as many steps, with the same share of them for everything."""
    values = {"schedule.warmup_steps": recipe.schedule.warmup_steps}
    values |= {name: getattr(recipe, name) for name in COUNTED}
    return override(recipe, [f"{name}={round(times * value)}" for name, value in values.items()])


def at_own_rate(recipe: Recipe) -> Recipe:
    """Give a mechanism the rate that it asks for, if it is known."""
    rate = OWN_RATES.get(recipe.model.mixer)
    return override(recipe, [f"optimiser.rate={rate}"]) if rate else recipe
