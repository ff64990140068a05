import pytest
import torch
from attention import definitions
from model.cases import SIZES, classifier, ids, peak_bytes, signature

from longarena.attention import MIXERS
from longarena.errors import UserError
from longarena.model.config import ModelConfig
from longarena.options import parse


def take_a_step(model, sequences):
    """All that a training step leaves: gradients, and the state that no gradient moves."""
    torch.manual_seed(0)
    model.begin_step(0)
    loss, extra = model(sequences).square().sum(), model.extra_loss()
    (loss if extra is None else loss + extra).backward()
    model.end_step()
    gradients = {name: p.grad for name, p in model.named_parameters() if p.grad is not None}
    return gradients, dict(model.named_buffers())


@pytest.mark.parametrize("name", MIXERS)
def test_computing_a_layer_again_changes_no_gradient_and_no_state(name):
    changes = {"options": definitions.of(name).SMALL, "dropout": 0.3, "depth": 2}
    expected = take_a_step(classifier(name, **changes).double(), ids(61, 40))
    found = take_a_step(classifier(name, recompute=True, **changes).double(), ids(61, 40))
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.keys() == theirs.keys()
        for key, value in theirs.items():
            torch.testing.assert_close(ours[key], value, atol=1e-12, rtol=1e-9, msg=key)


def test_it_takes_less_memory():
    kept, again = (
        classifier("linear", signature(max_length=512), depth=6, recompute=choice)
        for choice in (False, True)
    )
    assert peak_bytes(again, ids(*[512] * 4)) < 0.5 * peak_bytes(kept, ids(*[512] * 4))


def test_reversible_layers_need_no_second_remedy():
    sizes = SIZES | {"mixer": "linear", "reversible": True, "recompute": True}
    with pytest.raises(UserError, match="choose one of the two"):
        parse(ModelConfig, sizes, "model")
