"""The optimiser of a run, and its state as flat tensors for the checkpoint.

    adamw    Adam with decoupled weight decay                   Loshchilov & Hutter (2019)
    adam     Adam with the decay added to the gradient (L2)     Kingma & Ba (2015)
    sgd      gradient descent with momentum `beta_1`, L2 as in `adam`

Every group of parameters carries its `peak_rate`, which the schedule scales.

Choice: `decay="matrices"` leaves out parameters of one dimension: norms and biases. The default is
        that of the official code: everything decays.
Choice: the parameters that a mixer calls slow never decay, and have a peak rate of their own where
        the recipe gives a `slow_rate`.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim import SGD, Adam, AdamW, Optimizer

from longarena.attention import Mixer
from longarena.recipes.recipe import Optimiser

# marks a slot whose value is a number, not a tensor
NUMBER = ":number"

# as torch takes them: parameters that decay alike and have the same peak rate
Group: TypeAlias = dict[str, Any]

OPTIMISERS: dict[str, Callable[[list[Group], Optimiser], Optimizer]] = {
    "adamw": lambda groups, options: AdamW(groups, **_adam(options)),
    "adam": lambda groups, options: Adam(groups, **_adam(options)),
    "sgd": lambda groups, options: SGD(groups, momentum=options.beta_1, fused=True),
}


def _adam(options: Optimiser) -> dict[str, Any]:
    return {"betas": (options.beta_1, options.beta_2), "eps": options.epsilon, "fused": True}


def build_optimiser(model: nn.Module, options: Optimiser) -> Optimizer:
    """Build the optimiser of a recipe over the parameters of a model."""
    return OPTIMISERS[options.kind](parameter_groups(model, options), options)


def parameter_groups(model: nn.Module, options: Optimiser) -> list[Group]:
    """Sort the parameters into those that decay, those that do not, and the slow ones."""
    slow_rate = options.rate if options.slow_rate is None else options.slow_rate
    decaying = _group(options.weight_decay, options.rate)
    constant, slow = _group(0.0, options.rate), _group(0.0, slow_rate)
    slow_ones = slow_parameters(model)
    for parameter in model.parameters():
        is_spared = options.decay == "matrices" and parameter.ndim < 2
        group = slow if parameter in slow_ones else constant if is_spared else decaying
        group["params"].append(parameter)
    return [group for group in (decaying, constant, slow) if group["params"]]


def _group(weight_decay: float, rate: float) -> Group:
    return {"params": [], "weight_decay": weight_decay, "lr": rate, "peak_rate": rate}


def slow_parameters(model: nn.Module) -> set[nn.Parameter]:
    """Collect the parameters that the mixers of a model call slow."""
    mixers = [module for module in model.modules() if isinstance(module, Mixer)]
    return {mixer.get_parameter(name) for mixer in mixers for name in mixer.slow_parameters()}


def state_tensors(optimiser: Optimizer) -> dict[str, Tensor]:
    """Return the state as tensors named `<index of the parameter>/<slot>`; None is left out."""
    tensors: dict[str, Tensor] = {}
    for index, slots in optimiser.state_dict()["state"].items():
        for slot, value in slots.items():
            if isinstance(value, Tensor):
                tensors[f"{index}/{slot}"] = value
            elif value is not None:
                # through NumPy, which keeps all digits of a float
                tensors[f"{index}/{slot}{NUMBER}"] = torch.as_tensor(np.asarray(value))
    return tensors


def load_state_tensors(optimiser: Optimizer, tensors: Mapping[str, Tensor]) -> None:
    """Put back the state that `state_tensors` returned."""
    state: dict[int, dict[str, Tensor | float]] = {}
    for name, value in tensors.items():
        index, _, slot = name.partition("/")
        is_number = slot.endswith(NUMBER)
        slots = state.setdefault(int(index), {})
        slots[slot.removesuffix(NUMBER)] = value.item() if is_number else value
    groups = optimiser.state_dict()["param_groups"]
    optimiser.load_state_dict({"state": state, "param_groups": groups})
