"""quick: minutes on two CPU cores. To see a mechanism work on a task, not to compare.

ListOps is short and shallow here (32 to 256 tokens, depth 6) and Pathfinder has the short paths;
both are generated on the spot. Text, Image and Retrieval are a share of the real data, which must
have been prepared at that size; enwik8 is prepared once for every size. So the numbers cannot be
compared with published ones.
"""

from dataclasses import replace

from longarena.recipes.presets.portion import Portion, own_portion
from longarena.recipes.presets.probes import QUICK as PROBES
from longarena.recipes.recipe import Recipe

# for a text of the user's, all of it
LANGUAGE = Portion(
    batch_size=16,
    steps=500,
    options={"length": 256},
    validate_on=100,
    rate=6e-3,
    slow_rate=1e-3,
    clip=1.0,
    positions="rotary",
    is_causal=True,
)

PORTIONS = {
    "listops": Portion(32, 1000, options={"min_length": 32, "max_length": 256, "max_depth": 6}),
    "text": Portion(16, 400, size=0.1),
    "retrieval": Portion(8, 200, size=0.1),
    "image": Portion(32, 500, size=0.2),
    "pathfinder": Portion(16, 120, size=0.02, options={"difficulty": 6}),
    "pathfinder-64": Portion(8, 200, size=0.01, options={"difficulty": 6}),
    "path-x": Portion(2, 100, size=0.002, options={"difficulty": 6}),
    "enwik8": replace(LANGUAGE, size=0.02),
    **PROBES,
}


# for a task from outside, about which nothing is known
OUTSIDE = Portion(32, 500)


def quick(task: str, mixer: str, seed: int) -> Recipe | None:
    """Train for minutes on two CPU cores, on little or short data: to see it work."""
    portion = PORTIONS.get(task) or own_portion(task, OUTSIDE, LANGUAGE)
    return portion.recipe("quick", task, mixer, seed) if portion and portion.suits(mixer) else None
