"""A device that is not there: the paths of a GPU, exercised without one.

torch lets Python register a backend, here "gpu", and `FakeTensorMode` runs every operation on
shapes, types and devices alone. A tensor made on the wrong device raises there, and so does every
read-back to the host (`.item()`, `bool(tensor)`, `.tolist()`, `nonzero`, a boolean index), which on
a real GPU would stall the pass.

    device = FakeDevice()
    model = device.take(model)
    x = device.like(x)
    device.run_step(lambda: model(x).sum())

What runs between passes (`begin_step`, `end_step`) is called outside of `run_step`: there it may
draw on the host and copy to the device, and still may not read back.

A registered backend stays for the life of a process, and an error in a hook of the backward pass
may end the process. So `check_device` tries a mixer in a process of its own.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import TypeVar

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.autograd import backward
from torch.utils import backend_registration

from longarena.attention import Mixer, build
from longarena.contract.promises import HEADS, MAX_LENGTH, ROWS, WIDTH, Broken, tokens

NAME = "gpu"
READ_BACK = ("_local_scalar_dense", "nonzero", "data-dependent")
Module = TypeVar("Module", bound=nn.Module)


class _Backend(backend_registration._DummyBackendModule):
    """The least that torch asks of a device, autocast included."""

    def get_amp_supported_dtype(self) -> list[torch.dtype]:
        return [torch.float16, torch.bfloat16]


class FakeDevice:
    """Tensors that have a shape, a type and a device but no numbers, and passes over them."""

    def __init__(self) -> None:
        if torch._C._get_privateuse1_backend_name() != NAME:
            backend_registration._setup_privateuseone_for_python_backend(NAME, _Backend())
        # what was left on the host is then refused for its device, not for being a real tensor
        self.mode = FakeTensorMode(allow_non_fake_inputs=True)

    def like(self, tensor: Tensor) -> Tensor:
        """Make a tensor like this one on the device."""
        with self.mode:
            made = torch.empty_like(tensor, device=NAME)
        return made.requires_grad_(tensor.requires_grad)

    def take(self, module: Module) -> Module:
        """Move a module's parameters and buffers, and nothing else, as `Module.to` does."""
        module._apply(self.like)  # type: ignore[no-untyped-call]
        return module

    def run_step(self, compute_loss: Callable[[], Tensor]) -> None:
        """Run a forward and a backward pass."""
        # the engine's own thread for the device knows nothing of the mode, and may abort
        with self.mode, torch.autograd.set_multithreading_enabled(False):
            loss = compute_loss()
            if loss.device.type != NAME:
                raise Broken(f"the loss is on {loss.device}")
            backward(loss)


def loss_of(mixer: Mixer, x: Tensor, mask: Tensor) -> Tensor:
    """Add up the answers of a mixer, and its loss of its own if it has one."""
    y, extra = mixer(x, mask).sum(), mixer.extra_loss()
    return y if extra is None else y + extra


def step_on_device(mixer: Mixer) -> None:
    """Take one training step of a mixer on the device."""
    device = FakeDevice()
    x, mask = tokens(*ROWS)
    x, mask = device.like(x.float().requires_grad_()), device.like(mask)
    moved = device.take(mixer.float().train())
    moved.begin_step(1)
    device.run_step(lambda: loss_of(moved, x, mask))
    moved.end_step()


def check_device(name: str, options: Mapping[str, object], *, causal: bool = False) -> None:
    """Refuse a mixer that leaves something on the host, or reads something back."""
    child = subprocess.run(
        [sys.executable, "-m", __name__, name, json.dumps(dict(options)), str(int(causal))],
        # so that the process finds the user's own mixers as this one does
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    lines = child.stdout.strip().splitlines()
    said = json.loads(lines[-1]) if lines else (child.stderr.strip().splitlines() or ["ended"])[-1]
    if said:
        raise Broken(_explain(str(said)))


def _explain(said: str) -> str:
    short = " ".join(said.split())[:300]
    if any(word in said for word in READ_BACK):
        return f"it reads a number back from the device, which stalls a GPU ({short})"
    return f"something is on the wrong device; make it on that of x, or as a buffer ({short})"


def main() -> None:
    """Try the mixer that the command line names; print what went wrong, as JSON."""
    name, options, causal = sys.argv[1:]
    mixer = build(
        name,
        width=WIDTH,
        num_heads=HEADS,
        max_length=MAX_LENGTH,
        options=json.loads(options),
        causal=causal == "1",
    )
    try:
        step_on_device(mixer)
    except Exception as error:
        sys.stdout.write(json.dumps(f"{type(error).__name__}: {error}") + "\n")
    else:
        sys.stdout.write(json.dumps("") + "\n")


if __name__ == "__main__":
    main()
