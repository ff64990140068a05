"""The cases of the contract: every mixer of the table, small, in several variants."""

import torch
from attention import definitions

from longarena.attention import MIXERS, build

WIDTH, HEADS, MAX_LENGTH = 16, 2, 128
# a width of queries, keys and values that no other number here could be taken for
QKV_WIDTH = 24

CASES = [
    (name, options)
    for name in MIXERS
    for options in (definitions.of(name).SMALL, *definitions.of(name).VARIANTS)
]
CAUSAL_CASES = [(name, options) for name, options in CASES if MIXERS[name].card.causal]
# shared weights need one width (test_poolingformer.py)
QKV_CASES = [(name, options) for name, options in CASES if "share_weights" not in options]
IDS = [f"{name}{options or ''}" for name, options in CASES]
QKV_IDS = [f"{name}{options or ''}" for name, options in QKV_CASES]
CAUSAL_IDS = [f"{name}{options or ''}" for name, options in CAUSAL_CASES]


def make(name, options, *, causal=False, seed=0, max_length=MAX_LENGTH, qkv_width=None):
    """Build one case in float64, where rounding cannot hide a mistake."""
    mixer = build(
        name,
        width=WIDTH,
        qkv_width=qkv_width,
        num_heads=HEADS,
        max_length=max_length,
        seed=seed,
        options=options,
        causal=causal,
    )
    return mixer.double().eval()


def tokens(*lengths, seed=0):
    """Random tokens for rows of these lengths, and their mask."""
    generator = torch.Generator().manual_seed(seed)
    longest = max(lengths)
    x = torch.randn(len(lengths), longest, WIDTH, generator=generator, dtype=torch.float64)
    mask = torch.arange(longest) < torch.tensor(lengths)[:, None]
    return x, mask
