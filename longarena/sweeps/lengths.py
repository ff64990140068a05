"""Every mechanism on Text read to 1K, 2K, 3K and 4K bytes: what does more context bring?"""

from longarena import Recipe, override, preset
from longarena.attention import MIXERS

LENGTHS = (1000, 2000, 3000, 4000)


def recipes() -> list[Recipe]:
    return [
        override(preset("text", mixer, "small"), [f"task.max_length={length}"])
        for mixer in MIXERS
        for length in LENGTHS
    ]
