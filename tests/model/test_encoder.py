import pytest
import torch
from model.cases import classifier, gradients, ids, peak_bytes

from longarena.model.encoder import FeedForward


@pytest.mark.parametrize("chunks", [3, 500])
def test_an_mlp_in_chunks_gives_the_same_numbers(chunks):
    expected = gradients(classifier("linear").double(), ids(61, 40))
    found = gradients(classifier("linear", mlp_chunks=chunks).double(), ids(61, 40))
    assert found.keys() == expected.keys()
    for key, gradient in expected.items():
        torch.testing.assert_close(found[key], gradient, msg=key)


def test_an_mlp_in_chunks_drops_the_same_units_when_it_is_computed_again():
    mlp = FeedForward(4, 6, dropout=0.5, chunks=2).double()
    x = torch.randn(1, 5, 4, dtype=torch.float64, requires_grad=True)

    def run(x):
        torch.manual_seed(0)
        return mlp(x)

    assert torch.autograd.gradcheck(run, x)


def test_an_mlp_in_chunks_takes_less_memory():
    sizes = {"max_length": 512, "mlp_width": 256}
    whole, pieces = (classifier("linear", mlp_chunks=chunks, **sizes) for chunks in (1, 8))
    assert peak_bytes(pieces, ids(*[512] * 4)) < 0.5 * peak_bytes(whole, ids(*[512] * 4))


def test_chunks_and_reversible_layers_go_together():
    expected = gradients(classifier("linear", reversible=True).double(), ids(61))
    model = classifier("linear", reversible=True, mlp_chunks=3).double()
    for key, gradient in gradients(model, ids(61)).items():
        torch.testing.assert_close(gradient, expected[key], msg=key)
