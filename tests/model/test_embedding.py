import pytest
import torch
from model.test_build import card, config

from longarena.attention import MIXERS
from longarena.model.build import build_classifier
from longarena.model.embedding import Embedding, sinusoids


@pytest.mark.parametrize("positions", ["learned", "sinusoidal"])
def test_the_same_token_differs_by_its_place(positions):
    embedded = Embedding(5, 8, 16, positions)(torch.ones(1, 4, dtype=torch.int64))
    assert not torch.equal(embedded[0, 0], embedded[0, 1])


def test_without_positions_a_token_is_the_same_everywhere():
    embedded = Embedding(5, 8, 16, None)(torch.ones(1, 4, dtype=torch.int64))
    assert torch.equal(embedded[0, 0], embedded[0, 3])


def test_sinusoids_are_those_of_the_paper():
    table = sinusoids(50, 6)
    assert table[7, 2] == pytest.approx(torch.sin(torch.tensor(7 / 10_000 ** (2 / 6))).item())
    assert table[7, 3] == pytest.approx(torch.cos(torch.tensor(7 / 10_000 ** (2 / 6))).item())


@pytest.mark.parametrize("name", MIXERS)
def test_only_mixers_without_positions_of_their_own_get_some(name):
    model = build_classifier(config(mixer=name), card(), seed=0)
    assert (model.embedding.position is None) == MIXERS[name].has_own_positions
