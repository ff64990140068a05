import pytest
import torch
from attention.cases import make, tokens
from torch.autograd.graph import saved_tensors_hooks
from torch.utils._python_dispatch import TorchDispatchMode

from longarena.attention import build, matrix
from longarena.attention.ops import scores
from longarena.attention.ops.shared_logits import attend_by_shared as shared
from longarena.attention.transformer import softmax_attention
from longarena.errors import UserError

EVERY_VARIANT = ["random", "factorized-random", "dense", "factorized-dense"]


class LargestMade(TorchDispatchMode):
    """Watches what is computed: its largest number of elements."""

    largest = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor):
            self.largest = max(self.largest, result.numel())
        return result


@pytest.mark.parametrize("variant", EVERY_VARIANT)
def test_with_all_weight_on_the_dot_product_it_is_softmax(variant):
    mixer = make("synthesizer", {"variant": variant, "dot_product": True})
    mixer.scores.balance.data = torch.tensor([-1e3, 1e3], dtype=torch.float64)
    x, mask = tokens(61, 40)
    dot = mixer.scores.dot_product
    q, k, v = (mixer.split(project(x)) for project in (dot.query, dot.key, mixer.value))
    expected = softmax_attention(q, k, v, mask).transpose(1, 2)[mask]
    y = mixer.apply(mixer.plan(x, mask), v).transpose(1, 2)[mask]
    torch.testing.assert_close(y, expected)


@pytest.mark.parametrize("variant", ["random", "factorized-random"])
def test_a_fixed_table_is_saved_but_not_trained(variant):
    learned, fixed = (
        make("synthesizer", {"variant": variant, "trainable": trainable})
        for trainable in (True, False)
    )
    assert set(fixed.state_dict()) == set(learned.state_dict())
    assert {key for key, _ in fixed.named_parameters()} == {"value.weight", "output.weight"}


@pytest.mark.parametrize("variant", ["factorized-random", "dense", "factorized-dense"])
@pytest.mark.parametrize("dot_product", [False, True])
@pytest.mark.parametrize("causal", [False, True])
def test_the_whole_matrix_is_neither_made_nor_kept(variant, dot_product, causal):
    length = 2048
    options = {"variant": variant, "dot_product": dot_product}
    sizes = {"width": 16, "num_heads": 1, "max_length": length}
    mixer = build("synthesizer", options=options, causal=causal, **sizes)
    x, mask = torch.randn(1, length, 16), torch.ones(1, length, dtype=torch.bool)
    kept = []
    with LargestMade() as made:
        with saved_tensors_hooks(lambda t: kept.append(t.numel()) or t, lambda t: t):
            y = mixer(x, mask)
        y.sum().backward()
    assert made.largest < length**2 // 2
    assert sum(kept) < length**2 // 2


@pytest.mark.parametrize("variant", EVERY_VARIANT)
@pytest.mark.parametrize("length", [1, 63, 64, 65, 200])
def test_it_starts_with_logits_of_unit_variance(variant, length):
    mixer = build(
        "synthesizer", width=64, num_heads=4, max_length=200, options={"variant": variant}
    )
    rng = torch.Generator().manual_seed(0)
    scores = mixer.scores(torch.randn(1, length, 64, generator=rng))
    logits = scores.q @ scores.k.mT if hasattr(scores, "q") else scores.logits(*scores.rows)
    assert logits.shape == (1, 4, length, length)
    if length == 200:
        assert logits.std().item() == pytest.approx(1, abs=0.25)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"variant": "dense", "trainable": False}, "dense cannot be fixed"),
        ({"variant": "random", "rank": 4}, "random has no rank"),
    ],
)
def test_what_a_variant_does_not_have_is_refused(options, words):
    with pytest.raises(UserError, match=words):
        build("synthesizer", width=16, num_heads=2, max_length=64, options=options)


@pytest.mark.parametrize("variant", EVERY_VARIANT)
def test_when_causal_the_weights_are_a_lower_triangle(variant):
    mixer = make("synthesizer", {"variant": variant}, causal=True, max_length=300)
    weights = matrix(mixer, *tokens(300))
    assert torch.equal(weights > 0, torch.ones(300, 300).tril().bool().expand_as(weights))
    torch.testing.assert_close(weights.sum(-1), torch.ones_like(weights[..., 0]))


@pytest.mark.parametrize(("size", "is_shared"), [(1.0, True), (30.0, False)])
def test_weights_that_could_underflow_are_not_shared_by_the_batch(size, is_shared, monkeypatch):
    """The largest logit of every query is at the last key, where the second sequence has none."""
    mixer = make("synthesizer", {"rank": 2}).float()
    mixer.scores.left.data.fill_(size)
    mixer.scores.right.data = mixer.scores.right.data.clamp(-1, 1)
    mixer.scores.right.data[:, 40:] = size
    x, mask = tokens(41, 40)
    used = []
    monkeypatch.setattr(scores, "attend_by_shared", lambda *args: used.append(1) or shared(*args))
    plan, v = mixer.plan(x.float(), mask), mixer.split(mixer.value(x.float()))
    y = mixer.apply(plan, v)
    logits = (plan.scores.q @ plan.scores.k.mT).double().masked_fill(~mask[:, None, None], -1e30)
    expected = logits.softmax(-1) @ v.double()
    torch.testing.assert_close(y.double(), expected, atol=1e-5, rtol=1e-4)
    assert bool(used) == is_shared
