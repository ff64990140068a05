import math

import pytest
import torch
from attention.cases import MAX_LENGTH, WIDTH, make, tokens
from torch.utils._python_dispatch import TorchDispatchMode

from longarena.attention import build
from longarena.attention.mega import Laplace, Softmax
from longarena.attention.ops import distance_bias
from longarena.attention.ops.moving_average import MovingAverage
from longarena.errors import UserError
from longarena.measure.memory import allocations

BOTH = pytest.mark.parametrize("attention", ["softmax", "laplace"])


class LargestMade(TorchDispatchMode):
    """Watches what is computed: its largest number of elements."""

    largest = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor):
            self.largest = max(self.largest, result.numel())
        return result


def results(mixer, x, mask):
    """The output and all gradients."""
    x = x.clone().requires_grad_()
    mixer.zero_grad()
    y = mixer(x, mask)
    y[mask].square().sum().backward()
    return [y[mask], x.grad, *(parameter.grad.clone() for parameter in mixer.parameters())]


@BOTH
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("chunk", [61, 100, MAX_LENGTH, 1000])
def test_a_chunk_that_holds_the_sequence_is_no_chunk(attention, causal, chunk):
    whole = make("mega", {"attention": attention}, causal=causal)
    chunked = make("mega", {"attention": attention, "chunk": chunk}, causal=causal)
    reach = min(chunk, MAX_LENGTH)
    state = whole.state_dict()
    state["bias"] = state["bias"][MAX_LENGTH - reach : MAX_LENGTH + reach - 1]
    chunked.load_state_dict(state)
    x, mask = tokens(61, 40)
    torch.testing.assert_close(chunked(x, mask)[mask], whole(x, mask)[mask])


@pytest.mark.parametrize(("chunk", "size"), [(0, 2 * MAX_LENGTH - 1), (16, 31), (1, 1)])
def test_every_distance_inside_of_a_chunk_has_a_bias(chunk, size):
    assert make("mega", {"chunk": chunk}).bias.shape == (size,)


@BOTH
def test_without_the_average_nothing_leaves_its_chunk(attention):
    mixer = make("mega", {"chunk": 8, "attention": attention})
    torch.nn.init.zeros_(mixer.ema.gamma)
    x, mask = tokens(61)
    changed = x.clone()
    changed[:, 19] += 1.0
    differs = (mixer(x, mask) != mixer(changed, mask)).any(dim=-1)[0]
    assert torch.equal(differs.nonzero()[:, 0], torch.arange(16, 24))


def test_with_the_average_a_token_reaches_every_chunk():
    mixer = make("mega", {"chunk": 8})
    x, mask = tokens(61)
    changed = x.clone()
    changed[:, 19] += 1.0
    assert (mixer(x, mask) != mixer(changed, mask)).any(dim=-1).all()


@BOTH
@pytest.mark.parametrize("options", [{}, {"chunk": 16}])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("logits", [1, 300])
def test_the_size_of_a_block_changes_nothing(monkeypatch, attention, options, causal, logits):
    mixer = make("mega", {"attention": attention, **options}, causal=causal)
    x, mask = tokens(61, 40, 9)
    expected = results(mixer, x, mask)
    monkeypatch.setattr(distance_bias, "LOGITS", logits)
    torch.testing.assert_close(results(mixer, x, mask), expected)


@BOTH
@pytest.mark.parametrize("chunk", [0, 512])
def test_the_whole_matrix_is_neither_made_nor_kept(monkeypatch, attention, chunk):
    monkeypatch.setattr(distance_bias, "LOGITS", 1 << 15)
    length = 1024
    options = {"ema": 1, "z": 4, "attention": attention, "chunk": chunk}
    mixer = build("mega", width=4, num_heads=1, max_length=length, options=options)
    x, mask = torch.randn(1, length, 4), torch.ones(1, length, dtype=torch.bool)
    kept = allocations(lambda: mixer(x, mask)).kept_bytes // x.element_size()
    with LargestMade() as made:
        mixer(x, mask).sum().backward()
    assert made.largest < length**2 // 8
    assert kept < length**2 // 4


