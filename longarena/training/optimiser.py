"""The optimiser of a run: AdamW, and its state as flat tensors for the checkpoint.

Choice: `decay="matrices"` leaves out what has one dimension: norms and biases. The official code
        lets everything decay, which is the default.
"""

from collections.abc import Mapping

from torch import Tensor, nn
from torch.optim import AdamW, Optimizer

from longarena.recipes.recipe import Optimiser


def build_optimiser(model: nn.Module, options: Optimiser) -> AdamW:
    """Build AdamW over the parameters of a model, those that decay and those that do not."""
    decays: list[nn.Parameter] = []
    stays: list[nn.Parameter] = []
    for parameter in model.parameters():
        is_spared = options.decay == "matrices" and parameter.ndim < 2
        (stays if is_spared else decays).append(parameter)
    groups = [
        {"params": decays, "weight_decay": options.weight_decay},
        {"params": stays, "weight_decay": 0.0},
    ]
    return AdamW(
        [group for group in groups if group["params"]],
        lr=options.rate,
        betas=(options.beta_1, options.beta_2),
        eps=options.epsilon,
        fused=True,
    )


def state_tensors(optimiser: Optimizer) -> dict[str, Tensor]:
    """Return the state as tensors under the names `<index of the parameter>/<slot>`."""
    state = optimiser.state_dict()["state"]
    return {f"{index}/{slot}": value for index in state for slot, value in state[index].items()}


def load_state_tensors(optimiser: Optimizer, tensors: Mapping[str, Tensor]) -> None:
    """Put the state back."""
    slots: dict[int, dict[str, Tensor]] = {}
    for name, value in tensors.items():
        index, _, slot = name.partition("/")
        slots.setdefault(int(index), {})[slot] = value
    groups = optimiser.state_dict()["param_groups"]
    optimiser.load_state_dict({"state": slots, "param_groups": groups})
