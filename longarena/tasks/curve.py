"""A series of values as a line of characters, for a person to see its shape."""

import numpy as np

from longarena.data.dataset import DiskTokens

HEIGHTS = "▁▂▃▄▅▆▇█"
WIDTH = 80


def draw_values(tokens: DiskTokens, vocab_size: int) -> str:
    """Draw how far the values of a series reach from the middle of the scale, from left to right.

    >>> draw_values(np.array([128, 128, 255, 0], np.uint8), 257)
    '▁▁██ (4 values)'
    """
    middle = (vocab_size - 2) / 2
    far = np.abs(tokens.astype(np.float64) - middle) / middle
    parts = np.array_split(far, min(WIDTH, len(far))) if len(far) else []
    marks = [HEIGHTS[min(len(HEIGHTS) - 1, int(part.max() * len(HEIGHTS)))] for part in parts]
    return f"{''.join(marks)} ({len(tokens):,} values)"
