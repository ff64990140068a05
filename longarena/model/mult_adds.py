"""Mult-Adds, counted operation by operation and sorted by kind of layer.

torch's FlopCounterMode counts matrix products and convolutions; this file adds what it misses: the
attention kernels of the CPU, Fourier transforms, triangular systems, and products that are added to
a tensor in place. One Mult-Add is two operations.

    attention        everything that a mixer computes, including projections, except convolutions
    convolution      modules that are marked as `Convolving`, with the linear maps inside them, and
                     every convolution operator of a mixer
    feed-forward     the MLP of every layer
    cross attention  what a decoder reads of the source, with its projections
    head, embedding  the rest: the head, including pooling (looking up a token is free)

Choice: only matrix products count. Additions, exponentials, sorting and gathering move memory
        rather than multiply, and published counts leave them out, like elementwise products: a
        scale, or the normaliser of linear attention.
Choice: everything that is computed counts, even if it is masked or zero afterwards: the corners of
        a block of queries and keys, the padding of the last block, the zeros of a band.
Choice: a branch counts as a whole. The convolution half of the Lite Transformer includes its GLU
        and its output map, as its attention half includes the projections; the feed-forward of the
        Set Transformer's points is part of its attention. A mixer that is nothing but a convolution
        with its gate, as S4D, has no attention at all.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from longarena.attention import Convolving, Mixer
from longarena.model.decoder import CrossAttention, SourceReader
from longarena.model.encoder import FeedForward

Sizes = Sequence[int]
Step = Callable[[], object]
aten = torch.ops.aten
CROSSING = (CrossAttention, SourceReader)


def added_flops(total: Sizes, first: Sizes, second: Sizes, *_: object, **__: object) -> int:
    """Count the products of matrices that are added to others."""
    return 2 * math.prod(first) * second[-1]


def attention_flops(query: Sizes, key: Sizes, value: Sizes, *_: object, **__: object) -> int:
    """Count scores and weighted sum: two products."""
    *rows, length, size = query
    return 2 * math.prod(rows) * length * key[-2] * (size + value[-1])


def attention_backward_flops(
    gradient: Sizes, query: Sizes, key: Sizes, value: Sizes, *_: object, **__: object
) -> int:
    """Count five products: the recomputed scores, and the gradients of weights, q, k and v."""
    *rows, length, size = query
    return 2 * math.prod(rows) * length * key[-2] * (3 * size + 2 * value[-1])


def fourier_flops(x: Sizes, dim: Sizes, *_: object, **__: object) -> int:
    """Count 5 n log2 n operations for every transform of n numbers."""
    points = math.prod(x[i] for i in dim)
    return round(5 * math.prod(x) * math.log2(points)) if points > 1 else 0


def real_fourier_flops(x: Sizes, dim: Sizes, *_: object, **__: object) -> int:
    """Count half as many where one side is real."""
    return fourier_flops(x, dim) // 2


def to_real_fourier_flops(x: Sizes, dim: Sizes, *_: object, out_shape: Sizes, **__: object) -> int:
    """Count by the size of the real side."""
    return real_fourier_flops(out_shape, dim)


def triangular_flops(matrix: Sizes, *_: object, out_shape: Sizes, **__: object) -> int:
    """Count a substitution: half as much as the product of the two."""
    return matrix[-1] * math.prod(out_shape)


FORMULAS = {
    aten.baddbmm_: added_flops,
    aten._scaled_dot_product_flash_attention_for_cpu: attention_flops,
    aten._scaled_dot_product_flash_attention_for_cpu_backward: attention_backward_flops,
    aten._fft_c2c: fourier_flops,
    aten._fft_r2c: real_fourier_flops,
    aten._fft_c2r: to_real_fourier_flops,
    aten.linalg_solve_triangular: triangular_flops,
    aten.addmm_: added_flops,
}


@dataclass(frozen=True)
class Kinds:
    """The Mult-Adds of one forward pass, by kind of layer."""

    attention: int
    convolution: int
    feed_forward: int
    head_and_embedding: int
    cross_attention: int = 0

    @property
    def layers(self) -> int:
        """The Mult-Adds of all layers, without head and embedding."""
        return self.attention + self.convolution + self.feed_forward + self.cross_attention

    def by_name(self) -> dict[str, int]:
        """List the kinds of layers and their sum, for a record."""
        return {
            "attention": self.attention,
            "convolution": self.convolution,
            "feed-forward": self.feed_forward,
            "cross attention": self.cross_attention,
            "total": self.layers,
        }

    @property
    def total(self) -> int:
        """The Mult-Adds of all kinds together."""
        return self.layers + self.head_and_embedding


def mult_adds(step: Step) -> int:
    """Count the Mult-Adds of a step."""
    return _count(step).get_total_flops() // 2


def _count(step: Step) -> FlopCounterMode:
    counter = FlopCounterMode(display=False, custom_mapping=FORMULAS)
    with counter:
        step()
    return counter


def count_kinds(model: nn.Module, step: Step) -> Kinds:
    """Count a step of a model in evaluation, by kind of layer."""
    was_training = model.training
    model.eval()
    # gradients stay on: torch's counter fails on views of parameters without them
    counter = _count(step)
    model.train(was_training)
    flops = _Flops(model, counter.get_flop_counts())
    layers = _outermost(model, (Mixer, FeedForward, *CROSSING))
    mixers, mlps, crossings = (
        [name for name, module in layers.items() if isinstance(module, kind)]
        for kind in (Mixer, FeedForward, CROSSING)
    )
    branches = list(_outermost(model, (Convolving,)))
    in_branches = flops.of(branches, aten.convolution)
    convolution = flops.of(branches) + flops.of(mixers, aten.convolution) - in_branches
    return Kinds(
        attention=(flops.of(mixers) - convolution) // 2,
        convolution=convolution // 2,
        feed_forward=flops.of(mlps) // 2,
        cross_attention=flops.of(crossings) // 2,
        head_and_embedding=(counter.get_total_flops() - flops.of(layers)) // 2,
    )


@dataclass(frozen=True)
class _Flops:
    """The counts of torch for every module of a model, by operator."""

    model: nn.Module
    by_module: Mapping[str, Mapping[object, int]]

    def of(self, names: Iterable[str], operator: object = None) -> int:
        """Add up the operations of some modules, of all operators or of one."""
        root = type(self.model).__name__
        found = [self.by_module.get(f"{root}.{name}", {}) for name in names]
        if operator is not None:
            return sum(counts.get(operator, 0) for counts in found)
        return sum(sum(counts.values()) for counts in found)


def _outermost(model: nn.Module, kinds: tuple[type[nn.Module], ...]) -> dict[str, nn.Module]:
    """Find the modules of some kinds that are not inside another such module."""
    found: dict[str, nn.Module] = {}
    for name, module in model.named_modules():  # the outer module comes first
        if isinstance(module, kinds) and not any(name.startswith(f"{outer}.") for outer in found):
            found[name] = module
    return found
