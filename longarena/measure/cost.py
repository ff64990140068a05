"""What a model costs without a clock: Mult-Adds, counted operation by operation.

torch's FlopCounterMode watches matrix products and convolutions; this file adds what it counts as
nothing: attention kernels of the CPU and Fourier transforms. One Mult-Add is two operations.

The growth of a cost with the length N is the exponent p of the best fit cost = c N^p, a straight
line through the logarithms. A mechanism whose growth exceeds what its card claims is flagged.

Choice: only products count. Additions, exponentials, sorting and gathering move memory rather
than multiply, and no published count has them.
"""

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from longarena.attention import Mixer
from longarena.measure.memory import allocations
from longarena.measure.work import Step, Work
from longarena.model.build import num_parameters
from longarena.model.encoder import FeedForward
from longarena.store.record import Cost

Sizes = Sequence[int]
aten = torch.ops.aten


def attention_flops(query: Sizes, key: Sizes, value: Sizes, *_: object, **__: object) -> int:
    """Count scores and weighted sum: two products."""
    *rows, length, size = query
    return 2 * math.prod(rows) * length * key[-2] * (size + value[-1])


def attention_backward_flops(
    gradient: Sizes, query: Sizes, key: Sizes, value: Sizes, *_: object, **__: object
) -> int:
    """Count five products: the scores again, and the gradients of weights, q, k and v."""
    *rows, length, size = query
    return 2 * math.prod(rows) * length * key[-2] * (3 * size + 2 * value[-1])


def fourier_flops(x: Sizes, dim: Sizes, *_: object, **__: object) -> int:
    """Count 5 n log2 n operations for every transform of n numbers."""
    points = math.prod(x[i] for i in dim)
    return round(5 * math.prod(x) * math.log2(points)) if points > 1 else 0


def real_fourier_flops(x: Sizes, dim: Sizes, *_: object, **__: object) -> int:
    """Count half of it where one side is real."""
    return fourier_flops(x, dim) // 2


def to_real_fourier_flops(x: Sizes, dim: Sizes, *_: object, out_shape: Sizes, **__: object) -> int:
    """Count by the size of the real side."""
    return real_fourier_flops(out_shape, dim)


FORMULAS = {
    aten._scaled_dot_product_flash_attention_for_cpu: attention_flops,
    aten._scaled_dot_product_flash_attention_for_cpu_backward: attention_backward_flops,
    aten._fft_c2c: fourier_flops,
    aten._fft_r2c: real_fourier_flops,
    aten._fft_c2r: to_real_fourier_flops,
}


def mult_adds(step: Step) -> int:
    """Count the Mult-Adds of a step."""
    return _count(step).get_total_flops() // 2


def _count(step: Step) -> FlopCounterMode:
    counter = FlopCounterMode(display=False, custom_mapping=FORMULAS)
    with counter:
        step()
    return counter


def count_cost(work: Work) -> Cost:
    """Count what a model costs per token of its batch, by kind of layer."""
    tokens = work.ids.numel()
    # with gradients on: torch's counter trips over views of parameters that are to have none
    forward = _count(lambda: work.model(work.ids))
    by_module = {
        name: sum(flops.values()) / 2 / tokens for name, flops in forward.get_flop_counts().items()
    }
    mixer = _total(by_module, work.model, Mixer)
    feed_forward = _total(by_module, work.model, FeedForward)
    return Cost(
        parameters=num_parameters(work.model),
        mixer=mixer,
        feed_forward=feed_forward,
        head_and_embedding=forward.get_total_flops() / 2 / tokens - mixer - feed_forward,
        training_step=mult_adds(work.train) / tokens,
        activation_bytes=allocations(work.loss).kept_bytes,
    )


def _total(by_module: Mapping[str, float], model: nn.Module, kind: type[nn.Module]) -> float:
    root = type(model).__name__
    return sum(by_module.get(f"{root}.{name}", 0.0) for name in _outermost(model, kind))


def _outermost(module: nn.Module, kind: type[nn.Module], name: str = "") -> Iterator[str]:
    """Name the modules of a kind; what is inside a mixer belongs to the mixer."""
    if isinstance(module, Mixer | FeedForward):
        if isinstance(module, kind):
            yield name
        return
    for child_name, child in module.named_children():
        yield from _outermost(child, kind, f"{name}.{child_name}".lstrip("."))


def growth(lengths: Sequence[int], costs: Sequence[float]) -> float:
    """Fit the exponent of a cost's growth with the length.

    >>> round(growth([1024, 2048, 4096], [1.0, 4.0, 16.0]), 6)
    2.0
    """
    slope, _ = np.polyfit(np.log(lengths), np.log(costs), deg=1)
    return float(slope)
