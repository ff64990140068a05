"""Every mechanism on the six tasks with the `small` preset, three seeds: for a GPU or patience."""

from longarena import Recipe, preset
from longarena.attention import MIXERS

TASKS = ("listops", "text", "retrieval", "image", "pathfinder", "path-x")


def recipes() -> list[Recipe]:
    return [
        preset(task, mixer, "small", seed)
        for seed in range(3)
        for mixer in MIXERS
        for task in TASKS
    ]
