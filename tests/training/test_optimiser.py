import pytest
import torch
from torch import nn
from torch.optim import Optimizer
from training.runs import small_recipe

from longarena.attention.linear import LinearAttention
from longarena.data.batches import Batch
from longarena.data.tensors import load_tensors
from longarena.recipes.recipe import Optimiser
from longarena.recipes.schedule import rate
from longarena.tasks.signature import Signature
from longarena.training.devices import SingleDevice
from longarena.training.folder import RunFolder
from longarena.training.loop import train
from longarena.training.optimiser import (
    OPTIMISERS,
    build_optimiser,
    load_state_tensors,
    state_tensors,
)
from longarena.training.step import build_learner, take_step


class Slow(LinearAttention):
    """Calls two of its parameters slow, one of which all layers share."""

    def __init__(self, place, options, previous=None):
        super().__init__(place, options, previous)
        self.own = nn.Parameter(torch.ones(place.width, place.width))
        self.shared = nn.Parameter(torch.ones(())) if previous is None else previous.shared

    def slow_parameters(self):
        return frozenset({"own", "shared"})

    def forward(self, x, mask):
        return super().forward(x @ self.own * self.shared, mask)


OWN = "training.test_optimiser:Slow"
SIGNATURE = Signature(vocab_size=16, max_length=64, num_classes=10)


def learner_of(*changes):
    recipe = small_recipe(OWN, "optimiser.weight_decay=0.5", "steps=6", *changes)
    return build_learner(recipe, SIGNATURE, SingleDevice(torch.device("cpu")))


def names_of(learner, group):
    names = {parameter: name for name, parameter in learner.model.named_parameters()}
    return {names[parameter].rpartition("mixer.")[2] for parameter in group["params"]}


def small_model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 3), nn.LayerNorm(3))


def decayed(decay):
    """The parameters that a step without gradient makes smaller."""
    model = small_model()
    for parameter in model.parameters():
        nn.init.ones_(parameter)
        parameter.grad = torch.zeros_like(parameter)
    build_optimiser(model, Optimiser(rate=0.1, weight_decay=0.5, decay=decay)).step()
    return {name for name, p in model.named_parameters() if (p < 1).all()}


def test_by_default_everything_decays_as_in_the_official_code():
    assert decayed("all") == {"0.weight", "0.bias", "1.weight", "1.bias"}


def test_matrices_alone_decay_if_asked():
    assert decayed("matrices") == {"0.weight"}


def descend(start, gradients, update):
    """Apply an update rule to one number, gradient by gradient."""
    value, state = start, {}
    for step, gradient in enumerate(gradients, 1):
        value = update(value, gradient, step, state)
    return value


def adam_step(gradient, step, state):
    first = state["first"] = 0.9 * state.get("first", 0.0) + 0.1 * gradient
    second = state["second"] = 0.98 * state.get("second", 0.0) + 0.02 * gradient**2
    return (first / (1 - 0.9**step)) / ((second / (1 - 0.98**step)) ** 0.5 + 1e-9)


def define_adamw(value, gradient, step, state):
    return value * (1 - 0.1 * 0.5) - 0.1 * adam_step(gradient, step, state)


def define_adam(value, gradient, step, state):
    return value - 0.1 * adam_step(gradient + 0.5 * value, step, state)


def define_sgd(value, gradient, step, state):
    state["momentum"] = 0.9 * state.get("momentum", 0.0) + gradient + 0.5 * value
    return value - 0.1 * state["momentum"]


DEFINITIONS = {"adamw": define_adamw, "adam": define_adam, "sgd": define_sgd}


@pytest.mark.parametrize("kind", OPTIMISERS)
def test_every_optimiser_follows_its_definition(kind):
    model = nn.Linear(1, 1, bias=False).double()
    nn.init.constant_(model.weight, 2.0)
    optimiser = build_optimiser(model, Optimiser(kind=kind, rate=0.1, weight_decay=0.5))
    gradients = [1.0, -3.0, 0.5, 0.25]
    for gradient in gradients:
        model.weight.grad = torch.full_like(model.weight, gradient)
        optimiser.step()
    expected = descend(2.0, gradients, DEFINITIONS[kind])
    assert model.weight.item() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("kind", OPTIMISERS)
@pytest.mark.parametrize("decay", ["all", "matrices"])
def test_the_state_comes_back_as_it_was(kind, decay):
    model = small_model()
    options = Optimiser(kind=kind, rate=0.1, weight_decay=0.1, decay=decay)
    first, second = build_optimiser(model, options), build_optimiser(model, options)
    model(torch.randn(2, 3)).square().sum().backward()
    first.step()
    load_state_tensors(second, state_tensors(first))
    expected, found = first.state_dict(), second.state_dict()
    assert found["param_groups"] == expected["param_groups"]
    assert found["state"].keys() == expected["state"].keys() == {0, 1, 2, 3}
    for index, slots in expected["state"].items():
        assert found["state"][index].keys() == slots.keys()
        for slot, value in slots.items():
            assert torch.equal(found["state"][index][slot], value)


