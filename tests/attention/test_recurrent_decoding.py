"""Decoders that carry a state instead of all tokens: how large it is, how exact, how it is read.

That they give what the causal mixer gives is tested for all of them in `test_decoding.py`.
"""

import pytest
import torch
from attention.cases import make, tokens
from attention.test_decoding import whole
from torch.utils._python_dispatch import TorchDispatchMode

from longarena.attention import build
from longarena.attention.ops.decoder import Decoder
from longarena.errors import UserError

# numbers carried at width 64, in 2 heads of 32, and how many bytes each has
STATES = {
    "linear": (2 * 32 * 33, 4),
    "performer": (2 * (128 * 33 + 1), 4),
    "cosformer": (2 * 64 * 33, 4),
    "retention": (2 * 32 * 64, 4),
    "gla": (2 * 16 * 32, 4),
    "mamba2": (2 * 64 * 64 + 3 * (128 + 2 * 64), 4),
    "gated-deltanet": (2 * 24 * 48 + 3 * (48 + 48 + 96), 4),
    "s4d": (64 * 32, 8),
    "s5": (32, 8),
    "lru": (64, 8),
    "convolution": (64 * (31 - 1), 4),
}
KEPT = {"long-conv": 64, "mega": 64 + 128}


def start(name, **changes):
    sizes = {"width": 64, "num_heads": 2, "max_length": 16384, "causal": True}
    return build(name, **sizes | changes).eval()


@pytest.mark.parametrize("name", STATES)
def test_a_state_is_as_large_as_the_mechanism_needs_and_never_grows(name):
    count, size = STATES[name]
    mixer = start(name)
    assert mixer.state_bytes(1) == mixer.state_bytes(16384) == count * size


@pytest.mark.parametrize("name", KEPT)
def test_what_needs_all_tokens_says_so(name):
    mixer = start(name, max_length=256)
    rows = mixer.state_bytes(200) - mixer.state_bytes(100)
    assert rows == 100 * KEPT[name] * 4


def test_a_chunk_of_mega_is_all_it_keeps_beside_the_average():
    mixer = start("mega", options={"chunk": 16})
    average, row = 64 * 16 * 4, (64 + 128) * 4
    kept = [(mixer.state_bytes(length) - average) / row for length in (0, 1, 15, 16, 17, 160)]
    assert kept == [0, 1, 15, 16, 1, 16]


@pytest.mark.parametrize("length", [1, 16, 31, 32, 33])
@torch.no_grad()
def test_after_a_prompt_mega_keeps_what_it_says(length):
    mixer = start("mega", options={"chunk": 16}, max_length=64)
    decoder = mixer.start(1)
    decoder.read(torch.randn(1, length, 64))
    assert decoder.num_bytes == mixer.state_bytes(length)


class Counting(TorchDispatchMode):
    """Counts the operations inside the block."""

    count = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.count += 1
        return func(*args, **kwargs or {})


@pytest.mark.parametrize("name", [*STATES, *KEPT])
@torch.no_grad()
def test_a_prompt_is_read_at_once(name):
    decoder = start(name, max_length=1024).start(1)
    decoder.read(torch.randn(1, 3, 64))
    with Counting() as counting:
        decoder.read(torch.randn(1, 1000, 64))
    # token by token it would be dozens for each
    assert counting.count < 4 * 1000


def tensors(decoder):
    """The tensors that a decoder carries, and those of its parts."""
    for value in vars(decoder).values():
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, Decoder):
            yield from tensors(value)


@pytest.mark.parametrize("name", [*STATES, *KEPT])
@torch.no_grad()
def test_what_is_carried_keeps_no_more_alive_than_itself(name):
    decoder = start(name, max_length=1024).start(1)
    decoder.read(torch.randn(1, 700, 64))
    assert all(t.untyped_storage().nbytes() == t.nbytes for t in tensors(decoder))


@pytest.mark.parametrize("name", ["linear", "performer", "cosformer"])
@torch.no_grad()
def test_rotary_positions_go_on_where_they_were(name):
    mixer = make(name, {}, causal=True, rotary=True)
    x, _ = tokens(61)
    decoder = mixer.start(1)
    parts = [decoder.read(x[:, :20]), *(decoder.step(token)[:, None] for token in x[0, 20:, None])]
    torch.testing.assert_close(torch.cat(parts, dim=1), whole(mixer, x))


@torch.no_grad()
def test_performer_decodes_with_the_features_of_the_moment():
    mixer = make("performer", {"redraw_every": 10}, causal=True)
    x, _ = tokens(20)
    before = mixer.start(1).read(x)
    mixer.begin_step(10)
    after = mixer.start(1).read(x)
    torch.testing.assert_close(after, whole(mixer, x))
    assert not torch.allclose(after, before)


@pytest.mark.parametrize("scale", [0.01, 10.0, 100.0])
@torch.no_grad()
def test_performer_decodes_at_any_scale(scale):
    mixer = make("performer", {}, causal=True)
    x, _ = tokens(61)
    decoder = mixer.start(1)
    stepped = torch.stack([decoder.step(scale * token) for token in x.unbind(1)], dim=1)
    torch.testing.assert_close(stepped, whole(mixer, scale * x))


@pytest.mark.parametrize(
    "name",
    ["s4d", *(pytest.param(name, marks=pytest.mark.everywhere) for name in ("linear", "lru"))],
)
@torch.no_grad()
def test_thousands_of_steps_in_single_precision_stay_close(name):
    sizes = {"width": 8, "num_heads": 1, "max_length": 4096, "causal": True}
    single, double = build(name, **sizes), build(name, **sizes).double()
    x = torch.randn(1, 4096, 8, generator=torch.Generator().manual_seed(0))
    exact, decoder = whole(double, x.double()), single.start(1)
    stepped = torch.stack([decoder.step(token) for token in x.unbind(1)], dim=1)
    assert (stepped - exact)[:, -100:].norm() < 1e-5 * exact[:, -100:].norm()


@torch.no_grad()
def test_beyond_its_kernel_a_long_convolution_forgets_the_oldest_tokens():
    mixer = make("long-conv", {}, causal=True, max_length=16)
    x, _ = tokens(40)
    stepping, reading = mixer.start(1), mixer.start(1)
    stepped = torch.stack([stepping.step(token) for token in x.unbind(1)], dim=1)
    read = torch.cat([reading.read(x[:, :10]), reading.read(x[:, 10:])], dim=1)
    torch.testing.assert_close(read, stepped)
    torch.testing.assert_close(stepped[:, -1], whole(mixer, x[:, -16:])[:, -1])


def test_beyond_its_cosine_cosformer_refuses_to_go_on():
    mixer = make("cosformer", {}, causal=True, max_length=16)
    decoder = mixer.start(1)
    decoder.read(torch.randn(1, 16, 16, dtype=torch.float64))
    with pytest.raises(UserError, match="the cosine of cosformer reaches 16 tokens"):
        decoder.step(torch.randn(1, 16, dtype=torch.float64))
