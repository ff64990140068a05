"""What the machine itself can do: the rate of a large matrix product and of a large copy.

Both are measured in the same run as the mechanisms, in turns with them; the best turn counts, for
a limit is what cannot be exceeded. A step's share of the product's rate says how near it comes
to it; what is missing goes into memory traffic, small operations and other people's processes.

The median turn says how fast the machine was on the whole at that time, with all that it had to do
besides. Lengths are measured one after the other, so their times are compared in this unit.
"""

from collections.abc import Sequence
from statistics import median

import torch

from longarena.measure.work import Step
from longarena.store.record import Limits

SIDE = 1024
COPIED_BYTES = 64 << 20
PRODUCT_FLOPS = 2 * SIDE**3


def machine_steps() -> dict[str, Step]:
    """Make the two steps that a machine is judged by."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    a, b, product = (torch.rand(SIDE, SIDE, device=device) for _ in range(3))
    source = torch.zeros(COPIED_BYTES, dtype=torch.uint8, device=device)
    target = torch.ones_like(source)
    return {"product": lambda: torch.mm(a, b, out=product), "copy": lambda: target.copy_(source)}


def rates(product_seconds: Sequence[float], copy_seconds: Sequence[float]) -> Limits | None:
    """Turn the times of the two steps into rates; a copy reads and writes every byte."""
    if not (product_seconds and copy_seconds):
        return None
    return Limits(
        flops_per_second=PRODUCT_FLOPS / min(product_seconds),
        copy_bytes_per_second=2 * COPIED_BYTES / min(copy_seconds),
        typical_flops_per_second=PRODUCT_FLOPS / median(product_seconds),
    )
