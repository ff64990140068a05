"""The whole training step stays on the device: embedding, norms, heads, loss, tally, optimiser."""

import pytest
import torch
from fake_device import NAME, PASSED, FakeDevice, outcomes
from model.cases import SIZES, signature

from longarena.data.batches import Batch
from longarena.recipes.presets import preset
from longarena.recipes.recipe import override, replace
from longarena.tracks import track_of
from longarena.training.devices import SingleDevice
from longarena.training.optimiser import build_optimiser
from longarena.training.step import Learner, take_step

# sgd is missing: torch's fused kernel for it has no version without numbers
# what a case changes of the model, of the signature and of the recipe
CASES = {
    "plain": ({}, {}, []),
    "rms norm": ({"norm": "rms"}, {}, []),
    "batch norm": ({"norm": "batch"}, {}, []),
    "cls": ({"pooling": "cls"}, {}, []),
    "pma": ({"pooling": "pma"}, {}, []),
    "sinusoidal": ({"positions": "sinusoidal"}, {}, []),
    "rotary": ({"positions": "rotary"}, {}, []),
    "value input": ({"input": "value"}, {"has_values": True}, []),
    "global tokens": ({"mixer": "longformer", "pooling": "cls"}, {}, []),
    "no feed-forward": ({"mlp_width": 0}, {}, []),
    "mlp in chunks": ({"mlp_chunks": 2}, {}, []),
    "recompute": ({"recompute": True}, {}, []),
    "dropout": ({"dropout": 0.1}, {}, []),
    "a pair": ({}, {"num_sequences": 2}, []),
    "recall": ({}, {"num_sequences": 2, "track": "recall", "num_asked": 5}, []),
    "recall with a loss of the mixer's own": (
        {"mixer": "compressive"},
        {"num_sequences": 2, "track": "recall"},
        ["accumulate=2"],
    ),
    "denoising": ({}, {"num_sequences": 2, "track": "denoising", "masked_share": 0.2}, []),
    "denoising of smoothed labels": (
        {"mixer": "longformer", "pooling": "cls"},
        {"track": "denoising", "masked_share": 0.2},
        ["accumulate=2", "label_smoothing=0.1"],
    ),
    "denoising of values": (
        {"input": "value", "norm": "batch"},
        {"has_values": True, "track": "value-denoising", "masked_share": 0.5},
        [],
    ),
    "own loss": ({"mixer": "compressive"}, {}, []),
    "clipped parts of smoothed labels": (
        {},
        {},
        ["optimiser.clip=1.0", "accumulate=2", "label_smoothing=0.1"],
    ),
    "adam": ({}, {}, ["optimiser.kind=adam"]),
    "language": ({}, {"track": "language"}, ["label_smoothing=0.1", "accumulate=2"]),
}


def run(key):
    """Take one training step of a case on the device."""
    of_model, of_signature, of_recipe = CASES[key]
    asked = signature(**of_signature)
    recipe = override(preset("listops", "linear"), of_recipe)
    recipe = replace(recipe, model=SIZES | {"mixer": "linear", "depth": 1} | of_model)
    device = FakeDevice()
    track = track_of(asked)
    model = device.take(track.build(recipe.model, asked, recipe.seed).train())
    optimiser = build_optimiser(model, recipe.optimiser)
    there = SingleDevice(torch.device(NAME))
    learner = Learner(recipe, track, there, model, model, optimiser, num_parameters=0)
    ids = device.like(torch.ones(4, asked.num_sequences, 64, dtype=torch.int64))
    batch = Batch(ids, device.like(torch.zeros(4, dtype=torch.int64)))
    with device.mode, torch.autograd.set_multithreading_enabled(False):
        tally = take_step(learner, batch, 0)
    assert tally.sums.device.type == NAME


@pytest.fixture(scope="module")
def became():
    return outcomes(run, list(CASES))


@pytest.mark.parametrize("key", CASES)
def test_a_training_step_reads_nothing_back(became, key):
    assert became[key] == PASSED
