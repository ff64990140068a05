"""Reversible residual layers: activations are not kept but computed again from the outputs.

There are two streams. Each in turn adds to itself a function of the other, so every addition can be
undone:

    y1 = x1 + mix(x2)    y2 = x2 + feed(y1)
    x2 = y2 - feed(y1)   x1 = y1 - mix(x2)

The backward pass walks down the layers with the two streams: it computes half a layer again, takes
its gradient, and subtracts its output. Activations take the memory of one layer, at any depth; the
price is one more forward pass (measured with `linear`, 4 x 2,048 tokens: 213 instead of 567 MB at
4 layers, 226 MB at 8; 26 % more time). The second pass has the dropout and the precision of the
first, and its discrete choices, which rounding could change (`attention/ops/choices.py`).

Paper:  Gomez et al. (2017), https://arxiv.org/abs/1707.04585; in Reformer (Kitaev et al., 2020)
Choice: both streams start from the embedding and their mean is the output, so that a reversible
        encoder has the parameters of an ordinary one.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.utils.checkpoint import get_device_states, set_device_states

from longarena.attention import Mixer
from longarena.attention.ops.choices import Choices
from longarena.shapes import Mask, Tokens


@runtime_checkable
class Halves(Protocol):
    """A layer in two halves; neither adds its input to its output."""

    mixer: Mixer

    def mix(self, x: Tokens, mask: Mask) -> Tokens:
        """Let positions talk."""

    def feed(self, x: Tokens, mask: Mask) -> Tokens:
        """Change each position by itself."""


def run_reversible(
    layers: Sequence[Halves], x: Tokens, mask: Mask, parameters: Sequence[Tensor]
) -> Tokens:
    """Run all layers without keeping their activations; `parameters` are those of all layers."""
    first, second = _Run.apply(layers, mask, x, x, *parameters)  # type: ignore[no-untyped-call]
    mean: Tensor = (first + second) / 2
    return mean


class _Run(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, layers: Sequence[Halves], mask: Mask, x1: Tokens, x2: Tokens, *parameters: Tensor
    ) -> tuple[Tokens, Tokens]:
        ctx.moments = []
        for layer in layers:
            before_mix = Moment.now(x2)
            with _choices(layer.mixer, before_mix.choices):
                x1 = x1 + layer.mix(x2, mask)
            before_feed = Moment.now(x1)
            x2 = x2 + layer.feed(x1, mask)
            ctx.moments.append((before_mix, before_feed))
        ctx.layers = layers
        ctx.save_for_backward(mask, x1, x2, *parameters)
        return x1, x2

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d1: Tokens, d2: Tokens) -> tuple[Tensor | None, ...]:
        mask, x1, x2, *parameters = ctx.saved_tensors
        gradients = Gradients(parameters)
        for layer, (before_mix, before_feed) in zip(
            reversed(ctx.layers), reversed(ctx.moments), strict=True
        ):
            with before_feed.again():
                fed, change = gradients.through(partial(layer.feed, mask=mask), x1, d2)
            x2, d1 = x2 - fed, d1 + change
            with before_mix.again(), _choices(layer.mixer, before_mix.choices):
                mixed, change = gradients.through(partial(layer.mix, mask=mask), x2, d1)
            x1, d2 = x1 - mixed, d2 + change
        return None, None, d1, d2, *gradients.totals


@contextmanager
def _choices(mixer: Mixer, choices: Choices) -> Iterator[None]:
    """Have a mixer take its discrete choices from here, or leave them here."""
    mixer.choices = choices
    try:
        yield
    finally:
        mixer.choices = None


class Gradients:
    """The gradients of all parameters, summed up half a layer at a time."""

    def __init__(self, parameters: Sequence[Tensor]) -> None:
        self.parameters = parameters
        self.totals: list[Tensor | None] = [None] * len(parameters)

    def through(
        self, half: Callable[[Tokens], Tokens], x: Tokens, dy: Tokens
    ) -> tuple[Tokens, Tokens]:
        """Compute half a layer again; return its output and the gradient of its input."""
        x = x.detach().requires_grad_()
        with torch.enable_grad():
            y = half(x)
        # layers may share parameters, so each half may have a gradient for any of them
        found = torch.autograd.grad(y, (x, *self.parameters), dy, allow_unused=True)
        for index, gradient in enumerate(found[1:]):
            if gradient is not None:
                total = self.totals[index]
                self.totals[index] = gradient if total is None else total.add_(gradient)
        return y.detach(), found[0]


@dataclass(frozen=True)
class Moment:
    """What a second computation must find unchanged: random states, precision, choices."""

    state: Tensor
    devices: list[int]
    device_states: list[Tensor]
    autocast: torch.autocast
    choices: Choices

    @staticmethod
    def now(x: Tensor) -> "Moment":
        """Note the state before a computation on `x`."""
        kind = x.device.type
        autocast = torch.autocast(
            kind, torch.get_autocast_dtype(kind), torch.is_autocast_enabled(kind)
        )
        return Moment(torch.get_rng_state(), *get_device_states(x), autocast, Choices())

    @contextmanager
    def again(self) -> Iterator[None]:
        """Restore the state inside the block; the random states outside of it do not move."""
        with torch.random.fork_rng(self.devices), self.autocast, self.choices.replayed():
            torch.set_rng_state(self.state)
            set_device_states(self.devices, self.device_states)
            yield
