import pytest
import torch
from model.cases import classifier, ids, signature
from torch import nn

from longarena.attention import MIXERS
from longarena.errors import UserError
from longarena.model.embedding import Embedding, ValueEmbedding, sinusoids, values_of

pytestmark = pytest.mark.shapes


def embed_ones(positions):
    return Embedding(nn.Embedding(5, 8), 8, 16, positions)(torch.ones(1, 4, dtype=torch.int64))


@pytest.mark.parametrize("positions", ["learned", "sinusoidal"])
def test_the_same_token_differs_by_its_place(positions):
    embedded = embed_ones(positions)
    assert not torch.equal(embedded[0, 0], embedded[0, 1])


def test_without_positions_a_token_is_the_same_everywhere():
    embedded = embed_ones("none")
    assert torch.equal(embedded[0, 0], embedded[0, 3])


def test_sinusoids_are_those_of_the_paper():
    table = sinusoids(50, 6)
    assert table[7, 2] == pytest.approx(torch.sin(torch.tensor(7 / 10_000 ** (2 / 6))).item())
    assert table[7, 3] == pytest.approx(torch.cos(torch.tensor(7 / 10_000 ** (2 / 6))).item())


@pytest.mark.parametrize("name", MIXERS)
def test_only_mixers_without_positions_of_their_own_get_some(name):
    model = classifier(name)
    assert (model.backbone.embedding.position is None) == MIXERS[name].has_own_positions


def test_a_model_without_positions_cannot_tell_the_order():
    model = classifier("transformer", positions="none").eval()
    tokens = ids(40)
    assert model.backbone.embedding.position is None
    torch.testing.assert_close(model(tokens.flip(-1)), model(tokens))


def test_the_lowest_and_highest_shade_are_minus_one_and_one():
    shades = torch.tensor([0, 51, 255])
    assert values_of(shades + 1, vocab_size=257).tolist() == pytest.approx([-1.0, -0.6, 1.0])


def test_a_value_is_read_as_a_number_times_a_vector():
    embedding = ValueEmbedding(vocab_size=4, num_prepended=0, width=8)
    low, middle, high = embedding(torch.tensor([[1, 2, 3]]))[0]
    torch.testing.assert_close(middle, embedding.linear.bias)
    torch.testing.assert_close(high - low, 2 * embedding.linear.weight[:, 0])


@pytest.mark.parametrize("mixer", ["transformer", "longformer"])
@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_values_need_no_vector_per_word(mixer, pooling):
    model = classifier(mixer, input="value", pooling=pooling)
    names = dict(model.backbone.embedding.token.named_parameters())
    count = model.backbone.num_prepended
    own = {"prepended"} if count else set()
    assert names.keys() == {"linear.weight", "linear.bias"} | own
    assert not count or names["prepended"].shape == (count, 16)


def test_a_token_of_the_models_own_is_a_vector_not_a_value():
    torch.manual_seed(0)
    embedding = ValueEmbedding(vocab_size=20, num_prepended=2, width=8)
    x = embedding(torch.tensor([[20, 21, 1, 19], [20, 21, 7, 0]]))
    torch.testing.assert_close(x[:, :2], embedding.prepended.expand(2, -1, -1))
    torch.testing.assert_close(x[0, 3], embedding.linear.weight[:, 0] + embedding.linear.bias)


@pytest.mark.parametrize("pooling", ["mean", "cls", "pma"])
def test_more_padding_changes_no_answer_to_values(pooling):
    model = classifier("transformer", input="value", pooling=pooling).eval()
    short = ids(64, 30, 1)
    torch.testing.assert_close(model(nn.functional.pad(short, (0, 64))), model(short))


def test_every_parameter_of_a_model_of_values_is_trained():
    model = classifier("transformer", input="value", pooling="cls")
    model(ids(64, 30)).square().sum().backward()
    assert all(p.grad.abs().sum() > 0 for p in model.backbone.embedding.parameters())


def test_words_are_not_read_as_numbers():
    with pytest.raises(UserError, match=r"not quantities.*; use input=embed"):
        classifier("transformer", signature(has_values=False), input="value")
