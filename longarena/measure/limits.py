"""What the machine itself can do: the rate of a large matrix product and of a large copy.

Both are measured in the same run as the mechanisms: the product right before and after each
timing, the copy in turns with them. The best rate counts, because a limit is what cannot be
exceeded. A step's share of the product's rate says how close it comes to the limit; the rest goes
into memory traffic, small operations and other processes.

The median product says how fast the machine was at that time, with everything else that it had to
do. Lengths are measured one after the other, so their times are compared in this unit.
"""

import time
from collections.abc import Callable, Sequence
from statistics import median

import torch

from longarena.measure.speed import Timing
from longarena.measure.work import Step
from longarena.records.record import Limits

SIDE = 1024
COPIED_BYTES = 64 << 20
PRODUCT_FLOPS = 2 * SIDE**3
PRODUCTS_SECONDS = 0.1


def product_timer() -> Callable[[], float]:
    """Make a function that multiplies for a while and returns the seconds per product."""
    a, b, product = (torch.rand(SIDE, SIDE, device=_device()) for _ in range(3))

    def seconds() -> float:
        finish()
        start, products, taken = time.perf_counter(), 0, 0.0
        while taken < PRODUCTS_SECONDS:
            torch.mm(a, b, out=product)
            finish()
            products, taken = products + 1, time.perf_counter() - start
        return taken / products

    return seconds


def copy_step() -> Step:
    """Make a step that copies memory."""
    source = torch.zeros(COPIED_BYTES, dtype=torch.uint8, device=_device())
    target = torch.ones_like(source)
    return lambda: target.copy_(source)


def _device() -> str:
    return "cuda" if torch.cuda.is_available() else "cpu"


def finish() -> None:
    """Wait until a GPU has finished its work."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def rates(timings: Sequence[Timing], copies: Sequence[Timing]) -> Limits | None:
    """Turn the times of products and copies into rates; a copy reads and writes every byte."""
    if not (timings and copies):
        return None
    product_seconds = [timing.product_seconds for timing in timings]
    return Limits(
        flops_per_second=PRODUCT_FLOPS / min(product_seconds),
        copy_bytes_per_second=2 * COPIED_BYTES / min(copy.seconds for copy in copies),
        typical_flops_per_second=PRODUCT_FLOPS / median(product_seconds),
    )
