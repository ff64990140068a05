"""What a mixer costs as the length grows: counted, not timed.

    ratio = Mult-Adds at 2 N / Mult-Adds at N, forward and backward, with N = 2,048

The ratio may not exceed 2^e, where e is the exponent that the card claims, by more than the parts
that do not grow; with a logarithm a little more. A mixer that claims less than N^2 may not hold a
tensor of half the matrix either.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.autograd import backward
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from longarena.attention import MixerCard, build
from longarena.contract.promises import Broken
from longarena.model.mult_adds import mult_adds

WIDTH, LENGTH = 16, 2048
RATIO_LIMITS = {1.0: 2.1, 1.5: 2.9, 2.0: 4.1}
# log N grows from 11 to 12 as well
LOGARITHMIC_LIMIT = 2.2
MARGIN = 1.05

Step = Callable[[], None]


def step(name: str, length: int, options: Mapping[str, object] | None = None) -> Step:
    """Make a forward and backward pass of a mixer that was built for this length."""
    mixer = build(name, width=WIDTH, num_heads=1, max_length=length, options=options)
    x = torch.randn(1, length, WIDTH, requires_grad=True)
    mask = torch.ones(1, length, dtype=torch.bool)
    return lambda: backward(mixer(x, mask).sum())


def limit(card: MixerCard) -> float:
    """Return how many times as much twice the length may cost by a card."""
    if card.time == "N log N":
        return LOGARITHMIC_LIMIT
    return RATIO_LIMITS.get(card.exponent, MARGIN * 2**card.exponent)


def check_growth(name: str, card: MixerCard, options: Mapping[str, object] | None = None) -> str:
    """Refuse operations that grow faster than claimed; say how they grow."""
    ratio = mult_adds(step(name, 2 * LENGTH, options)) / max(
        1, mult_adds(step(name, LENGTH, options))
    )
    grown = f"Mult-Adds grow as N^{math.log2(max(ratio, 1e-9)):.2f}"
    if ratio > limit(card):
        raise Broken(
            f"{grown} from {LENGTH:,} to {2 * LENGTH:,} tokens, the card says {claim(card)}"
        )
    return grown


def claim(card: MixerCard) -> str:
    """Write what a card claims."""
    return card.time if card.time != "not stated" else f"at most N^{card.exponent:g}"


def check_largest(name: str, options: Mapping[str, object] | None = None) -> None:
    """Refuse a tensor of half the matrix of all pairs."""
    held = largest_tensor(step(name, LENGTH, options))
    if held >= LENGTH**2 / 2:
        raise Broken(f"it holds a tensor of {held:,} numbers at {LENGTH:,} tokens: all pairs")


class LargestTensor(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Remembers the largest tensor that any operation returned."""

    num_elements = 0

    def __torch_dispatch__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        result = func(*args, **kwargs or {})
        for leaf in tree_leaves(result):
            if isinstance(leaf, torch.Tensor):
                # a view of a small tensor may look large and hold nothing
                held = leaf.untyped_storage().nbytes() // leaf.element_size()
                self.num_elements = max(self.num_elements, min(leaf.numel(), held))
        return result


def largest_tensor(run: Callable[[], object]) -> int:
    """Run something and return the number of elements of its largest tensor."""
    watch = LargestTensor()  # type: ignore[no-untyped-call]
    with watch:
        run()
    return int(watch.num_elements)
