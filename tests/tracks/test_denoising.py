"""A hidden token is asked and not seen; only hidden tokens count."""

import math

import numpy as np
import pytest
import torch
from model.cases import SIZES

from longarena.data.batches import evaluation_batches
from longarena.data.dataset import Split
from longarena.data.masking import HIDDEN, masked_examples
from longarena.model.config import ModelConfig
from longarena.tasks.signature import Signature
from longarena.tracks import track_of
from longarena.tracks.denoising import hidden_ids

CPU = torch.device("cpu")
ROWS = [[4, 4, 5, 6, 4, 4], [7, 4, 4, 4], [4, 8]]


def split_of(rows, num_sequences=1):
    offsets = np.cumsum([0, *map(len, rows)])
    tokens = np.concatenate([np.array(row, np.uint8) for row in rows])
    return Split(tokens, offsets, np.zeros(len(rows) // num_sequences, np.int64), num_sequences)


def signature(track="denoising", **changes):
    given = {"vocab_size": 12, "max_length": 64, "num_classes": 2, "masked_share": 0.5}
    return Signature(**given | {"track": track, "has_values": True} | changes)


def batch_of(rows=ROWS, num_sequences=1):
    split = masked_examples(split_of(rows, num_sequences), 0.5, most=10)
    return next(evaluation_batches(split, len(split)))


def build(track="denoising", mixer="transformer", num_sequences=1, **changes):
    asked = signature(track, num_sequences=num_sequences)
    config = ModelConfig(mixer=mixer, **SIZES | changes)
    return track_of(asked), track_of(asked).build(config, asked, seed=0).eval()


CASES = {
    "ids": {},
    "values": {"input": "value"},
    "cls": {"pooling": "cls"},
    "global tokens": {"mixer": "longformer", "input": "value"},
    "no positions": {"positions": "none"},
}


@torch.no_grad()
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("track", ["denoising", "value-denoising"])
def test_what_is_hidden_is_not_seen_and_the_rest_is(case, track):
    _, model = build(track, **CASES[case])
    ids = batch_of().ids
    answers = model(ids)
    other = torch.where(ids >= HIDDEN, HIDDEN + 1, ids)
    assert model(other).equal(answers)
    shown = torch.where((ids > 0) & (ids < HIDDEN), 9, ids)
    assert not torch.allclose(model(shown), answers)


@torch.no_grad()
@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_answers_are_those_of_the_hidden_places_in_their_order(pooling):
    _, model = build(pooling=pooling)
    ids = batch_of().ids
    tokens, _ = model.backbone(ids[:, 0], model.mask_vector)
    num_before = tokens.shape[1] - ids.shape[2]
    assert num_before == (pooling == "cls")
    everywhere = model.head(tokens[:, num_before:])
    found = model(ids)
    for row, answers in enumerate(found):
        at = torch.where(ids[row, 0] >= HIDDEN)[0]
        torch.testing.assert_close(answers[: len(at)], everywhere[row, at])


def test_the_mask_vector_learns_and_is_no_part_of_the_backbone():
    track, model = build()
    track.judge(model.train(), batch_of()).objective.backward()
    assert model.mask_vector.grad.abs().sum() > 0
    assert not [name for name in model.backbone.state_dict() if "mask" in name]


class Always(torch.nn.Module):
    """Gives every hidden token the same answer, as a model of these ids would."""

    def __init__(self, answer, outputs):
        super().__init__()
        self.answer, self.outputs = answer, outputs

    def forward(self, ids):
        number = int((ids >= HIDDEN).sum(dim=2).max())
        rows = torch.zeros(ids.shape[0] * ids.shape[1], number, self.outputs)
        if self.outputs == 1:
            return rows + self.answer
        return rows + 10.0 * torch.nn.functional.one_hot(torch.tensor(self.answer), self.outputs)


@pytest.mark.parametrize("num_sequences", [1, 2])
def test_score_loss_and_weight_are_those_of_the_hidden_tokens(num_sequences):
    rows = ROWS if num_sequences == 1 else [*ROWS, [4] * 6]
    track = track_of(signature())
    split = track.examples(split_of(rows, num_sequences), signature())
    hidden = [token - HIDDEN for token in split.tokens.tolist() if token >= HIDDEN]
    found = track.evaluate(Always(4, 11), split, 2, CPU)
    assert found.tally.numbers[-2:] == [len(hidden), len(split)]
    assert found.value == hidden.count(4) / len(hidden)
    wrong, right = len(hidden) - hidden.count(4), math.log(1 + 10 * math.exp(-10))
    assert found.tally.mean_loss == pytest.approx(right + 10 * wrong / len(hidden), rel=1e-4)
    batch = next(evaluation_batches(split, len(split)))
    assert int(track.weight(batch)) == len(hidden)
    assert track.num_tokens(batch) == sum(map(len, rows))


def test_the_error_of_values_is_a_share_of_their_range():
    track = track_of(signature("value-denoising"))
    split = track.examples(split_of(ROWS), signature())
    hidden = [token - HIDDEN for token in split.tokens.tolist() if token >= HIDDEN]
    # the tokens 0 ... 10 stand for -1 ... 1, so 0 is token 5
    found = track.evaluate(Always(0.0, 1), split, 3, CPU)
    steps = sum(abs(token - 5) for token in hidden) / len(hidden)
    assert found.value == pytest.approx(steps / 10)
    assert found.tally.mean_loss == pytest.approx(2 * steps / 10)
    assert not track.metric.is_better(found.value, 0.0)


def test_the_level_is_that_of_the_commonest_token():
    level = track_of(signature()).level(split_of(ROWS), split_of([[4, 4, 9, 9], [9, 9]]))
    assert level.score == pytest.approx(2 / 6)
    shares = np.array([8, 1, 1, 1, 1]) / 12
    assert level.loss == pytest.approx(-(shares * np.log(shares)).sum())


def test_the_level_of_values_is_that_of_the_median():
    train, test = split_of([[2, 3, 3, 3, 9]]), split_of([[3, 5], [1]])
    level = track_of(signature("value-denoising")).level(train, test)
    assert level.score == pytest.approx((0 + 2 + 2) / 3 / 10)
    assert level.loss == pytest.approx(2 * (1 + 0 + 0 + 0 + 6) / 5 / 10)


def test_a_batch_of_empty_examples_has_no_loss_and_a_weight():
    track, model = build()
    batch = batch_of([[], []])
    assert int(track.weight(batch)) == 1
    assert float(track.judge(model, batch).objective.detach()) == 0


def test_a_signature_that_hides_nothing_is_refused():
    with pytest.raises(ValueError, match="not a share"):
        track_of(signature(masked_share=0.0))


def test_hidden_ids_come_in_their_order():
    ids = torch.tensor([[[5, HIDDEN + 7, 0], [HIDDEN + 1, HIDDEN + 2, 3]]])
    assert hidden_ids(ids, 2).tolist() == [[7, 0], [1, 2]]
