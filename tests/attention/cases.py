"""The cases of the contract: every mixer of the table, small, in several variants."""

from functools import partial

import pytest
from attention import definitions

from longarena.attention import MIXERS, build
from longarena.contract.promises import HEADS, MAX_LENGTH, WIDTH, tokens

__all__ = ["MAX_LENGTH", "WIDTH", "tokens"]
# a width of queries, keys and values that no other number here could be taken for
QKV_WIDTH = 24

CASES = [
    (name, options)
    for name in MIXERS
    for options in (definitions.of(name).SMALL, *definitions.of(name).VARIANTS)
]
# extra global tokens see everything (test_bigbird.py), SortCut sorts for all at once
# (test_sinkhorn.py)
CAUSAL_CASES = [
    (name, options)
    for name, options in CASES
    if MIXERS[name].card.causal and not {"etc", "sort_cut"} & set(options)
]
# shared weights need one width (test_poolingformer.py)
QKV_CASES = [
    (name, options)
    for name, options in CASES
    if MIXERS[name].card.has_qkv and "share_weights" not in options
]


def over(cases):
    """Parametrise a test by all of these cases."""
    ids = [f"{name}{options or ''}" for name, options in cases]
    return pytest.mark.parametrize(("name", "options"), cases, ids=ids)


def over_mixers(cases):
    """Parametrise a test by the first case of every mixer; the others wait for `make test-all`."""
    first = {name: (name, options) for name, options in reversed(cases)}
    marks = [() if case == first[case[0]] else pytest.mark.everywhere for case in cases]
    marked = [pytest.param(*case, marks=mark) for case, mark in zip(cases, marks, strict=True)]
    ids = [f"{name}{options or ''}" for name, options in cases]
    return pytest.mark.parametrize(("name", "options"), marked, ids=ids)


def make(
    name, options, *, causal=False, rotary=False, seed=0, max_length=MAX_LENGTH, qkv_width=None
):
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
        rotary=rotary,
    )
    return mixer.double().eval()


def maker(name, options):
    """What the promises build a case with."""
    return partial(make, name, options)
