"""Only what is asked counts: in the loss, its gradient, the score and its weight."""

import math

import numpy as np
import pytest
import torch
from model.cases import SIZES

from longarena.attention import CARDS
from longarena.data.batches import evaluation_batches
from longarena.data.dataset import Split
from longarena.model.config import ModelConfig
from longarena.tasks.signature import Signature
from longarena.tracks.recall import BLOCK, Recall, asked_places, count_answers

TRACK = Recall()
CPU = torch.device("cpu")
# what is read, and the token that is asked at each position (0: nothing)
READ = [[5, 6, 7, 5], [8, 5, 6], [7, 7, 8, 6, 5]]
ASKED = [[0, 6, 0, 7], [0, 0, 8], [5, 0, 7, 0, 5]]


def split_of(read, asked, dtype=np.uint8):
    rows = [row for pair in zip(read, asked, strict=True) for row in pair]
    offsets = np.cumsum([0, *map(len, rows)])
    tokens = np.concatenate([np.array(row, dtype) for row in rows])
    return Split(tokens, offsets, np.zeros(len(read), np.int64), 2)


def build(mixer="transformer", **changes):
    signature = Signature(
        vocab_size=10, max_length=64, num_sequences=2, track="recall", **{"num_asked": 3} | changes
    )
    return TRACK.build(ModelConfig(mixer=mixer, **SIZES), signature, seed=0)


def batch_of(read=READ, asked=ASKED):
    return next(evaluation_batches(split_of(read, asked), len(read)))


class Echo(torch.nn.Module):
    """Answers with the token that it reads; the first answer stands for token 1."""

    def forward(self, ids):
        places = asked_places(ids, 3)
        tokens = ids[:, 0].gather(1, places) - 1
        return 10.0 * torch.nn.functional.one_hot((tokens - 1).clamp_min(0), 8).float()


def test_score_loss_and_error_are_those_of_what_is_asked():
    found = TRACK.evaluate(Echo(), split_of(READ, ASKED), 2, CPU)
    # right: the 6 of the first row and the last 5 of the third
    assert found.scores.tolist() == [1, 0, 1]
    assert found.tally.numbers[-2:] == [6, 3]
    assert found.tally.mean_score == pytest.approx(2 / 6)
    right, wrong = np.log(1 + 7 * np.exp(-10)), 10 + np.log(1 + 7 * np.exp(-10))
    assert found.tally.mean_loss == pytest.approx((2 * right + 4 * wrong) / 6, rel=1e-4)
    # the standard error of a mean over three examples of two answers each
    assert found.tally.error == pytest.approx(math.sqrt(np.var([1, 0, 1]) / 3) / 2)


def test_the_answer_that_is_kept_is_the_last_one_as_a_token():
    found = TRACK.evaluate(Echo(), split_of(READ, ASKED), 3, CPU)
    assert found.answers.tolist() == [5, 6, 5]


def test_the_weight_is_the_number_of_what_is_asked():
    assert int(TRACK.weight(batch_of())) == 6
    assert TRACK.num_tokens(batch_of()) == sum(map(len, READ))


def test_positions_come_in_their_order_whatever_else_is_asked():
    places = asked_places(batch_of().ids, 3)  # the shortest row comes first
    assert places[2].tolist() == [0, 2, 4]
    assert places[1, :2].tolist() == [1, 3]
    assert places[0, 0] == 2
    assert asked_places(batch_of().ids, None).shape == batch_of().ids[:, 0].shape


def test_no_gradient_comes_from_a_position_that_is_not_asked():
    model, batch, caught = build(), batch_of(), []
    model.backbone.register_forward_hook(lambda module, given, found: caught.append(found[0]))
    judged = TRACK.judge(model, batch)
    (gradient,) = torch.autograd.grad(judged.objective, caught[0])
    is_asked = batch.ids[:, 1] > 1
    assert (gradient[is_asked].abs().sum(dim=-1) > 0).all()
    assert (gradient[~is_asked] == 0).all()


@pytest.mark.parametrize("mixer", [name for name, card in CARDS.items() if card.causal])
def test_what_comes_after_a_question_does_not_change_its_answer(mixer):
    model = build(mixer, num_asked=None).eval()
    asked = [[0, 6, 0, 0, 0, 0]]
    first, other = ([[5, 6, *rest]] for rest in ([7, 5, 8, 8], [6, 6, 5, 7]))
    with torch.inference_mode():
        answers = [model(batch_of(read, asked).ids)[:, 0] for read in (first, other)]
    torch.testing.assert_close(*answers)


def test_answers_where_nothing_is_asked_need_not_be_computed():
    everywhere, asked = (build(num_asked=number).eval() for number in (None, 3))
    one, other = (TRACK.judge(model, batch_of()) for model in (everywhere, asked))
    torch.testing.assert_close(one.objective, other.objective)
    assert one.tally.numbers == pytest.approx(other.tally.numbers)


def test_smoothing_changes_what_is_minimised_and_not_what_is_told():
    plain, smooth = (TRACK.judge(Echo(), batch_of(), label_smoothing=s) for s in (0.0, 0.1))
    assert smooth.objective != plain.objective
    assert smooth.tally.numbers == plain.tally.numbers


def test_the_level_is_the_commonest_answer_of_train_scored_on_test():
    train = split_of(READ, ASKED)  # asked: 6 7 8 5 7 5
    test = split_of([[1, 1, 1, 1]], [[5, 7, 5, 8]])
    level = TRACK.level(train, test)
    assert level.score == 2 / 4  # 5 and 7 are equally common; the smaller is taken
    shares = np.array([2, 2, 1, 1]) / 6
    assert level.loss == pytest.approx(-(shares * np.log(shares)).sum())


def test_answers_are_counted_over_all_blocks_of_a_split_and_all_tokens():
    number = BLOCK + 7
    split = split_of([[1, 2]] * number, [[0, 700]] * number, np.uint16)
    counts = count_answers(split)
    assert counts[700] == counts.sum() == number
