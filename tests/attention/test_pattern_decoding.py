"""What the mechanisms with fixed patterns keep while they go token by token, and what a step costs.

That they give what the whole sequence gives is tested with all others, in test_decoding.py.
"""

import pytest
import torch
from attention.cases import CAUSAL_CASES, make, over, over_mixers, tokens

from longarena.attention import build
from longarena.measure.cost import mult_adds

NAMES = [
    *("local", "sparse", "longformer", "synthesizer", "bigbird", "transformer-xl"),
    *("compressive", "image-transformer", "lite-transformer"),
]
CASES = [case for case in CAUSAL_CASES if case[0] in NAMES]
FIRST = [next(case for case in CASES if case[0] == name) for name in NAMES]
ROTATED = [
    (name, options)
    for name, options in CASES
    if name not in {"transformer-xl", "compressive"}
    and (name != "synthesizer" or "dot_product" in options)
]
LENGTH = 100
# a key and a value of one head, and of both
ONE, BOTH = 2 * 8, 2 * 16

# mechanism and options: the numbers that are kept after 100 tokens
KEPT = [
    ("transformer", {}, 100 * BOTH),
    ("local", {"block": 8}, 8 * BOTH),
    ("local", {"block": 8, "neighbours": 2}, 24 * BOTH),
    # one head sees a stride back, the other all positions in a column
    ("sparse", {"stride": 8}, 9 * ONE + 100 * ONE),
    ("sparse", {"stride": 8, "merged": True}, 100 * BOTH),
    # one head keeps its block, the other the last two of twelve blocks
    ("sparse", {"stride": 8, "pattern": "fixed", "summary": 2}, 8 * ONE + 24 * ONE),
    # the last three of fourteen blocks of seven
    ("sparse", {"stride": 7, "pattern": "fixed", "summary": 3, "merged": True}, (7 + 42) * BOTH),
    ("longformer", {"window": 8, "dilation": (1, 3)}, (1 + 4) * ONE + (1 + 4 * 3) * ONE),
    # any block may be drawn later
    ("bigbird", {"block": 8}, 100 * BOTH),
    ("synthesizer", {}, 100 * BOTH // 2),
    ("synthesizer", {"dot_product": True}, 100 * BOTH),
    # half of the channels attend, the others are convolved
    ("lite-transformer", {"kernel": 5}, 100 * ONE + 5 * 8),
    ("transformer-xl", {"segment": 8, "memory": 16}, 24 * BOTH),
    # beside three slots the four of the segment and its memory, and the states of one group
    (
        "compressive",
        {"segment": 8, "memory": 8, "compressed": 3, "rate": 4},
        (16 + 3 + 4) * BOTH + 4 * 16,
    ),
    # how much each state of a segment has been used
    (
        "compressive",
        {"segment": 8, "memory": 8, "compressed": 3, "rate": 4, "compression": "most-used"},
        (16 + 3) * BOTH + 8,
    ),
    ("image-transformer", {"block": 8, "memory": 24}, 24 * BOTH),
    # four lines of sixteen pixels
    (
        "image-transformer",
        {
            "mode": "2d",
            "image_height": 8,
            "image_width": 16,
            "block": 4,
            "memory": 8,
            "block_height": 2,
            "memory_height": 4,
        },
        64 * BOTH,
    ),
]


def whole(mixer, x):
    return mixer(x, torch.ones(x.shape[:2], dtype=torch.bool))


@pytest.mark.parametrize(
    ("name", "options", "numbers"), KEPT, ids=[f"{name}{options}" for name, options, _ in KEPT]
)
def test_it_keeps_what_was_counted_by_hand(name, options, numbers):
    mixer = make(name, options, causal=True)
    assert mixer.state_bytes(LENGTH) == 8 * numbers


@over_mixers(ROTATED)
@torch.no_grad()
def test_with_rotary_positions_it_steps_to_the_same_answers(name, options):
    mixer = make(name, options, causal=True, rotary=True)
    x, _ = tokens(61, 61)
    decoder = mixer.start(2)
    parts = [decoder.read(x[:, :13]), *(decoder.step(t)[:, None] for t in x[:, 13:].unbind(1))]
    torch.testing.assert_close(torch.cat(parts, dim=1), whole(mixer, x))


@over(FIRST)
@torch.no_grad()
def test_a_prompt_is_read_in_the_parallel_form(name, options, monkeypatch):
    mixer = make(name, options, causal=True)
    decoder = mixer.start(1)
    monkeypatch.setattr(decoder, "step", None)
    x, _ = tokens(61)
    torch.testing.assert_close(decoder.read(x), whole(mixer, x), rtol=0, atol=0)


def operations_of_a_step(mixer, position):
    decoder = mixer.start(1)
    x, _ = tokens(position + 1)
    decoder.read(x[:, :position])
    return mult_adds(lambda: decoder.step(x[:, position]))


GROWING = {"sparse", "synthesizer", "lite-transformer"}


@over([case for case in FIRST if case[0] not in GROWING])
@torch.no_grad()
def test_a_step_costs_no_more_after_twice_as_many_tokens(name, options):
    mixer = make(name, options, causal=True)
    assert operations_of_a_step(mixer, 119) == operations_of_a_step(mixer, 71)


@over([("transformer", {}), *(case for case in FIRST if case[0] in GROWING)])
@torch.no_grad()
def test_the_others_cost_more(name, options):
    mixer = make(name, options, causal=True)
    assert operations_of_a_step(mixer, 119) > operations_of_a_step(mixer, 71)


@pytest.mark.parametrize("layer", [0, 1])
@pytest.mark.parametrize("pattern", ["strided", "fixed"])
@torch.no_grad()
def test_a_single_head_has_the_first_part_or_the_second(layer, pattern):
    options = {"stride": 8, "pattern": pattern, "summary": 2}
    sizes = {"width": 16, "num_heads": 1, "max_length": 64}
    mixer = build("sparse", layer=layer, depth=2, options=options, causal=True, **sizes).double()
    x, _ = tokens(61)
    decoder = mixer.start(1)
    stepped = torch.stack([decoder.step(token) for token in x.unbind(1)], dim=1)
    torch.testing.assert_close(stepped, whole(mixer, x))


@over([case for case in CASES if case[0] in {"longformer", "synthesizer", "bigbird"}])
@pytest.mark.parametrize("scale", [1.0, 1e3])
def test_nothing_later_reaches_an_earlier_token_at_all(name, options, scale):
    mixer = make(name, options, causal=True).float()
    x = scale * tokens(61)[0].float()
    changed = x.clone()
    changed[:, 40:] = scale * torch.randn_like(changed[:, 40:])
    x.requires_grad_()
    y = whole(mixer, x)
    assert torch.equal(y[:, :40], whole(mixer, changed)[:, :40])
    (y[:, :40] * torch.randn_like(y[:, :40])).sum().backward()
    assert x.grad[:, :40].abs().sum() > 0
    assert not x.grad[:, 40:].any()
