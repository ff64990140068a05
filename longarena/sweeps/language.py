"""Every causal mechanism on enwik8 with the `cpu` preset: about 10 minutes a run on one core."""

from longarena import Recipe, preset
from longarena.attention import CARDS


def recipes() -> list[Recipe]:
    return [preset("enwik8", name, "cpu") for name, card in CARDS.items() if card.causal]
