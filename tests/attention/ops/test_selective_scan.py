import pytest
import torch

from longarena.attention.ops.selective_scan import (
    Selection,
    Walk,
    continue_selective_scan,
    selective_scan,
)

LENGTH, HEADS, SIZE, STATE = 21, 3, 4, 5
FORWARDS, BACKWARDS = Walk(size=8), Walk(size=8, backwards=True)


def draw(*shape, seed):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(*shape, generator=generator, dtype=torch.float64)
    return x.requires_grad_()


def select(seed):
    q, k = (draw(2, LENGTH, STATE, seed=seed + i) for i in range(2))
    dt, logs = (draw(2, LENGTH, HEADS, seed=seed + i) for i in (2, 3))
    return Selection(q, k, dt, -logs.square())


def step_by_step(v, selection):
    """The recurrence from the start to the end."""
    state, answers = torch.zeros(2, HEADS, SIZE, STATE, dtype=v.dtype), []
    for q, k, dt, log, value in zip(
        *(t.unbind(1) for t in (selection.q, selection.k, selection.dt, selection.logs, v)),
        strict=True,
    ):
        added = torch.einsum("bh,bs,bhd->bhds", dt, k, value)
        state = log.exp()[..., None, None] * state + added
        answers.append(torch.einsum("bhds,bs->bhd", state, q))
    return torch.stack(answers, dim=1)


def from_the_end(v, selection):
    turned = Selection(
        *(t.flip(1) for t in (selection.q, selection.k, selection.dt, selection.logs))
    )
    return step_by_step(v.flip(1), turned).flip(1)


def check(v, selections, found, expected):
    torch.testing.assert_close(found, expected)
    inputs = [v, *(t for s in selections for t in (s.q, s.k, s.dt, s.logs))]
    direction = draw(*found.shape, seed=99).detach()
    gradients = [torch.autograd.grad(t, inputs, direction) for t in (found, expected)]
    torch.testing.assert_close(*gradients)


@pytest.mark.parametrize(
    ("walk", "recurrence"), [(FORWARDS, step_by_step), (BACKWARDS, from_the_end)]
)
def test_a_scan_is_the_recurrence(walk, recurrence):
    v, selection = draw(2, LENGTH, HEADS, SIZE, seed=0), select(1)
    check(v, [selection], selective_scan(v, (selection, walk)), recurrence(v, selection))


def test_strict_scans_read_at_the_neighbour_and_add_up():
    v, before, after = draw(2, LENGTH, HEADS, SIZE, seed=0), select(1), select(10)
    found = selective_scan(
        v, (before, Walk(8, strict=True)), (after, Walk(8, backwards=True, strict=True))
    )
    nothing = torch.zeros(2, 1, HEADS, SIZE, dtype=v.dtype)
    expected = torch.cat([nothing, step_by_step(v, before)[:, :-1]], dim=1)
    expected = expected + torch.cat([from_the_end(v, after)[:, 1:], nothing], dim=1)
    check(v, [before, after], found, expected)


@pytest.mark.parametrize("places", [[LENGTH], list(range(1, LENGTH + 1)), [1, 8, LENGTH], [13, 21]])
@torch.no_grad()
def test_a_scan_in_parts_is_the_scan_of_the_whole(places):
    v, selection = draw(2, LENGTH, HEADS, SIZE, seed=0), select(1)
    state, answers = torch.zeros(2, STATE, HEADS, SIZE, dtype=v.dtype), []
    for first, last in zip([0, *places], places, strict=False):
        chosen = (selection.q, selection.k, selection.dt, selection.logs)
        some = Selection(*(t[:, first:last] for t in chosen))
        y, state = continue_selective_scan(v[:, first:last], some, FORWARDS, state)
        answers.append(y)
    torch.testing.assert_close(torch.cat(answers, dim=1), step_by_step(v, selection))
