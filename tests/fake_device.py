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
may end the process. So a test calls `outcomes`, which runs the cases of a module in one process of
its own and tells what became of each.
"""

import importlib
import json
import subprocess
import sys
import warnings
from pathlib import Path

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils import backend_registration

NAME = "gpu"
PASSED = "passed"


class _Backend(backend_registration._DummyBackendModule):
    """The least that torch asks of a device, autocast included."""

    def get_amp_supported_dtype(self):
        return [torch.float16, torch.bfloat16]


class FakeDevice:
    """Tensors that have a shape, a type and a device but no numbers, and passes over them."""

    def __init__(self):
        if torch._C._get_privateuse1_backend_name() != NAME:
            backend_registration._setup_privateuseone_for_python_backend(NAME, _Backend())
        # what was left on the host is then refused for its device, not for being a real tensor
        self.mode = FakeTensorMode(allow_non_fake_inputs=True)

    def like(self, tensor):
        """Make a tensor like this one on the device."""
        with self.mode:
            made = torch.empty_like(tensor, device=NAME)
        return made.requires_grad_(tensor.requires_grad)

    def take(self, module):
        """Move a module's parameters and buffers, and nothing else, as `Module.to` does."""
        return module._apply(self.like)

    def run_step(self, compute_loss):
        """Run a forward and a backward pass."""
        # the engine's own thread for the device knows nothing of the mode, and may abort
        with self.mode, torch.autograd.set_multithreading_enabled(False):
            loss = compute_loss()
            assert loss.device.type == NAME, f"the loss is on {loss.device}"
            loss.backward()


def outcomes(module, keys):
    """Call `module.run(key)` for every key in one process of its own; tell what became of each.

    The outcome is `passed`, or the error in a line.
    """
    child = subprocess.run(
        [sys.executable, __file__, module, json.dumps(keys)],
        capture_output=True,
        text=True,
        check=False,
    )
    told = dict(json.loads(line) for line in child.stdout.splitlines())
    return {key: told.get(key, f"not reached: {child.stderr[-2000:]}") for key in keys}


def _outcome(run, key):
    try:
        with warnings.catch_warnings(action="error"):
            run(key)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return PASSED


def _tell_outcomes(module, keys):
    run = importlib.import_module(module).run
    for key in keys:
        print(json.dumps([key, _outcome(run, key)]), flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
    _tell_outcomes(sys.argv[1], json.loads(sys.argv[2]))
