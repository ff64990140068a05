import pytest
import torch
from model.cases import classifier, ids, signature

from longarena.attention.base import Mixer
from longarena.model.heads import mean_of_real


class Looking(Mixer):
    """Wants two tokens to see all by, and keeps the last input that it got."""

    num_global_tokens = 2

    def forward(self, x, mask):
        self.seen = (x.detach(), mask)
        return x


OWN = "model.test_global_tokens:Looking"


@pytest.mark.parametrize(
    ("mixer", "pooling", "count"),
    [("linear", "mean", 0), ("linear", "cls", 1), (OWN, "mean", 2), (OWN, "cls", 2)],
)
def test_as_many_tokens_are_put_before_as_pooling_and_mixer_want(mixer, pooling, count):
    backbone = classifier(mixer, signature(max_length=100), pooling=pooling).backbone
    assert backbone.num_prepended == count
    assert backbone.embedding.token.num_embeddings == signature().vocab_size + count
    assert {m.place.max_length for m in backbone.encoder.mixers()} == {128 + count}


def test_they_are_real_tokens_that_differ_from_each_other():
    model = classifier(OWN)
    model(ids(61, 40))
    seen, mask = next(model.backbone.encoder.mixers()).seen
    assert mask.sum(dim=1).tolist() == [63, 42]
    assert not torch.allclose(seen[0, 0], seen[0, 1])
    torch.testing.assert_close(seen[0, :2], seen[1, :2])


def encoded(model, sequences):
    """What the encoder gives for sequences, its mask, and what becomes of them by pooling."""
    states = []
    model.backbone.encoder.register_forward_hook(lambda _, given, y: states.append((y, given[1])))
    pooled = model.head.pool(*model.backbone(sequences[:, 0]))
    return *states[0], pooled


def test_the_mean_leaves_them_out():
    y, mask, pooled = encoded(classifier(OWN).eval(), ids(61, 40))
    torch.testing.assert_close(pooled, mean_of_real(y[:, 2:], mask[:, 2:]))
    assert not torch.allclose(pooled, mean_of_real(y, mask))


def test_cls_is_the_first_of_them():
    y, _, pooled = encoded(classifier(OWN, pooling="cls").eval(), ids(61, 40))
    assert torch.equal(pooled, y[:, 0])


def test_the_longest_sequence_fits_behind_them():
    assert classifier(OWN, signature(max_length=100))(ids(128)).isfinite().all()
