"""One process or several: devices, precision and data-parallel training, from Fabric.

One process on a CPU in single precision needs none of it, and starts two seconds sooner without.

Every process takes its part of each batch and computes the gradient of the whole, so that the
number of devices changes nothing but rounding. Only the first process writes files and messages.
"""

import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.optim import Optimizer

from longarena.errors import UserError
from longarena.recipes.recipe import Recipe
from longarena.runtime import check_compiler, check_precision

if TYPE_CHECKING:
    from lightning_fabric import Fabric
    from lightning_fabric.strategies.ddp import DDPStrategy

Result = TypeVar("Result")


class SingleDevice:
    """One process on one device in single precision: what Fabric does there, without its import."""

    global_rank, world_size, is_global_zero = 0, 1, True

    def __init__(self, device: torch.device) -> None:
        self.device = device

    def setup(self, model: nn.Module, optimiser: Optimizer) -> tuple[nn.Module, Optimizer]:
        """Move the model to the device."""
        return self.setup_module(model), optimiser

    def setup_module(self, model: nn.Module) -> nn.Module:
        """Move a model without an optimiser to the device."""
        return model.to(self.device)

    def backward(self, loss: Tensor) -> None:
        """Compute the gradients."""
        loss.backward()  # type: ignore[no-untyped-call]

    def clip_gradients(self, model: nn.Module, optimiser: Optimizer, max_norm: float) -> None:
        """Clip the gradients at a global norm."""
        nn.utils.clip_grad_norm_(model.parameters(), max_norm)

    def no_backward_sync(self, model: nn.Module, enabled: bool) -> AbstractContextManager[None]:
        """Do nothing: there is nobody to wait for."""
        return nullcontext()

    def rank_zero_first(self) -> AbstractContextManager[None]:
        """Do nothing: the first process is the only one."""
        return nullcontext()

    def barrier(self) -> None:
        """Do nothing: there is nobody to wait for."""

    def broadcast(self, value: Result) -> Result:
        """Return what the first process has said: this one."""
        return value

    def all_reduce(self, tensor: Tensor, reduce_op: str) -> Tensor:
        """Return the sum over one process."""
        return tensor


# what training needs of its devices
Devices: TypeAlias = "Fabric | SingleDevice"


def launch(recipe: Recipe, devices: int = 1) -> Devices:
    """Start the processes that share a run, or join those that torchrun started."""
    check_precision(recipe.precision)
    if recipe.compile:
        check_compiler()
    devices, num_nodes = started_by_torchrun(devices) or (devices, 1)
    num_processes = devices * num_nodes
    check_shares(recipe, num_processes)
    if num_processes == 1 and recipe.precision == "32" and not torch.accelerator.is_available():
        return SingleDevice(torch.device("cpu"))
    # not at the top: it imports torch's compiler, which takes seconds
    from lightning_fabric import Fabric  # noqa: PLC0415

    fabric = Fabric(
        devices=devices,
        num_nodes=num_nodes,
        precision=recipe.precision,
        strategy=_strategy(num_processes),
    )
    fabric.launch()
    return fabric


def _strategy(num_processes: int) -> "str | DDPStrategy":
    """Choose how processes find each other; torchrun has brought its own together already."""
    if num_processes == 1:
        return "auto"
    if dist.is_torchelastic_launched():
        return "ddp"
    from longarena.training.loopback import LoopbackStrategy  # noqa: PLC0415 - as above

    return LoopbackStrategy()


def check_shares(recipe: Recipe, num_processes: int) -> None:
    """Refuse a batch that leaves a process without an example in one of its parts."""
    size, parts = recipe.batch_size, recipe.accumulate
    if num_processes > size:
        raise UserError(f"{num_processes} devices cannot share a batch of {size}; use fewer")
    if parts > size // num_processes:
        raise UserError(
            f"accumulate={parts} cuts the {size // num_processes} examples of a device into "
            "more parts than there are; choose fewer"
        )


def started_by_torchrun(devices: int) -> tuple[int, int] | None:
    """Return how many processes run here and on how many machines; None without torchrun."""
    if not dist.is_torchelastic_launched():
        return None
    here, nodes = int(os.environ["LOCAL_WORLD_SIZE"]), int(os.environ["GROUP_WORLD_SIZE"])
    if devices not in {1, here}:
        raise UserError(
            f"torchrun started {here} processes here, --devices asks for {devices}; leave it out"
        )
    return here, nodes


def first_alone(devices: Devices, work: Callable[[], Result]) -> Result | None:
    """Let the first process do something while the others wait; if it fails, they end quietly.

    Only the first process gets the result.
    """
    failure: Exception | None = None
    result: Result | None = None
    with devices.rank_zero_first():
        if devices.is_global_zero:
            try:
                result = work()
            except Exception as error:
                failure = error
    has_failed = devices.broadcast(failure is not None)
    if failure is not None:
        raise failure
    if has_failed:
        sys.exit(0)  # the first process speaks for all
    return result


def is_first_process() -> bool:
    """Tell whether this process is the one that writes files and messages."""
    return not dist.is_initialized() or dist.get_rank() == 0
