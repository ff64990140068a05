"""A sample of a split: the same examples for every run.

The order in which examples are taken is drawn once for a split of a size, so a larger sample holds
every smaller one, and runs with other seeds are validated on the same examples.
"""

import numpy as np

from longarena.data.dataset import Split
from longarena.seeding import numpy_rng


def sample(split: Split, number: int | None) -> Split:
    """Hold `number` examples of a split in memory, in their order; None or too many: all of it."""
    if number is None or number >= len(split):
        return split
    chosen = np.sort(numpy_rng(0, "sample").permutation(len(split))[:number])
    return split.chosen(chosen)
