"""cpu: about two minutes per run on one core, so that a laptop fills the whole table in hours.

Text and Image are a share of the official data (Text at 1,000 bytes, as the official configuration
file has it), Retrieval is a share of whatever pairs were prepared, cut at 512 bytes; all three must
have been prepared at that size. ListOps (100 to 500 tokens) and Pathfinder (the short paths) are
generated. Every mechanism takes the same steps, so a slow one takes longer than two minutes.

The numbers are for comparing mechanisms with each other, not with published numbers.
"""

from longarena.recipes.presets.outside import is_outside
from longarena.recipes.presets.portion import Portion
from longarena.recipes.recipe import Recipe

PORTIONS = {
    "listops": Portion(32, 600, options={"min_length": 100, "max_length": 500}),
    "text": Portion(16, 400, size=0.1, options={"max_length": 1000}, num_validations=2),
    "retrieval": Portion(16, 400, size=0.5, options={"max_length": 512}, num_validations=2),
    "image": Portion(16, 400, size=0.2, num_validations=2),
    "pathfinder": Portion(16, 400, size=0.05, options={"difficulty": 6}, num_validations=2),
}


# for a task from outside, about which nothing is known
OUTSIDE = Portion(16, 1000)


def cpu(task: str, mixer: str, seed: int) -> Recipe | None:
    """Train for about two minutes on one core, on a share of real data: for a whole table."""
    portion = PORTIONS.get(task, OUTSIDE if is_outside(task) else None)
    return portion.recipe("cpu", task, mixer, seed) if portion else None