def test_what_passes_the_reset_gate_is_not_kept():
    mixer = build("mega", width=64, num_heads=1, max_length=256, options={"ema": 1, "z": 2})
    x, mask = torch.randn(1, 256, 64), torch.ones(1, 256, dtype=torch.bool)
    # the gate and what passes it are twice as large as the tokens, each; all else is 20.6 times
    assert allocations(lambda: mixer(x, mask)).kept_bytes / x.nbytes < 22


@pytest.mark.parametrize("weighing", [Softmax(), Laplace()])
def test_a_gradient_by_hand_is_that_of_autograd(weighing):
    logits = torch.randn(2, 3, 5, dtype=torch.float64).requires_grad_()
    slopes = torch.randn_like(logits)
    weights = weighing.weights(logits.clone())
    expected = torch.autograd.grad(weights, logits, slopes)[0]
    torch.testing.assert_close(weighing.slopes(logits, weights, slopes.clone()), expected)


@pytest.mark.parametrize("weighing", [Softmax(), Laplace()])
def test_a_hidden_key_has_neither_weight_nor_gradient(weighing):
    logits = torch.tensor([[[0.3, -math.inf, -0.2]]])
    weights = weighing.weights(logits)
    assert weights[0, 0, 1] == 0
    assert weighing.slopes(logits, weights, torch.ones_like(logits))[0, 0, 1] == 0


def test_the_laplace_function_touches_the_parabola():
    # f(x) = x^2 and f'(x) = 2 x at x = sqrt(1/2) are how the authors chose its constants
    where = torch.full((1, 1, 1), math.sqrt(0.5), dtype=torch.float64)
    weights = Laplace().weights(where)
    assert weights.item() == pytest.approx(0.5, abs=1e-6)
    slope = Laplace().slopes(where, weights, torch.ones_like(where))
    assert slope.item() == pytest.approx(math.sqrt(2), abs=1e-5)


def test_the_kernels_are_what_the_recurrence_answers_to_one_token():
    average = MovingAverage(3, 4, causal=False).double()
    p = average.delta.sigmoid()
    q = 1 - p * average.alpha.sigmoid()
    state, answers = p * average.beta, []
    for _ in range(61):
        answers.append((average.gamma[..., None] * state).sum(dim=(1, 2)) / 2)
        state = q * state
    expected = torch.stack(answers, dim=1).chunk(2)
    kernels = average.kernels(61)
    # both directions contain the token itself
    torch.testing.assert_close(kernels[0, :, 0], expected[0][:, 0] + expected[1][:, 0])
    torch.testing.assert_close(kernels[0, :, 1:], expected[0][:, 1:])
    torch.testing.assert_close(kernels[1, :, :-1], expected[1][:, 1:])


@pytest.mark.parametrize(("delta", "alpha"), [(40.0, 40.0), (0.0, -14.0), (-14.0, 0.0), (-40, -40)])
def test_averages_that_forget_at_once_or_never_keep_their_digits(delta, alpha):
    average = MovingAverage(2, 3, causal=True)
    torch.nn.init.constant_(average.delta, delta)
    torch.nn.init.constant_(average.alpha, alpha)
    ours = average.responses(16384)
    ours.sum().backward()
    assert all(p.grad.isfinite().all() for key, p in average.named_parameters() if key != "omega")
    expected = average.double().responses(16384)
    largest = expected.abs().max().item()
    torch.testing.assert_close(ours.double(), expected, rtol=0, atol=2e-6 * largest)


@BOTH
def test_single_precision_is_enough_for_long_sequences(attention):
    options = {"chunk": 128, "z": 8, "attention": attention}
    mixer = build("mega", width=8, num_heads=1, max_length=16384, options=options)
    x, mask = torch.randn(1, 16384, 8), torch.ones(1, 16384, dtype=torch.bool)
    mask[:, 16000:] = False
    ours = results(mixer, x, mask)
    expected = results(mixer.double(), x.double(), mask)
    for one, other in zip(ours, expected, strict=True):
        largest = other.abs().max().item()
        torch.testing.assert_close(one.double(), other, rtol=0, atol=1e-4 * largest)


@pytest.mark.parametrize(
    "options", [{"chunk": -1}, {"ema": 0}, {"z": 0}, {"hidden": -8}, {"attention": "relu"}]
)
def test_sizes_that_make_no_sense_are_refused(options):
    with pytest.raises(UserError, match=f"mega: {next(iter(options))} = "):
        build("mega", width=WIDTH, num_heads=2, max_length=64, options=options)
