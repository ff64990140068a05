"""Tokens are shuffled in one way, always the same, and nothing else of an example changes."""

import numpy as np
import pytest

from longarena.data.batches import TrainingBatches, evaluation_batches
from longarena.data.dataset import Chunk, collect
from longarena.data.part import Part
from longarena.data.sample import sample
from longarena.data.shuffle import Shuffle, ShuffledSplit
from longarena.errors import UserError

LENGTHS = [30, 5, 64, 1, 17, 50]
TOKENS = np.arange(50, dtype=np.uint8)


def blocks(tokens, size=8):
    return [tokens[i : i + size].tolist() for i in range(0, len(tokens), size)]


@pytest.fixture(params=[1, 2], ids=["sequences", "pairs"])
def split(request):
    texts = [bytes(range(n)) for n in LENGTHS]
    examples = [texts[i : i + request.param] for i in range(0, len(texts), request.param)]
    return collect((Chunk.of(each, i) for i, each in enumerate(examples)), request.param)


@pytest.mark.parametrize("text", ["all", "across-8", "within-8"])
def test_every_token_is_kept_and_the_order_is_another(text):
    found = Shuffle.of(text)(TOKENS)
    assert sorted(found.tolist()) == TOKENS.tolist() != found.tolist()


def test_across_blocks_the_order_inside_a_block_stays():
    found = Shuffle.of("across-8")(TOKENS).tolist()
    starts = [at for at, token in enumerate(found) if token % 8 == 0]
    pieces = [found[i:j] for i, j in zip(starts, [*starts[1:], len(found)], strict=True)]
    assert sorted(pieces) == blocks(TOKENS) != pieces


def test_within_blocks_every_block_stays_where_it_is():
    found = blocks(Shuffle.of("within-8")(TOKENS))
    assert [sorted(block) for block in found] == blocks(TOKENS)
    assert all(block != sorted(block) for block in found[:-1])


def test_the_order_never_changes():
    # a change here changes the data of every shuffled run
    assert Shuffle.of("all")(TOKENS[:10]).tolist() == [5, 3, 0, 1, 2, 8, 6, 7, 9, 4]
    assert Shuffle.of("across-2")(TOKENS[:10]).tolist() == [6, 7, 2, 3, 0, 1, 8, 9, 4, 5]
    assert Shuffle.of("within-5")(TOKENS[:10]).tolist() == [3, 0, 1, 2, 4, 5, 8, 6, 7, 9]


def test_it_follows_from_the_tokens_in_whatever_type_they_are():
    shuffle = Shuffle.of("all")
    assert shuffle(TOKENS).tolist() == shuffle(TOKENS.astype(np.uint16)).tolist()
    other = TOKENS.copy()
    other[0] = 200
    assert np.argsort(shuffle(TOKENS)).tolist() != np.argsort(shuffle(other)).tolist()


def test_lengths_labels_and_padding_stay(split):
    found = ShuffledSplit.of(split, Shuffle.of("all"))
    np.testing.assert_array_equal(found.lengths, split.lengths)
    np.testing.assert_array_equal(found.num_tokens, split.num_tokens)
    for ours, theirs in zip(
        evaluation_batches(found, 2), evaluation_batches(split, 2), strict=True
    ):
        assert ours.labels.equal(theirs.labels)
        assert (ours.ids == 0).equal(theirs.ids == 0)
        assert ours.ids.sort().values.equal(theirs.ids.sort().values)
        assert not ours.ids.equal(theirs.ids)


def test_a_part_a_sample_and_every_epoch_are_shuffled_alike(split):
    shuffle = Shuffle.of("within-8")
    whole = ShuffledSplit.of(split, shuffle)
    part = ShuffledSplit.of(Part.of(split, np.array([2]), 64), shuffle)
    assert part.sequence(0).tolist() == whole.sequence(2).tolist()
    again = ShuffledSplit.of(sample(split, 2), shuffle)
    assert sample(whole, 2).sequence(1).tolist() == again.sequence(1).tolist()
    batches = TrainingBatches(whole, len(whole), seed=0)
    first, later = ({tuple(row) for row in batches[t].ids.flatten(1).tolist()} for t in (0, 5))
    assert first == later


@pytest.mark.parametrize("text", ["al", "across", "within-1", "within-0", "across-08", "all-4", ""])
def test_another_word_is_refused(text):
    with pytest.raises(UserError, match="choose all, across-64 or within-64"):
        Shuffle.of(text)
