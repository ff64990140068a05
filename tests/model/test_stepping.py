"""A model that goes token by token says what it says about the whole sequence."""

import pytest
import torch
from attention.cases import CAUSAL_CASES, over_mixers

from longarena.attention import MIXERS, Mixer
from longarena.attention.transformer import Transformer
from longarena.errors import UserError
from longarena.model.config import ModelConfig
from longarena.model.sampling import Sampling
from longarena.model.stepping import Stepper
from longarena.tasks.signature import Signature
from longarena.tracks.classification import Classification
from longarena.tracks.language import Language

LENGTH, PROMPT = 64, 45
SIGNATURE = Signature(vocab_size=257, max_length=LENGTH, track="language")
IDS = torch.randint(1, 257, (2, LENGTH), generator=torch.Generator().manual_seed(0))
SIZES = {
    "width": 16,
    "depth": 2,
    "num_heads": 2,
    "mlp_width": 32,
    "positions": "learned",
    "pooling": "mean",
    "dropout": 0.1,
}


def build(mixer, options=None, **changes):
    config = ModelConfig(mixer=mixer, options=options or {}, **(SIZES | changes))
    return Language().build(config, SIGNATURE, seed=0).double().eval()


@torch.no_grad()
def assert_steps_equal_the_whole(model):
    whole = model(IDS[:, None])
    stepper = Stepper(model, batch=2)
    stepped = [stepper.start(IDS[:, :PROMPT])]
    stepped += [stepper.read(IDS[:, at : at + 1]) for at in range(PROMPT, LENGTH)]
    later = Stepper(model, batch=2)
    stepped += [later.start(), later.read(IDS[:, :PROMPT])]
    expected = [*whole[:, PROMPT:].unbind(1), whole[:, 0], whole[:, PROMPT]]
    torch.testing.assert_close(torch.stack(stepped), torch.stack(expected))


@over_mixers(CAUSAL_CASES)
def test_token_by_token_a_model_says_what_it_says_of_the_whole(name, options):
    assert_steps_equal_the_whole(build(name, options))


@pytest.mark.parametrize("mixer", [name for name in MIXERS if MIXERS[name].card.causal])
def test_a_prompt_is_read_at_once(mixer, monkeypatch):
    stepper = Stepper(build(mixer), batch=2)
    for decoder in stepper.decoders:
        monkeypatch.setattr(decoder, "step", None)
    stepper.start(IDS[:, :PROMPT])


def test_a_token_alone_is_a_step(monkeypatch):
    stepper = Stepper(build("convolution"), batch=2)
    stepper.start(IDS[:, :PROMPT])
    for decoder in stepper.decoders:
        monkeypatch.setattr(decoder, "read", None)
    stepper.read(IDS[:, PROMPT : PROMPT + 1])


@pytest.mark.parametrize(
    "changes",
    [
        {"mlp_width": 0},
        {"reversible": True},
        {"norm": "batch"},
        {"norm": "rms", "positions": "sinusoidal"},
        {"positions": "rotary"},
        {"mlp_chunks": 3, "recompute": True},
    ],
    ids=str,
)
@pytest.mark.parametrize("mixer", ["transformer", "linear"])
def test_it_does_so_with_every_kind_of_layer(mixer, changes):
    model = build(mixer, **changes)
    if "norm" in changes:  # numbers that are not those of the start
        for parameter in model.backbone.encoder.parameters():
            parameter.data += 0.1
    assert_steps_equal_the_whole(model)


def test_it_carries_what_the_mixers_say():
    model = build("transformer")
    stepper = Stepper(model)
    stepper.start(IDS[:1, :9])
    mixers = model.backbone.encoder.mixers()
    assert stepper.num_bytes == sum(mixer.state_bytes(10) for mixer in mixers) > 0


def test_where_positions_are_added_it_ends_with_them():
    stepper = Stepper(build("transformer"))
    assert stepper.most_tokens == LENGTH
    stepper.start(IDS[:1])
    with pytest.raises(UserError, match="at most 64 tokens"):
        stepper.read(IDS[:1, :1])


def test_a_mixer_without_a_decoder_of_its_own_ends_too(monkeypatch):
    monkeypatch.setattr(Transformer, "decoder", Mixer.decoder)
    stepper = Stepper(build("transformer", positions="rotary"))
    assert stepper.most_tokens == LENGTH


@pytest.mark.parametrize(
    ("mixer", "positions"), [("transformer", "rotary"), ("transformer-xl", "learned")]
)
def test_without_added_positions_it_has_no_end(mixer, positions):
    stepper = Stepper(build(mixer, positions=positions))
    assert stepper.most_tokens is None
    stepper.start(IDS[:1])
    assert stepper.read(IDS[:1, :5]).isfinite().all()


def test_what_classifies_cannot_go_token_by_token():
    config = ModelConfig(mixer="linear", **SIZES)
    task = Signature(vocab_size=9, max_length=64, num_classes=2)
    with pytest.raises(UserError, match="predicts tokens"):
        Stepper(Classification().build(config, task, seed=0))


@pytest.mark.parametrize("mixer", [name for name in MIXERS if not MIXERS[name].card.causal])
def test_what_cannot_be_causal_is_refused(mixer):
    with pytest.raises(UserError, match="cannot be causal"):
        build(mixer)


LOGITS = torch.tensor([[2.0, 1.0, 0.0, -1.0]])


def drawn(sampling, number=2000, seed=0):
    rng = torch.Generator().manual_seed(seed)
    found = sampling.draw(LOGITS.expand(number, -1), rng)
    return torch.bincount(found, minlength=4) / number


def test_tokens_come_as_often_as_they_are_likely():
    expected = (LOGITS[0] / 0.5).softmax(-1)
    torch.testing.assert_close(drawn(Sampling(temperature=0.5)), expected, atol=0.03, rtol=0)


def test_only_the_likeliest_are_drawn_and_at_zero_only_the_best():
    shares = drawn(Sampling(top_k=2))
    assert shares[2:].tolist() == [0, 0]
    assert shares[1] == pytest.approx(1 / (1 + 2.718281828), abs=0.04)
    assert drawn(Sampling(temperature=0.0)).tolist() == [1, 0, 0, 0]
    assert drawn(Sampling(temperature=1e-300)).tolist() == [1, 0, 0, 0]


@pytest.mark.parametrize("wrong", [{"temperature": -1.0}, {"top_k": 0}])
def test_what_cannot_be_drawn_is_refused(wrong):
    with pytest.raises(UserError):
        Sampling(**wrong)
