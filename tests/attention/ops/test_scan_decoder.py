from dataclasses import replace

import pytest
import torch
from attention.ops.test_decay_scan import HEADS, KINDS, SIZE, draw, make

from longarena.attention.ops.decay_scan import decay_scan
from longarena.attention.ops.scan_decoder import continue_scan


def part(plan, v, first, last):
    """The plan and values of some of the tokens."""
    forward = plan.forward if plan.forward.shape[2] == 1 else plan.forward[:, :, first:last]
    some = replace(plan, q=plan.q[:, :, first:last], k=plan.k[:, :, first:last], forward=forward)
    return some, v[:, :, first:last]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("places", [[37], [1, 37], [16, 17, 37], [30, 37], list(range(1, 38))])
def test_a_scan_in_parts_is_the_scan_of_the_whole(kind, places):
    plan, v = make(kind, both_ways=False), draw(2, HEADS, 37, 5)
    state = torch.zeros(2, HEADS, SIZE, 5, dtype=v.dtype)
    answers = []
    for first, last in zip([0, *places], places, strict=False):
        y, state = continue_scan(*part(plan, v, first, last), state)
        answers.append(y)
    torch.testing.assert_close(torch.cat(answers, dim=2), decay_scan(plan, v))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("length", [1, 2, 31, 37])
def test_the_last_state_is_the_faded_sum_of_all(kind, length):
    plan, v = part(make(kind, both_ways=False), draw(2, HEADS, 37, 5), 0, length)
    before = draw(2, HEADS, SIZE, 5, seed=7)
    state = before
    decays = plan.forward.expand(2, HEADS, length, SIZE).exp()
    for i in range(length):
        state = decays[:, :, i, :, None] * state + plan.k[:, :, i, :, None] * v[:, :, i, None]
    torch.testing.assert_close(continue_scan(plan, v, before)[1], state)
