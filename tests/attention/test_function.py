"""A mechanism as a function: given heads, it does what the layer does with its own projections."""

import pytest
import torch

from longarena.attention import CARDS, MIXERS, as_function, build
from longarena.errors import UserError

FUNCTIONS = [name for name in CARDS if getattr(MIXERS[name], "is_function", False)]
OPTIONS = {"nystrom": {"conv": 0}}


def heads(mixer, x):
    return [mixer.split(project(x)) for project in (mixer.query, mixer.key, mixer.value)]


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_function_of_the_projected_heads_is_the_layer(name, causal):
    if causal and not CARDS[name].causal:
        pytest.skip(f"{name} cannot be causal")
    same = {"max_length": 80, "causal": causal, "seed": 3, "options": OPTIONS.get(name)}
    mixer = build(name, width=8, num_heads=2, **same).eval()
    attend = as_function(name, num_heads=2, head_size=4, **same)
    x, mask = torch.randn(2, 70, 8), torch.ones(2, 70, dtype=torch.bool)
    mask[1, 30:] = False
    with torch.no_grad():
        found = mixer.merged(attend(*heads(mixer, x), mask))
        torch.testing.assert_close(found[mask], mixer(x, mask)[mask])
        whole = mixer.merged(attend(*heads(mixer, x)))
        torch.testing.assert_close(whole, mixer(x, torch.ones_like(mask)))


def test_a_function_learns_nothing_and_passes_gradients_on():
    attend = as_function("local", num_heads=2, head_size=4, max_length=80)
    assert not list(attend.mixer.parameters())
    q, k, v = (torch.randn(2, 2, 70, 4, requires_grad=True) for _ in range(3))
    attend(q, k, v).sum().backward()
    assert all(t.grad.abs().sum() > 0 for t in (q, k, v))


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("s4d", None, "s4d is not a function of queries, keys and values"),
        ("linformer", None, "choose one of transformer, local"),
        ("bigbird", {"etc": 2}, "under these options"),
        ("nystrom", None, "nystrom learns more than its projections"),
    ],
)
def test_what_is_no_function_is_refused(name, options, said):
    with pytest.raises(UserError, match=said):
        as_function(name, num_heads=2, head_size=4, max_length=80, options=options)


@pytest.mark.parametrize(("num_heads", "length"), [(3, 20), (2, 90)])
def test_other_heads_and_longer_rows_are_refused(num_heads, length):
    attend = as_function("linear", num_heads=2, head_size=4, max_length=80)
    t = torch.randn(1, num_heads, length, 4)
    with pytest.raises(UserError, match=r"not 2 heads of size 4|more than the 80"):
        attend(t, t, t)
