"""The promises of a mixer, each a function that raises `Broken` with the reason.

    padding_never_leaks(make)        make() builds the mixer; make(causal=True) a causal one

`make` takes what `attention.build` takes beside the sizes: `seed`, `causal`, `max_length`. The
mixer comes in float64, where rounding cannot hide a mistake, or in float32 if it cannot do that.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

import torch
from safetensors.torch import load, save
from torch import Tensor
from torch.autograd import backward

from longarena.attention import Mixer
from longarena.errors import UserError

WIDTH, HEADS, MAX_LENGTH = 16, 2, 128
ROWS = (61, 40, 9)
APPENDED = 64
# (relative, of the largest number), as far as rounding goes
NEAR = {torch.float64: (1e-7, 1e-7), torch.float32: (1e-3, 1e-4)}
# how much larger than usual the tokens are, and the maps to queries and keys
SCALES = {"usual": (1, 1), "small tokens": (0.1, 1), "large tokens": (10, 1), "large maps": (1, 4)}


class Broken(AssertionError):
    """A promise that a mixer does not keep; the message says how."""


class Make(Protocol):
    """Builds the mixer in question."""

    def __call__(self, *, causal: bool = ..., seed: int = ..., max_length: int = ...) -> Mixer: ...


Promise = Callable[[Make], None]


def tokens(
    *lengths: int, seed: int = 0, dtype: torch.dtype = torch.float64
) -> tuple[Tensor, Tensor]:
    """Draw tokens for rows of these lengths, and make their mask."""
    generator = torch.Generator().manual_seed(seed)
    longest = max(lengths)
    x = torch.randn(len(lengths), longest, WIDTH, generator=generator, dtype=torch.float64)
    mask = torch.arange(longest) < torch.tensor(lengths)[:, None]
    return x.to(dtype), mask


def same(found: Tensor, expected: Tensor, what: str) -> None:
    """Refuse numbers that differ by more than rounding explains."""
    if found.shape != expected.shape:
        raise Broken(f"{what}: the shape is {tuple(found.shape)}, not {tuple(expected.shape)}")
    relative, share = NEAR[expected.dtype]
    near = share * float(expected.detach().abs().max()) if expected.numel() else 0.0
    if not torch.allclose(found, expected, rtol=relative, atol=near):
        apart = (found - expected).detach().abs().max()
        raise Broken(
            f"{what}: numbers of up to {float(expected.detach().abs().max()):.3g} differ by up to "
            f"{float(apart):.3g}"
        )


def finite(found: Tensor, what: str) -> None:
    """Refuse numbers that are not finite."""
    count = int((~found.isfinite()).sum())
    if count:
        raise Broken(f"{what}: {count} of {found.numel()} numbers are not finite")


def type_of(mixer: Mixer) -> torch.dtype:
    """Return the type of the numbers that a mixer computes with."""
    kinds = [p.dtype for p in mixer.parameters() if p.is_floating_point()]
    return kinds[0] if kinds else torch.float64


def inputs(mixer: Mixer, *lengths: int) -> tuple[Tensor, Tensor]:
    """Draw rows of these lengths for a mixer."""
    return tokens(*lengths, dtype=type_of(mixer))


def gradient(mixer: Mixer, x: Tensor, mask: Tensor, direction: Tensor) -> Tensor:
    """Return the gradient at the real tokens of a weighted sum of the outputs at real tokens."""
    x = x.clone().requires_grad_()
    backward((mixer(x, mask) * direction)[mask].sum())
    if x.grad is None:
        return torch.zeros_like(x)[mask]
    return x.grad[mask]


def any_length_is_answered(make: Make, lengths: Sequence[int] = (1, 2, 7, 61, MAX_LENGTH)) -> None:
    """Answer any length with finite numbers, in the shape of the tokens."""
    mixer = make()
    for length in lengths:
        x, mask = inputs(mixer, length, max(1, length // 2))
        y = mixer(x, mask)
        if y.shape != x.shape:
            raise Broken(f"tokens of shape {tuple(x.shape)} became {tuple(y.shape)}")
        finite(y, f"at length {length}")


def padding_alone_is_finite(make: Make) -> None:
    """Give finite numbers and a finite gradient for a row that is all padding."""
    mixer = make()
    x, mask = inputs(mixer, 61, 40)
    mask[1] = False
    x.requires_grad_()
    y = mixer(x, mask)
    backward(y.sum())
    finite(y, "the answer to a row of padding")
    if x.grad is not None:
        finite(x.grad, "the gradient of a row of padding")


def padding_alone_changes_no_other_row(make: Make) -> None:
    """Answer the other rows as without a row that is all padding."""
    mixer = make()
    x, mask = inputs(mixer, 61, 40)
    alone = mixer(x[:1], mask[:1])
    mask[1] = False
    same(mixer(x, mask)[:1], alone, "beside a row of padding")


def padding_never_leaks(make: Make) -> None:
    """Keep answers and gradients at real tokens whatever the padding holds."""
    mixer = make()
    x, mask = inputs(mixer, *ROWS)
    noisy = torch.where(mask[..., None], x, 1e3 * torch.randn_like(x))
    same(mixer(noisy, mask)[mask], mixer(x, mask)[mask], "with noise in the padding")
    direction = torch.randn_like(x)
    same(
        gradient(mixer, noisy, mask, direction),
        gradient(mixer, x, mask, direction),
        "the gradient with noise in the padding",
    )


def appended_padding_changes_nothing(make: Make) -> None:
    """Keep answers and gradients at real tokens however much padding follows."""
    mixer = make()
    x, mask = inputs(mixer, *ROWS)
    rows = len(ROWS)
    longer = torch.cat([x, torch.full((rows, APPENDED, WIDTH), 7.0, dtype=x.dtype)], 1)
    longer_mask = torch.cat([mask, torch.zeros(rows, APPENDED, dtype=torch.bool)], 1)
    same(mixer(longer, longer_mask)[longer_mask], mixer(x, mask)[mask], "with more padding")
    direction = torch.randn_like(x)
    longer_direction = torch.cat([direction, torch.zeros_like(longer[:, :APPENDED])], 1)
    same(
        gradient(mixer, longer, longer_mask, longer_direction),
        gradient(mixer, x, mask, direction),
        "the gradient with more padding",
    )


def a_row_stands_alone(make: Make) -> None:
    """Answer a row alone as in a batch."""
    mixer = make()
    x, mask = inputs(mixer, *ROWS)
    n = ROWS[1]
    alone, beside = mixer(x[1:2, :n], mask[1:2, :n]), mixer(x, mask)[1:2, :n]
    same(alone, beside, "a row alone and in a batch")


def parameters_are_trained(make: Make) -> None:
    """Give every parameter a finite gradient that is not zero."""
    mixer = make().train()
    trained = {key: p for key, p in mixer.named_parameters() if p.requires_grad}
    if not trained:
        return
    x, mask = inputs(mixer, 61, 40)
    loss, extra = mixer(x, mask)[mask].square().sum(), mixer.extra_loss()
    backward(loss if extra is None else loss + extra)
    for key, parameter in trained.items():
        if parameter.grad is None or not bool(parameter.grad.abs().sum() != 0):
            raise Broken(f"no gradient reaches the parameter {key}")
        finite(parameter.grad, f"the gradient of {key}")


def saved_and_loaded_is_the_same(make: Make) -> None:
    """Give the same answer when the state is saved and loaded into another."""
    mixer, other = make(seed=0), make(seed=1)
    state = {key: value.contiguous() for key, value in mixer.state_dict().items()}
    other.load_state_dict(load(save(state)))
    x, mask = inputs(mixer, 61, 40)
    expected = mixer(x, mask)
    other.place = mixer.place  # draws that are no parameters follow the seed, not the file
    other.begin_step(0)
    mixer.begin_step(0)
    if not torch.equal(other(x, mask), expected):
        raise Broken("what was saved is not all that decides the answer; register a buffer")


def the_same_seed_gives_the_same(make: Make) -> None:
    """Give the same answer when built with the same seed."""
    first, second = make(seed=3), make(seed=3)
    x, mask = inputs(first, 61, 40)
    if not torch.equal(first(x, mask), second(x, mask)):
        raise Broken("two that were built with one seed differ; draw from place.seed")


def another_seed_gives_another(make: Make) -> None:
    """Give another answer when built with another seed, if there is anything to draw."""
    first, second = make(seed=3), make(seed=4)
    x, mask = inputs(first, 61, 40)
    if list(first.parameters()) and torch.equal(first(x, mask), second(x, mask)):
        raise Broken("two seeds give the same answer, although there are parameters to draw")


def evaluation_is_fixed(make: Make) -> None:
    """Answer the same tokens in the same way twice, in eval mode."""
    mixer = make()
    x, mask = inputs(mixer, 61, 40)
    if not torch.equal(mixer(x, mask), mixer(x, mask)):
        raise Broken("in eval mode two answers to the same tokens differ")


def too_long_is_refused(make: Make) -> None:
    """Refuse a longer sequence than it was built for."""
    mixer = make(max_length=16)
    x, mask = inputs(mixer, 17)
    mixer(x[:, :16], mask[:, :16])
    try:
        mixer(x, mask)
    except UserError as error:
        if "up to 16 tokens, and this one has 17; build it with" in str(error):
            return
    raise Broken("17 tokens were taken by a mixer that was built for 16; do not replace __call__")


def later_changes_nothing_earlier(make: Make, scale: str = "usual", length: int = 100) -> None:
    """Show not one bit of a later token in an earlier answer or gradient, when causal."""
    mixer = make(causal=True)
    of_tokens, of_maps = SCALES[scale]
    _enlarge(mixer, of_maps)
    places = [1, length // 2, length // 2 + 1, length - 1]
    x, mask = inputs(mixer, *[length] * (1 + len(places)))
    x = _parting(of_tokens * x, places).requires_grad_()
    y = mixer(x, mask)
    if torch.allclose(y[0], y[1]):
        raise Broken("other tokens give the same answer")
    earlier = torch.arange(length) < torch.tensor([length, *places])[:, None]
    (slope,) = torch.autograd.grad((y * torch.randn_like(y))[earlier].sum(), x)
    if not bool((slope[~earlier] == 0).all()):  # not nearly: not one bit
        raise Broken("an earlier answer depends on a later token: its gradient is not zero")
    for n, row in zip(places, y[1:], strict=True):
        _equal(row[:n], y[0, :n], y, f"the first {n} of {length} tokens, with others after them")
        cut = mixer(x[:1, :n], mask[:1, :n])[0]
        _equal(cut, y[0, :n], y, f"the first {n} of {length} tokens, alone")


def _equal(found: Tensor, expected: Tensor, y: Tensor, what: str) -> None:
    """Refuse what differs by more than the order of summing explains."""
    is_double = y.dtype == torch.float64
    relative, share = (1e-10, 1e-12) if is_double else (1e-4, 1e-5)
    near = share * float(y.detach().abs().max())
    if not torch.allclose(found, expected, rtol=relative, atol=near):
        apart = float((found - expected).detach().abs().max())
        raise Broken(f"{what}: the answers differ by up to {apart:.3g}")


def _enlarge(mixer: Mixer, factor: float) -> None:
    """Enlarge the maps to queries and keys, or all maps where these have other names."""
    maps = {key: p for key, p in mixer.named_parameters() if p.dim() > 1}
    compared = [p for key, p in maps.items() if "query" in key or "key" in key]
    with torch.no_grad():
        for p in compared or maps.values():
            p.mul_(factor)


def _parting(x: Tensor, places: Sequence[int]) -> Tensor:
    """Take the first row; the first up to each place and then another; the last token is huge."""
    parted = [x[0], *(torch.cat([x[0, :n], row[n:]]) for n, row in zip(places, x[1:], strict=True))]
    parted[-1][-1] *= 100
    return torch.stack(parted)


@torch.no_grad()
def stepping_gives_the_whole(make: Make) -> None:
    """Give token by token, and after a prompt, what it gives for the whole, when causal."""
    mixer = make(causal=True)
    x, mask = inputs(mixer, 61, 61)
    whole, decoder = mixer(x, mask), mixer.start(2)
    stepped = torch.stack([decoder.step(token) for token in x.unbind(1)], dim=1)
    same(stepped, whole, "token by token")
    decoder = mixer.start(2)
    parts = [decoder.read(x[:, :37]), *(decoder.step(t)[:, None] for t in x[:, 37:].unbind(1))]
    same(torch.cat(parts, dim=1), whole, "after a prompt of 37 tokens")


@torch.no_grad()
def carries_what_it_says(make: Make) -> None:
    """Carry as many bytes from token to token as `state_bytes` says, when causal."""
    mixer = make(causal=True)
    x, _ = inputs(mixer, 61)
    decoder = mixer.start(1)
    for length, token in enumerate(x.unbind(1), start=1):
        decoder.step(token)
        if decoder.num_bytes != mixer.state_bytes(length):
            raise Broken(
                f"after {length} tokens it carries {decoder.num_bytes} bytes, and state_bytes says "
                f"{mixer.state_bytes(length)}"
            )
