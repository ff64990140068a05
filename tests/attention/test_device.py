"""Every mixer runs on a device other than the host, and never makes it wait for the host."""

import pytest
import torch
from attention import definitions
from attention.cases import WIDTH, make, tokens
from fake_device import PASSED, FakeDevice, outcomes
from representatives import REPRESENTATIVES

from longarena.attention import MIXERS
from longarena.contract.fake_device import step_on_device

CAUSAL = {f"{name} causal": (name, {"causal": True}) for name in MIXERS if MIXERS[name].card.causal}
SMALL = {name: (name, {}) for name in MIXERS} | {
    key: case for key, case in CAUSAL.items() if case[0] in REPRESENTATIVES
}
VARIANTS = {
    f"{name}{options}": (name, {"options": options})
    for name in MIXERS
    for options in definitions.of(name).VARIANTS
}
VARIANTS |= {key: case for key, case in CAUSAL.items() if key not in SMALL}
VARIANTS |= {
    f"{name} rotary": (name, {"rotary": True})
    for name in MIXERS
    if MIXERS[name].takes_rotary and name != "synthesizer"  # by its defaults it refuses
}


class LeftBehind(torch.nn.Module):
    """Keeps a tensor that does not move with the module."""

    def __init__(self):
        super().__init__()
        self.kept = torch.ones(WIDTH)

    def forward(self, x, mask):
        return x * self.kept


class ReadBack(torch.nn.Module):
    """Asks the device for a number in the middle of the pass."""

    def forward(self, x, mask):
        return x * 2 if bool(mask.any()) else x


class ChosenByMask(torch.nn.Module):
    """Makes a tensor whose shape depends on numbers."""

    def forward(self, x, mask):
        return x[mask]


BROKEN = {
    "left behind": (LeftBehind, "device"),
    "read back": (ReadBack, "_local_scalar_dense"),
    "chosen by a mask": (ChosenByMask, "nonzero"),
}


def run(key):
    """Run one training step of a case, or of a broken module, on the device."""
    if key in BROKEN:
        device = FakeDevice()
        x, mask = tokens(61, 40, 9)
        x, mask = device.like(x.float().requires_grad_()), device.like(mask)
        module = device.take(BROKEN[key][0]())
        device.run_step(lambda: module(x, mask).sum())
    else:
        name, changes = (SMALL | VARIANTS)[key]
        changed = {"options": definitions.of(name).SMALL} | changes
        step_on_device(make(name, **changed))


@pytest.fixture(scope="module")
def became():
    return outcomes(run, [*SMALL, *BROKEN])


@pytest.fixture(scope="module")
def variants_became():
    return outcomes(run, list(VARIANTS))


@pytest.mark.parametrize("key", SMALL)
def test_a_training_step_stays_on_the_device_and_reads_nothing_back(became, key):
    assert became[key] == PASSED


@pytest.mark.everywhere
@pytest.mark.parametrize("key", VARIANTS)
def test_so_does_a_step_of_every_variant(variants_became, key):
    assert variants_became[key] == PASSED


@pytest.mark.parametrize("key", BROKEN)
def test_a_module_that_breaks_the_promise_is_found(became, key):
    assert BROKEN[key][1] in became[key]