def test_a_state_without_tensors_comes_back_too():
    parameter = nn.Parameter(torch.ones(2))
    first, second = (Optimizer([parameter], {}) for _ in range(2))
    first.state[parameter] = {"count": 3, "share": 0.1, "moved": True, "nothing": None}
    tensors = state_tensors(first)
    assert all(isinstance(value, torch.Tensor) for value in tensors.values())
    load_state_tensors(second, tensors)
    assert second.state[parameter] == {"count": 3, "share": 0.1, "moved": True}
    assert type(second.state[parameter]["count"]) is int


def test_slow_parameters_have_a_group_of_their_own_and_never_decay():
    learner = learner_of("optimiser.slow_rate=1e-4", "optimiser.decay=matrices")
    decaying, constant, slow = learner.optimiser.param_groups
    assert names_of(learner, slow) == {"own", "shared"}
    assert len(slow["params"]) == learner.recipe.model.depth + 1
    assert [group["weight_decay"] for group in (decaying, constant, slow)] == [0.5, 0.0, 0.0]
    assert all(parameter.ndim == 2 for parameter in decaying["params"])
    sizes = [len(group["params"]) for group in (decaying, constant, slow)]
    assert sum(sizes) == len(list(learner.model.parameters()))


@pytest.mark.parametrize(("slow", "peak"), [("1e-4", 1e-4), ("null", None)])
def test_every_group_follows_the_schedule_from_its_own_peak(slow, peak):
    learner = learner_of(f"optimiser.slow_rate={slow}")
    recipe = learner.recipe
    batch = Batch(torch.ones(2, 1, 64, dtype=torch.int64), torch.tensor([0, 1]))
    peaks = [recipe.optimiser.rate, peak or recipe.optimiser.rate]
    for step in range(recipe.steps):
        take_step(learner, batch, step)
        expected = [rate(recipe.schedule, value, step, recipe.steps) for value in peaks]
        assert [group["lr"] for group in learner.optimiser.param_groups] == expected


@pytest.mark.parametrize("kind", OPTIMISERS)
def test_a_step_without_gradient_leaves_slow_parameters_alone(kind):
    learner = learner_of(f"optimiser.kind={kind}")
    before = {name: p.detach().clone() for name, p in learner.model.named_parameters()}
    for parameter in learner.model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    learner.optimiser.step()
    for name, parameter in learner.model.named_parameters():
        is_slow = name.endswith((".own", ".shared"))
        assert torch.equal(parameter, before[name]) == (is_slow or not before[name].any()), name


def test_slow_parameters_move_by_their_own_rate():
    moved = {}
    for slow_rate in (1e-3, 1e-2):
        learner = learner_of(f"optimiser.slow_rate={slow_rate}", "optimiser.kind=sgd")
        parameter = learner.model.get_parameter("backbone.encoder.layers.0.mixer.own")
        parameter.grad = torch.ones_like(parameter)
        learner.optimiser.step()
        moved[slow_rate] = 1 - parameter.mean().item()
    assert moved[1e-3] == pytest.approx(1e-3, rel=1e-3)
    assert moved[1e-2] == pytest.approx(1e-2, rel=1e-3)


def forget_the_end(folder):
    """Leave a run as if it had been killed after its last checkpoint but one."""
    for path in [folder.record, folder.answers, *folder.checkpoints.glob("step-00000012.*")]:
        path.unlink()


def last_tensors(folder):
    return load_tensors(folder.checkpoints / "step-00000012.safetensors").tensors


@pytest.mark.parametrize("kind", OPTIMISERS)
def test_a_run_that_goes_on_ends_like_an_unbroken_one(kind, tmp_path):
    changes = [f"optimiser.kind={kind}", "optimiser.weight_decay=0.1", "optimiser.slow_rate=0.01"]
    recipe = small_recipe(OWN, *changes)
    folder = RunFolder.of(tmp_path, recipe)
    whole, expected = train(recipe, tmp_path), last_tensors(folder)
    forget_the_end(folder)
    broken, found = train(recipe, tmp_path), last_tensors(folder)
    assert broken.metrics.test == whole.metrics.test
    assert found.keys() == expected.keys()
    assert any(key.startswith("optimiser/") for key in expected)
    assert all(torch.equal(found[key], value) for key, value in expected.items())
