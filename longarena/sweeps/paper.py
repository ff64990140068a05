"""Every mechanism on the six tasks with the `paper` preset, one seed: the paper's table."""

from longarena import Recipe, preset
from longarena.attention import MIXERS

TASKS = ("listops", "text", "retrieval", "image", "pathfinder", "path-x")


def recipes() -> list[Recipe]:
    return [preset(task, mixer, "paper") for mixer in MIXERS for task in TASKS]
