"""A model that translates: what it sees, what it shares, and what it says token by token."""

import pytest
import torch
from attention.cases import CAUSAL_CASES, over_mixers
from model.translations import build, sentences, signature

from longarena.attention import CARDS
from longarena.errors import UserError
from longarena.model.model import num_parameters
from longarena.model.target_stepping import TargetStepper
from longarena.model.translation import SOURCE, TARGET, begin, finish

IDS = sentences((7, 5), (3, 9), (10, 1))


def logits(model, ids=IDS):
    with torch.no_grad():
        return model(ids)


def test_every_target_token_and_the_end_is_predicted():
    assert logits(build()).shape == (3, 11, 12)


@pytest.mark.parametrize("mixer", ["transformer", "lite-transformer", "linear", "longformer"])
def test_padding_changes_nothing(mixer):
    model = build(mixer)
    padded = torch.nn.functional.pad(IDS, (0, 6))
    whole = logits(model, padded)
    torch.testing.assert_close(whole[:, :11], logits(model))
    alone = logits(model, IDS[1:2, :, :9])
    torch.testing.assert_close(alone, whole[1:2, :10])


@pytest.mark.parametrize("mixer", ["transformer", "lite-transformer"])
def test_a_token_sees_the_whole_source_and_the_target_before_it(mixer):
    model, before = build(mixer), logits(build(mixer))
    later = IDS.clone()
    later[0, TARGET, 3] = 1 + IDS[0, TARGET, 3] % 11
    after = logits(model, later)
    # the token itself is read one position later
    assert torch.equal(after[0, :4], before[0, :4])
    assert not torch.equal(after[0, 4], before[0, 4])
    assert torch.equal(after[1:], before[1:])
    for position in range(7):
        other = IDS.clone()
        other[0, SOURCE, position] = 1 + IDS[0, SOURCE, position] % 11
        assert not torch.allclose(logits(model, other)[0, 0], before[0, 0])


def test_source_target_and_output_share_their_vectors():
    model = build()
    token = model.backbone.embedding.token
    assert model.decoder.embedding.token is token is model.head.token
    # 12 ids, padding among them, and the end
    assert token.weight.shape == (13, 16)
    written = torch.randn(1, 1, 16, dtype=torch.float64)
    expected = written[0, 0] @ token.weight[1:].T
    torch.testing.assert_close(model.head(written)[0, 0], expected)
    torch.testing.assert_close(token(torch.tensor([[3]]))[0, 0], 4 * token.weight[3])


def test_the_two_halves_do_not_begin_with_the_same_weights():
    model = build()
    read, written = (next(iter(half.mixers())) for half in (model.backbone.encoder, model.decoder))
    assert not torch.equal(read.query.weight, written.query.weight)
    assert len(list(model.mixers())) == 4


def test_parameters_by_hand():
    width, mlp, depth = 16, 32, 2
    feed = 2 * width * mlp + mlp + width
    layer = 4 * width**2 + feed + 2 * 2 * width
    reading = depth * layer + 2 * width
    writing = depth * (layer + 4 * width**2 + 2 * width) + 2 * width
    assert num_parameters(build()) == 13 * width + reading + writing


@over_mixers(CAUSAL_CASES)
@torch.no_grad()
def test_token_by_token_it_says_what_it_says_of_the_whole(name, options):
    model = build(name, options=options)
    ids = sentences((7, 9), (3, 9))
    whole = model(ids)
    stepper = TargetStepper(model, ids[:, SOURCE])
    stepped = [stepper.start(), *(stepper.read(token) for token in ids[:, TARGET].unbind(1))]
    torch.testing.assert_close(torch.stack(stepped, dim=1), whole)


# the middle sentence is done, or all go on; a hypothesis may go on twice, and they change places
@pytest.mark.parametrize("rows", [[1, 0, 5, 5], [1, 0, 2, 2, 5, 4]])
@pytest.mark.parametrize("mixer", ["transformer", "lite-transformer", "linear"])
@torch.no_grad()
def test_hypotheses_are_chosen_with_all_that_they_carry(mixer, rows):
    model, source = build(mixer), IDS[:, SOURCE]
    stepper = TargetStepper(model, source, beam=2)
    stepper.start()
    stepper.read(torch.tensor([1, 2, 3, 4, 5, 6]))
    stepper.choose(torch.tensor(rows))
    found = stepper.read(torch.arange(7, 7 + len(rows)) % 11 + 1)
    for place, row in enumerate(rows):
        target = torch.tensor([row + 1, (7 + place) % 11 + 1])
        ids = torch.stack([source[row // 2], torch.nn.functional.pad(target, (0, 8))])
        torch.testing.assert_close(found[place], model(ids[None])[0, 2])


@pytest.mark.parametrize("mixer", [name for name, card in CARDS.items() if not card.causal])
def test_a_mechanism_that_cannot_be_causal_reads_and_another_writes(mixer):
    with pytest.raises(UserError, match="cannot be causal"):
        build(mixer)
    assert logits(build(mixer, decoder="transformer")).isfinite().all()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"reversible": True}, "use reversible=false"),
        ({"input": "value"}, "use input=embed"),
    ],
)
def test_what_it_cannot_honour_is_refused(changes, words):
    with pytest.raises(UserError, match=words):
        build(**changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"recompute": True},
        {"mlp_width": 0},
        {"norm": "rms", "positions": "learned"},
        {"positions": "rotary", "mlp_chunks": 2},
        {"qkv_width": 8},
    ],
)
def test_gradients_reach_every_parameter(changes):
    model = build(dropout=0.0, **changes).train()
    model(IDS).square().sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())


def test_layers_that_are_computed_again_have_the_same_gradients():
    gradients = []
    for recompute in (False, True):
        model = build(dropout=0.0, recompute=recompute).train()
        model(IDS).square().sum().backward()
        gradients.append([p.grad for p in model.parameters()])
    for plain, again in zip(*gradients, strict=True):
        torch.testing.assert_close(again, plain)


def test_the_longest_sentence_fits_with_its_end_and_padding():
    model = build(asked=signature(max_length=7))
    ids = sentences((7, 7), (8, 8))
    ids[1, :, 7] = 0
    assert logits(model, ids).shape == (2, 9, 12)


def test_ends_stand_behind_the_last_token_and_before_the_first():
    ids = torch.tensor([[4, 5, 6], [4, 0, 0], [0, 0, 0]])
    assert finish(ids, 9).tolist() == [[4, 5, 6, 9], [4, 9, 0, 0], [9, 0, 0, 0]]
    assert begin(ids, 9).tolist() == [[9, 4, 5, 6], [9, 4, 0, 0], [9, 0, 0, 0]]
