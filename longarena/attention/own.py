"""A mixer from outside may do anything; what is wrong with one is said in a line that names it.

    raises             in its constructor, in `forward` or in the backward pass, with the line of
                       the user's file
    another result     a tuple, another shape, numbers that are not finite, on sane tokens
    sees padding       noise in padded tokens changes the answer at real ones

A built-in mixer is tested instead (`tests/attention`), and its errors are bugs of this program. The
whole contract is tried by `longarena check`.

Choice: where a model is built around a mixer, that of the first layer is tried on a few small
        tokens before anything is trained or timed.
Choice: padding is only looked at where it must not be seen, at real tokens, with a wide margin.
"""

import sys
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path

import torch
from torch import Tensor, nn

from longarena.errors import MixerError, UserError
from longarena.seeding import torch_rng

BUILT_IN = "longarena."
ROWS, LENGTH = 2, 8
LOUD = 100.0
TOLERANCE = 1e-3
SIGNATURE = "it takes (place, options, previous=None) and passes them to super().__init__"


def is_own(kind: type) -> bool:
    """Tell whether a class is a user's own."""
    return not kind.__module__.startswith(BUILT_IN)


def own_kind(mixers: Iterable[nn.Module]) -> type:
    """Return the class of the first mixer that is a user's own, or else of the first."""
    kinds = [type(mixer) for mixer in mixers]
    return next(filter(is_own, kinds), kinds[0])


def title(kind: type) -> str:
    """Name a mixer and its class."""
    return f"the mixer {kind.__module__}:{kind.__qualname__}"


@contextmanager
def named(kind: type, what: str, hint: str = "") -> Iterator[None]:
    """Turn an error of a user's own mixer into one line that names it; memory may run out."""
    try:
        yield
    except (UserError, MemoryError, torch.OutOfMemoryError):
        raise
    except Exception as error:
        if not is_own(kind):
            raise
        said = f"{type(error).__name__}: {' '.join(str(error).split())}".rstrip(": ")
        where = _where(error, kind)
        remedy = f"; {hint}" if hint else ""
        raise MixerError(f"{title(kind)} raised in {what}{where}: {said}{remedy}") from error


def _where(error: BaseException, kind: type) -> str:
    """Name the last line of the user's own file that an error went through."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename == _file(kind)]
    return f" ({Path(own[-1].filename).name}, line {own[-1].lineno})" if own else ""


def _file(kind: type) -> str:
    return str(getattr(sys.modules.get(kind.__module__), "__file__", ""))


def check_result(kind: type, x: Tensor, y: object) -> None:
    """Refuse what is not a tensor of the shape of the tokens."""
    if isinstance(y, Tensor) and y.shape == x.shape:
        return
    shape = tuple(x.shape)
    if isinstance(y, Tensor):
        got = f"a tensor of shape {tuple(y.shape)}"
    else:
        got = f"{'nothing' if y is None else 'a ' + type(y).__name__}"
    raise MixerError(
        f"{title(kind)} returned {got} for tokens of shape {shape}; "
        "forward(x, mask) must return one tensor of the shape of x"
    )


@torch.no_grad()
def try_out(mixer: nn.Module, width: int, max_length: int) -> None:
    """Give a new mixer a few tokens, some of them padding, and look at what comes back."""
    kind, length = type(mixer), min(LENGTH, max_length)
    rng = torch_rng(0, "trial")
    x = torch.randn(ROWS, length, width, generator=rng)
    mask = torch.ones(ROWS, length, dtype=torch.bool)
    mask[1, (length + 1) // 2 :] = False
    # a copy: what it counts or keeps is not changed
    tried = deepcopy(mixer).eval()
    y, again = tried(x, mask), tried(x, mask)
    noise = LOUD * torch.randn(ROWS, length, width, generator=rng)
    noisy = tried(torch.where(mask[..., None], x, noise), mask)
    if not y[mask].isfinite().all():
        raise MixerError(
            f"{title(kind)} returned numbers that are not finite for {length} small random "
            "tokens, before any training; look for a division by zero or a softmax over nothing"
        )
    # if it differs from call to call, other numbers prove nothing
    if torch.equal(y, again) and sees_padding(y, noisy, mask):
        raise MixerError(
            f"{title(kind)} sees padding: other numbers in padded tokens change the answer at real "
            "ones; use the mask, which is True at real tokens"
        )


def sees_padding(y: Tensor, noisy: Tensor, mask: Tensor) -> bool:
    """Tell whether the answers at real tokens differ by more than rounding explains."""
    real, other = y[mask], noisy[mask]
    if not other.isfinite().all():
        return True
    return bool((real - other).abs().max() > TOLERANCE * real.abs().max().clamp_min(1e-6))
