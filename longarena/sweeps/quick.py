"""Every mechanism on the two tasks that are generated on the spot: minutes a run on two cores."""

from longarena import Recipe, preset
from longarena.attention import MIXERS


def recipes() -> list[Recipe]:
    return [preset(task, mixer, "quick") for mixer in MIXERS for task in ("listops", "pathfinder")]
