import pytest
import torch
from torch import nn

from longarena.recipes.recipe import Optimiser
from longarena.training.optimiser import build_optimiser, load_state_tensors, state_tensors


def decayed(decay):
    """The parameters that a step without gradient makes smaller."""
    model = nn.Sequential(nn.Linear(3, 3), nn.LayerNorm(3))
    for parameter in model.parameters():
        nn.init.ones_(parameter)
        parameter.grad = torch.zeros_like(parameter)
    build_optimiser(model, Optimiser(rate=0.1, weight_decay=0.5, decay=decay)).step()
    return {name for name, p in model.named_parameters() if (p < 1).all()}


def test_by_default_everything_decays_as_in_the_official_code():
    assert decayed("all") == {"0.weight", "0.bias", "1.weight", "1.bias"}


def test_matrices_alone_decay_if_asked():
    assert decayed("matrices") == {"0.weight"}


@pytest.mark.parametrize("decay", ["all", "matrices"])
def test_the_state_comes_back_as_it_was(decay):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 3), nn.LayerNorm(3))
    options = Optimiser(rate=0.1, weight_decay=0.1, decay=decay)
    first, second = build_optimiser(model, options), build_optimiser(model, options)
    model(torch.randn(2, 3)).square().sum().backward()
    first.step()
    load_state_tensors(second, state_tensors(first))
    expected, found = first.state_dict(), second.state_dict()
    assert found["param_groups"] == expected["param_groups"]
    assert found["state"].keys() == expected["state"].keys() == {0, 1, 2, 3}
    for index, slots in expected["state"].items():
        for slot, value in slots.items():
            assert torch.equal(found["state"][index][slot], value)
