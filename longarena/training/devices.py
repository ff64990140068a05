"""One process or several: devices, precision and data-parallel training, all from Fabric.

Every process takes its part of each batch and computes the gradient of the whole, so that the
number of devices changes nothing but rounding. The first process alone writes files and speaks.
"""

from typing import TYPE_CHECKING

import torch.distributed as dist

from longarena.errors import UserError
from longarena.runtime import check_precision

if TYPE_CHECKING:
    from lightning_fabric import Fabric


def launch(devices: int, precision: str, batch_size: int) -> "Fabric":
    """Start the processes that share a run; each of them returns from here."""
    # it brings in torch's compiler, which would cost every other command seconds
    from lightning_fabric import Fabric  # noqa: PLC0415

    check_precision(precision)
    if devices > batch_size:
        raise UserError(f"{devices} devices cannot share a batch of {batch_size}; use fewer")
    strategy = "ddp" if devices > 1 else "auto"
    fabric = Fabric(devices=devices, precision=precision, strategy=strategy)  # type: ignore[arg-type]
    fabric.launch()
    return fabric


def is_first_process() -> bool:
    """Tell whether this process is the one that writes and speaks."""
    return not dist.is_initialized() or dist.get_rank() == 0
