import pytest
import torch
from model.cases import classifier, ids, signature
from representatives import mark_others

from longarena.attention import MIXERS
from longarena.model.model import num_parameters

pytestmark = pytest.mark.shapes

PAIR = signature(num_sequences=2)


def pairs(*lengths):
    """Pairs of sequences, both as long as each of these lengths says."""
    return torch.cat([ids(*lengths, seed=seed) for seed in (0, 1)], dim=1)


@pytest.mark.parametrize("pooling", ["mean", "pma"])
def test_queries_keys_and_values_may_be_narrower_than_the_tokens(pooling):
    model = classifier("transformer", qkv_width=8, pooling=pooling)
    for mixer in model.backbone.encoder.mixers():
        assert mixer.query.weight.shape == mixer.value.weight.shape == (8, 16)
        assert mixer.output.weight.shape == (16, 8)
    model(ids(64, 30)).sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())


def test_heads_that_do_not_divide_the_qkv_width_are_refused():
    with pytest.raises(ValueError, match="qkv_width 9 is not a multiple of num_heads 2"):
        classifier("transformer", qkv_width=9)


@pytest.mark.parametrize("pooling", ["mean", "cls", "pma"])
@pytest.mark.parametrize("positions", ["learned", "sinusoidal", "none"])
def test_more_padding_changes_no_answer(pooling, positions):
    model = classifier("transformer", pooling=pooling, positions=positions).eval()
    short = ids(64, 30, 1)
    longer = torch.nn.functional.pad(short, (0, 64))
    torch.testing.assert_close(model(longer), model(short))


@pytest.mark.parametrize("pooling", ["mean", "cls", "pma"])
def test_every_real_token_can_change_the_answer(pooling):
    model = classifier("transformer", pooling=pooling).eval()
    tokens = ids(40)
    changed = tokens.clone()
    changed[0, 0, 39] = tokens[0, 0, 39] % 19 + 1
    assert not torch.allclose(model(tokens), model(changed))


def test_a_pair_is_judged_by_both_sequences():
    model = classifier("transformer", PAIR).eval()
    tokens = pairs(40, 9)
    swapped = tokens.flip(1)
    assert model(tokens).shape == (2, 4)
    assert not torch.allclose(model(tokens), model(swapped))


def test_the_sequences_of_a_pair_do_not_see_each_other():
    model = classifier("transformer", PAIR).eval()
    tokens = pairs(40)
    alone, _ = model.backbone(tokens[:, 0])
    together, _ = model.backbone(tokens[0])
    torch.testing.assert_close(together[:1], alone)


def test_the_same_seed_builds_the_same_model():
    first, again, other = (classifier("transformer", seed=seed) for seed in (3, 3, 4))
    tokens = ids(40, 9)
    assert torch.equal(first(tokens), again(tokens))
    assert not torch.equal(first(tokens), other(tokens))


def test_parameters_are_counted():
    model = classifier("transformer", depth=1, positions="sinusoidal")
    attention, mlp, norms = 4 * 16 * 16, 16 * 32 + 32 + 32 * 16 + 16, 3 * 2 * 16
    head, words = 16 * 32 + 32 + 32 * 4 + 4, 20 * 16
    assert num_parameters(model) == attention + mlp + norms + head + words


def test_the_longest_sequence_fits_with_its_padding():
    model = classifier("transformer", signature(max_length=100), pooling="cls")
    padded = torch.nn.functional.pad(ids(100), (0, 28))
    assert model(padded).shape == (1, 4)


@pytest.mark.slow
@pytest.mark.parametrize("name", mark_others(MIXERS))
def test_every_mixer_fits_a_few_examples(name):
    """A working mixer, mask and head can learn 32 sequences by heart."""
    generator = torch.Generator().manual_seed(0)
    tokens = torch.randint(1, 20, (32, 1, 32), generator=generator)
    tokens[16:, :, 20:] = 0
    labels = torch.randint(0, 4, (32,), generator=generator)
    model = classifier(name, depth=2)
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for step in range(80):
        model.begin_step(step)
        loss = torch.nn.functional.cross_entropy(model(tokens), labels)
        extra = model.extra_loss()
        (loss if extra is None else loss + extra).backward()
        optimiser.step()
        optimiser.zero_grad()
        model.end_step()
    assert loss.item() < 0.2
