"""The whole matrix: every pair of tokens compares averages, the wider the farther they are apart.

Repository google/flaxformer, flaxformer/architectures/h_transformer, by the authors of the paper,
arXiv 2107.11906. Blocks of a level: its own and both neighbours at the finest, neighbours alone at
the coarser, without the quadrant that a finer level has (h_attention.py, _gen_correction_mask;
token_hierarchy.py, _shift_blocks_1d). So a pair belongs to the finest level on which its blocks
are the same or neighbours, whatever the length of the row.

Averages: token_hierarchy.py, _coarsen_padding_mask and _coarsen_query_or_key; two by two, over the
halves that have a real token, so that a half counts as much as the other even if it is not full.
Values are summed, and the normaliser counts the real tokens of an average (h_attention.py,
_compute_softmax_partition): either is a sum over the tokens of the same weight. Averages are taken
of projected tokens, and go back to their tokens as they are (`ConvKernelType.CONST`).

Without the relative position bias that this code can add (`use_rpb`).
"""

import math

import torch
from attention.definitions.pieces import masked_softmax, merge, projected
from torch.nn.functional import pad

SMALL = {"block": 4}
VARIANTS = [{}, {"block": 2}, {"block": 6}, {"block": 30}, {"block": 64}]


def definition(x, mask, weights, place, options):
    q, k, v = projected(x, weights, place)
    belongs = levels(x.shape[1], options.block)
    logits = torch.zeros(*q.shape[:3], k.shape[2], dtype=q.dtype)
    for level in range(int(belongs.max()) + 1):
        scores = averages(q, mask, level) @ averages(k, mask, level).transpose(-1, -2)
        logits = torch.where(belongs == level, scores / math.sqrt(q.shape[-1]), logits)
    return merge(masked_softmax(logits, mask[:, None, None, :]) @ v, weights["output.weight"])


def levels(length, block):
    """The level of every pair: how often blocks must double until the two are neighbours."""
    position, level, far = torch.arange(length), 0, torch.ones(length, length, dtype=torch.bool)
    while far.any():
        far = (position[:, None] // block - position // block).abs() > 1
        level, block = level + far.long(), 2 * block
    return level


def averages(t, mask, level):
    """At every token, the average of the 2^level tokens that it shares a cell with."""
    length, size = t.shape[2], 2**level
    real = pad(mask, (0, -length % size))
    t = pad(torch.where(mask[:, None, :, None], t, 0.0), (0, 0, 0, -length % size))
    for _ in range(level):
        halves = real.unflatten(1, (-1, 2))
        count = halves.sum(2).clamp_min(1)[:, None, :, None]
        t, real = t.unflatten(2, (-1, 2)).sum(3) / count, halves.any(2)
    return t.repeat_interleave(size, dim=2)[:, :, :length]
