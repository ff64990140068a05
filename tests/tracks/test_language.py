import bz2
import lzma
import math

import numpy as np
import pytest
import torch

from longarena.data.batches import Batch
from longarena.data.dataset import Split
from longarena.model.config import ModelConfig
from longarena.tasks.signature import Signature
from longarena.tracks.language import Language

TRACK = Language()
LENGTH, OVERLAP = 24, 10
SIGNATURE = Signature(vocab_size=257, max_length=LENGTH, track="language", overlap=OVERLAP)
TEXT = ("In the beginning was the word, and the word was b\xfcte. " * 3).encode()


def split_of(content):
    tokens = np.frombuffer(content, np.uint8)
    return Split(tokens, np.array([0, len(tokens)]), np.zeros(1, np.int64), 1)


def build(mixer="linear", **changes):
    config = ModelConfig(
        **{"mixer": mixer, "width": 16, "depth": 2, "num_heads": 2, "mlp_width": 16}
        | {"positions": "learned", "pooling": "mean", "dropout": 0.0}
        | changes
    )
    return TRACK.build(config, SIGNATURE, seed=0).double().eval()


def evaluate(model, content=TEXT, batch_size=5):
    examples = TRACK.examples(split_of(content), SIGNATURE)
    return TRACK.evaluate(model, examples, batch_size, torch.device("cpu"))


def plain_bits(model, content):
    """Predict byte after byte, each in a window of its own that ends with it."""
    bits = []
    for at, byte in enumerate(content):
        segment = at // (LENGTH - OVERLAP)
        end = min(len(content), (segment + 1) * (LENGTH - OVERLAP))
        before = content[max(0, end - LENGTH) : at]
        with torch.no_grad():
            logits = model(torch.tensor([[[other + 1 for other in before]]], dtype=torch.int64))
        chances = logits[0, -1].float().log_softmax(-1)
        bits.append(-float(chances[byte]) / math.log(2))
    return bits


@pytest.mark.parametrize("mixer", ["transformer", "s4d"])
def test_bits_per_byte_are_those_of_a_plain_loop_over_the_bytes(mixer):
    model = build(mixer)
    bits = plain_bits(model, TEXT)
    found = evaluate(model)
    assert found.tally.mean_score == pytest.approx(np.mean(bits), rel=1e-5)
    assert found.tally.mean_loss == pytest.approx(np.mean(bits) * math.log(2), rel=1e-5)
    step = LENGTH - OVERLAP
    segments = [sum(bits[at : at + step]) for at in range(0, len(bits), step)]
    assert found.scores.tolist() == pytest.approx(segments, rel=1e-4)
    error = np.std(segments) / math.sqrt(len(segments)) * len(segments) / len(bits)
    assert found.tally.error == pytest.approx(error, rel=1e-4)
    assert found.tally.numbers[-2:] == [len(TEXT), len(segments)]


def test_training_counts_every_byte_of_a_window():
    model, ids = build(), torch.tensor([[[*range(1, 9)]], [[*range(11, 19)]]])
    judged = TRACK.judge(model, Batch(ids, torch.zeros(2, dtype=torch.int64)))
    logits = model(ids[..., :-1]).float()
    loss = torch.nn.functional.cross_entropy(
        logits.flatten(0, 1), (ids - 1).flatten(), reduction="sum"
    )
    torch.testing.assert_close(judged.objective, loss)
    assert judged.tally.numbers[3] == 16


def test_only_what_is_behind_the_label_counts_and_padding_never_does():
    model = build()
    ids = torch.zeros(1, 1, 8, dtype=torch.int64)
    ids[..., :6] = torch.tensor([5, 6, 7, 8, 9, 10])
    batch = Batch(ids, torch.tensor([4]))
    assert int(TRACK.weight(batch)) == 2
    losses = -model(ids[..., :5]).float().log_softmax(-1)[0, [4, 5], [8, 9]]
    torch.testing.assert_close(TRACK.judge(model, batch).objective, losses.sum())


def test_a_later_byte_changes_no_earlier_answer():
    model, ids = build("transformer"), torch.randint(1, 257, (1, 1, LENGTH))
    other = ids.clone()
    other[..., 12] = ids[..., 12] % 256 + 1
    before, after = model(ids), model(other)
    assert torch.equal(before[:, :13], after[:, :13])
    assert not torch.equal(before[:, 13], after[:, 13])


def test_smoothing_changes_what_is_minimised_and_not_what_is_told():
    batch = Batch(torch.randint(1, 257, (2, 1, 9)), torch.tensor([0, 4]))
    plain, smooth = TRACK.judge(build(), batch), TRACK.judge(build(), batch, label_smoothing=0.1)
    assert smooth.objective != plain.objective
    assert smooth.tally.numbers == plain.tally.numbers


def test_the_level_is_what_the_training_frequencies_reach_on_the_test_bytes():
    level = TRACK.level(split_of(b"aaab"), split_of(b"abz"))
    shares = {"a": 4 / 260, "b": 2 / 260, "z": 1 / 260}
    assert level.score == pytest.approx(-sum(map(math.log2, shares.values())) / 3)
    on_train = -(3 * math.log(shares["a"]) + math.log(shares["b"])) / 4
    assert level.loss == pytest.approx(on_train)


def test_a_long_stream_is_counted_in_pieces(monkeypatch):
    whole = TRACK.level(split_of(TEXT), split_of(TEXT))
    monkeypatch.setattr("longarena.tracks.language.BLOCK", 7)
    assert TRACK.level(split_of(TEXT), split_of(TEXT)) == whole


def test_the_record_states_context_overlap_and_what_compressors_reach():
    content = TEXT * 20
    examples = TRACK.examples(split_of(content), SIGNATURE)
    details = TRACK.details(examples, None)
    assert (details["context"], details["overlap"]) == (LENGTH, OVERLAP)
    packed = 8 * len(bz2.compress(content, 9)) / len(content)
    assert details["levels"]["bzip2 -9"] == packed
    packed = 8 * len(lzma.compress(content, preset=9)) / len(content)
    assert details["levels"]["xz -9"] == pytest.approx(packed, abs=8 * 8 / len(content))


def test_the_head_does_not_share_the_embedding_and_knows_no_padding():
    model = build()
    assert model.head.output.out_features == 256
    assert model.head.output.weight is not model.backbone.embedding.token.weight


def test_an_untrained_model_is_near_eight_bits():
    assert evaluate(build()).tally.mean_score == pytest.approx(8, abs=0.5)
