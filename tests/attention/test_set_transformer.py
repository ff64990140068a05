import pytest
import torch
from attention.cases import make, tokens
from model.cases import classifier, ids

from longarena.attention import build
from longarena.attention.set_transformer import Points
from longarena.errors import UserError


def test_a_permutation_of_the_tokens_permutes_the_answers():
    mixer = make("set-transformer", {"inducing": 5})
    x, mask = tokens(61, 40)
    order = torch.randperm(61, generator=torch.Generator().manual_seed(0))
    permuted = mixer(x[:, order], mask[:, order])
    torch.testing.assert_close(permuted[mask[:, order]], mixer(x, mask)[:, order][mask[:, order]])
    assert not torch.allclose(permuted[0], mixer(x, mask)[0])


def test_tokens_hear_of_each_other_through_the_points_only():
    mixer = make("set-transformer", {"inducing": 5})
    x, mask = tokens(61)
    mixer.points.forward = lambda x, mask: torch.ones(len(x), 5, 16, dtype=x.dtype)
    changed = x.clone()
    changed[:, 30] += 1.0
    assert torch.equal(mixer(x, mask), mixer(changed, mask))


def test_one_point_tells_every_token_the_same():
    mixer = make("set-transformer", {"inducing": 1})
    y = mixer(*tokens(61))
    torch.testing.assert_close(y, y[:, :1].expand_as(y))


def test_points_read_every_real_token_and_no_other():
    x, mask = tokens(61, 40)
    points = Points(3, 16, 16, 2).double()
    x.requires_grad_()
    points(x, mask).square().sum().backward()
    heard = x.grad.abs().sum(dim=-1) > 0
    assert torch.equal(heard, mask)


def test_no_point_at_all_is_refused():
    with pytest.raises(UserError, match="inducing = 0"):
        build("set-transformer", width=16, num_heads=2, max_length=64, options={"inducing": 0})


@pytest.mark.parametrize("mixer", ["local", "set-transformer"])
def test_pma_is_a_pooling_for_every_mechanism(mixer):
    model = classifier(mixer, pooling="pma").eval()
    tokens = ids(61, 40)
    padded = torch.nn.functional.pad(tokens, (0, 64))
    torch.testing.assert_close(model(padded), model(tokens))
    model(tokens).sum().backward()
    assert all(p.grad.abs().sum() > 0 for p in model.head.pool.parameters())
