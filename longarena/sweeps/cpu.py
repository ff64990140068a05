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
