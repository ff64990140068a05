"""The track of pairs of sentences: loss per token, BLEU of what is written."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from model.translations import build, config, sentences, signature

from longarena.data.batches import Batch
from longarena.data.parallel import Parallel
from longarena.data.tokens import ByteTokeniser
from longarena.model.decoding import Decoding
from longarena.model.translation import TARGET, finish
from longarena.tracks.bleu import score
from longarena.tracks.translation import Translation, target_counts

IDS = sentences((7, 5), (3, 9), (10, 1))
BATCH = Batch(IDS, torch.arange(3))
CPU = torch.device("cpu")
PAIRS = [("ein Hund", "a dog runs"), ("zwei Hunde laufen", "two dogs run"), ("ja", "yes it is")]


@pytest.fixture
def split(tmp_path):
    return parallel(PAIRS, tmp_path)


def parallel(pairs, folder):
    files = folder / "source.txt", folder / "target.txt"
    for side, path in enumerate(files):
        path.write_text("".join(f"{pair[side]}\n" for pair in pairs))
    rows = [text.encode() for pair in pairs for text in pair]
    offsets = np.cumsum([0, *map(len, rows)])
    tokens = np.frombuffer(b"".join(rows), np.uint8)
    return Parallel(tokens, offsets, np.arange(len(pairs)), 2, *files, ByteTokeniser())


def test_the_loss_is_that_of_every_target_token_with_its_end():
    model = build()
    with torch.no_grad():
        judged = Translation().judge(model, BATCH)
        log_p = model(IDS).log_softmax(dim=-1)
    expected = 0.0
    for row, length in enumerate((5, 9, 1)):
        asked = [*IDS[row, TARGET, :length].tolist(), model.end]
        expected -= sum(float(log_p[row, at, each - 1]) for at, each in enumerate(asked))
    assert float(judged.objective) == pytest.approx(expected)
    assert int(Translation().weight(BATCH)) == 5 + 9 + 1 + 3
    assert judged.tally.mean_loss == pytest.approx(expected / 18)


def test_smoothing_is_torchs_and_leaves_the_recorded_loss_alone():
    model = build()
    with torch.no_grad():
        plain, smooth = (Translation().judge(model, BATCH, each) for each in (0.0, 0.1))
        logits, asked = model(IDS), finish(IDS[:, TARGET], model.end) - 1
    expected = F.cross_entropy(
        logits.flatten(0, 1).float(),
        asked.flatten(),
        ignore_index=-1,
        reduction="sum",
        label_smoothing=0.1,
    )
    assert float(smooth.objective) == pytest.approx(float(expected), rel=1e-5)
    assert smooth.tally.mean_loss == plain.tally.mean_loss


def test_an_evaluation_scores_what_was_written_against_the_lines(split):
    model = build(asked=signature(vocab_size=257, max_length=64))
    found = Translation().evaluate(model, split, 2, CPU)
    again = score(found.texts, split.references)
    assert found.value == again.value
    assert found.error == again.standard_error
    assert found.facts["signature"] == again.signature
    assert len(found.texts) == len(found.scores) == 3
    assert [len(text) > 0 for text in found.texts] == [True] * 3
    # weight and examples are as everywhere
    assert found.tally.numbers[3:] == [sum(len(pair[1]) + 1 for pair in PAIRS), 3]


def test_texts_are_in_the_order_of_the_dataset(split, monkeypatch):
    model = build(asked=signature(vocab_size=257, max_length=64))
    found = Translation().evaluate(model, split, 2, CPU)
    for number in range(3):
        alone = Translation().evaluate(model, split.chosen(np.array([number])), 1, CPU)
        assert alone.texts == found.texts[number : number + 1]


def test_the_test_uses_the_beam_of_the_recipe_and_validation_is_greedy(split):
    model = build(asked=signature(vocab_size=257, max_length=64))
    plain, tester = Translation(), Translation().with_decoding(Decoding(beam=3))
    assert plain.evaluate(model, split, 3, CPU).facts["beam"] == 1
    assert tester.evaluate(model, split, 3, CPU).facts["beam"] == 3


def test_details_hold_translations_to_read(split):
    model = build(asked=signature(vocab_size=257, max_length=64))
    found = Translation().evaluate(model, split, 3, CPU)
    details = Translation().details(split, found)
    shown = details["translations"]
    assert [each["source"] for each in shown] == [pair[0] for pair in PAIRS]
    assert [each["reference"] for each in shown] == [pair[1] for pair in PAIRS]
    assert [each["translation"] for each in shown] == list(found.texts)


def test_the_level_is_the_source_itself(tmp_path):
    same = parallel([("the same words as there", "the same words as there")] * 3, tmp_path)
    assert Translation().level(same, same).score == pytest.approx(100)
    counts = target_counts(same)
    shares = counts[counts > 0] / counts.sum()
    assert counts.sum() == 3 * (23 + 1)
    assert Translation().level(same, same).loss == pytest.approx(-(shares @ np.log(shares)))


def test_batches_are_padded_to_a_few_tokens(split):
    asked = signature(vocab_size=257, max_length=64)
    batches = Translation().training_batches(split, asked, 3, seed=0)
    assert batches[0].ids.shape == (3, 2, 20)  # the longest has 17 bytes
    assert 0 < batches.padding_share() < 0.6


@pytest.mark.slow
def test_it_learns_to_reverse_words_and_greedy_search_shows_it(tmp_path):
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("abcd"), rng.integers(2, 6))) for _ in range(256)]
    whole = parallel([(word, word[::-1]) for word in words], tmp_path)
    track = Translation()
    asked = signature(vocab_size=257, max_length=8)
    model = track.build(config(width=32, mlp_width=64, dropout=0.0), asked, seed=0)
    optimiser = torch.optim.Adam(model.parameters(), lr=3e-3)
    batches = track.training_batches(whole, asked, 64, seed=0)
    for step in range(300):
        judged = track.judge(model.train(), batches[step])
        optimiser.zero_grad()
        (judged.objective / track.weight(batches[step])).backward()
        optimiser.step()
    found = track.evaluate(model, whole.chosen(np.arange(32)), 16, CPU)
    right = sum(text == word[::-1] for text, word in zip(found.texts, words, strict=False))
    assert right >= 24
    assert math.isfinite(found.value)
