"""The sweeps that come with longarena, a file each: `longarena sweep NAME`.

    def recipes() -> list[Recipe]: a for loop in Python

They are written as a user writes his own, with the public names alone, so that a copy in `./sweeps`
can be changed; a file there goes before the one of the same name here.
"""

from pathlib import Path

FOLDER = Path(__file__).parent
