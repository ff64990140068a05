"""quick: minutes on two CPU cores. To see a mechanism work on a task, not to compare.

ListOps is short and shallow here (32 to 256 tokens, depth 6) and Pathfinder has 16 x 16 pixels and
short paths; both are generated on the spot. Text, Image and Retrieval are a share of the real data,
which must have been prepared at that size; enwik8 is prepared once for every size. So the numbers
cannot be compared with published ones.

Choice: the rate is 0.01. By trial on lists, against 2e-3 for all, S4D gets 36.0 % instead
        of 29.5 %, the Transformer 36.8 instead of 37.4 %; on lists of up to 64 tokens 50.8 instead
        of 43.9 % and 41.3 instead of 47.3 %. With the norm of the batch S4D gets 40.6 and 54.4 %,
        but then a batch cannot be computed in parts, nor layers twice.
Choice: pixels are numbers, with the norm of the batch, as in `cpu`: so S4D gets 76 % of Pathfinder.
"""

from dataclasses import replace

from longarena.recipes.presets.portion import Portion, own_portion
from longarena.recipes.presets.probes import QUICK as PROBES
from longarena.recipes.presets.sentences import QUICK as SENTENCES
from longarena.recipes.presets.sentences import QUICK_OWN, sentences_of
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

# for a task from outside, about which nothing is known
OUTSIDE = Portion(32, 500, rate=1e-2, slow_rate=1e-3)
PIXELS = replace(OUTSIDE, norm="batch", input="value")

PORTIONS = {
    "listops": replace(
        OUTSIDE, steps=1000, options={"min_length": 32, "max_length": 256, "max_depth": 6}
    ),
    "text": replace(OUTSIDE, batch_size=16, steps=400, size=0.1),
    "retrieval": replace(OUTSIDE, batch_size=8, steps=200, size=0.1),
    "image": replace(PIXELS, size=0.2),
    "pathfinder": replace(
        PIXELS, batch_size=64, steps=600, size=0.1, options={"side": 16, "difficulty": 3}
    ),
    "pathfinder-64": replace(PIXELS, batch_size=8, steps=200, size=0.01, options={"difficulty": 6}),
    "path-x": replace(PIXELS, batch_size=2, steps=100, size=0.002, options={"difficulty": 6}),
    "digits": replace(PIXELS, steps=300, options={"rate": 1000, "max_length": 640}),
    "enwik8": replace(LANGUAGE, size=0.02),
    **PROBES,
}


def quick(task: str, mixer: str, seed: int) -> Recipe | None:
    """Train for minutes on two CPU cores, on little or short data: to see it work."""
    if sentences := sentences_of(task, SENTENCES, QUICK_OWN):
        return sentences.recipe("quick", task, mixer, seed)
    portion = PORTIONS.get(task) or own_portion(task, OUTSIDE, LANGUAGE)
    return portion.recipe("quick", task, mixer, seed) if portion and portion.suits(mixer) else None
