import pytest
import torch

from longarena.attention import MIXERS
from longarena.model.build import build_classifier, num_parameters
from longarena.model.config import ModelConfig
from longarena.tasks.base import TaskCard


def config(**changes):
    plain = {
        "mixer": "transformer",
        "width": 16,
        "depth": 2,
        "num_heads": 2,
        "mlp_width": 32,
        "positions": "learned",
        "pooling": "mean",
        "dropout": 0.0,
    }
    return ModelConfig(**(plain | changes))


def card(**changes):
    plain = {
        "name": "toy",
        "version": 1,
        "title": "Toy",
        "question": "?",
        "num_classes": 4,
        "max_length": 100,
        "vocab_size": 20,
        "sizes": {},
        "splits": "",
        "source": "",
        "licence": "",
        "citation": "",
    }
    return TaskCard(**(plain | changes))


def ids(*lengths, longest=64, num_sequences=1):
    tokens = torch.randint(1, 20, (len(lengths), num_sequences, longest))
    real = torch.arange(longest) < torch.tensor(lengths)[:, None]
    return tokens * real[:, None]


@pytest.mark.parametrize("pooling", ["mean", "pma"])
def test_queries_keys_and_values_may_be_narrower_than_the_tokens(pooling):
    model = build_classifier(config(qkv_width=8, pooling=pooling), card(), seed=0)
    for mixer in model.encoder.mixers():
        assert mixer.query.weight.shape == mixer.value.weight.shape == (8, 16)
        assert mixer.output.weight.shape == (16, 8)
    model(ids(64, 30)).sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())


def test_heads_that_do_not_divide_the_qkv_width_are_refused():
    with pytest.raises(ValueError, match="qkv_width 9 is not a multiple of num_heads 2"):
        config(qkv_width=9)


@pytest.mark.parametrize("pooling", ["mean", "cls", "pma"])
@pytest.mark.parametrize("positions", ["learned", "sinusoidal"])
def test_more_padding_changes_no_answer(pooling, positions):
    model = build_classifier(config(pooling=pooling, positions=positions), card(), seed=0).eval()
    short = ids(64, 30, 1)
    longer = torch.nn.functional.pad(short, (0, 64))
    torch.testing.assert_close(model(longer), model(short))


@pytest.mark.parametrize("pooling", ["mean", "cls", "pma"])
def test_every_real_token_can_change_the_answer(pooling):
    model = build_classifier(config(pooling=pooling), card(), seed=0).eval()
    tokens = ids(40)
    changed = tokens.clone()
    changed[0, 0, 39] = tokens[0, 0, 39] % 19 + 1
    assert not torch.allclose(model(tokens), model(changed))


def test_a_pair_is_judged_by_both_sequences():
    model = build_classifier(config(), card(num_sequences=2), seed=0).eval()
    tokens = ids(40, 9, num_sequences=2)
    swapped = tokens.flip(1)
    assert model(tokens).shape == (2, 4)
    assert not torch.allclose(model(tokens), model(swapped))


def test_the_sequences_of_a_pair_do_not_see_each_other():
    model = build_classifier(config(), card(num_sequences=2), seed=0).eval()
    tokens = ids(40, num_sequences=2)
    alone = model.encode(tokens[:, 0])
    torch.testing.assert_close(model.encode(tokens[0])[:1], alone)


def test_the_same_seed_builds_the_same_model():
    first, again, other = (build_classifier(config(), card(), seed) for seed in (3, 3, 4))
    tokens = ids(40, 9)
    assert torch.equal(first(tokens), again(tokens))
    assert not torch.equal(first(tokens), other(tokens))


def test_parameters_are_counted():
    model = build_classifier(config(depth=1, positions="sinusoidal"), card(), seed=0)
    attention, mlp, norms = 4 * 16 * 16, 16 * 32 + 32 + 32 * 16 + 16, 3 * 2 * 16
    head, words = 16 * 32 + 32 + 32 * 4 + 4, 20 * 16
    assert num_parameters(model) == attention + mlp + norms + head + words


def test_the_longest_sequence_fits_with_its_padding():
    model = build_classifier(config(pooling="cls"), card(max_length=100), seed=0)
    assert model(ids(100, longest=128)).shape == (1, 4)


@pytest.mark.parametrize("name", MIXERS)
def test_every_mixer_fits_a_few_examples(name):
    """A working mixer, mask and head can learn 32 sequences by heart."""
    generator = torch.Generator().manual_seed(0)
    tokens = torch.randint(1, 20, (32, 1, 32), generator=generator)
    tokens[16:, :, 20:] = 0
    labels = torch.randint(0, 4, (32,), generator=generator)
    model = build_classifier(config(), card(), seed=0)
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
