import numpy as np
import pytest
from data.test_batches import LENGTHS, split_of

from longarena.data.sample import sample

pytestmark = pytest.mark.shapes


def numbers(split):
    """Example i is made of the byte i."""
    return [int(split.sequence(example)[0]) for example in range(len(split))]


def test_a_sample_has_the_examples_of_the_split_in_their_order():
    split = split_of(LENGTHS)
    part = sample(split, 30)
    chosen = numbers(part)
    assert len(set(chosen)) == len(part) == 30
    assert chosen == sorted(chosen)
    assert part.lengths.tolist() == split.lengths[chosen].tolist()
    assert part.labels.tolist() == split.labels[chosen].tolist()


def test_it_is_the_same_every_time_and_spread_over_the_split():
    chosen = numbers(sample(split_of(LENGTHS), 30))
    assert chosen == numbers(sample(split_of(LENGTHS), 30))
    assert min(chosen) < 20
    assert max(chosen) >= 80


def test_a_larger_sample_holds_the_smaller_one():
    split = split_of(LENGTHS)
    assert set(numbers(sample(split, 10))) < set(numbers(sample(split, 30)))


def test_the_sequences_of_a_pair_stay_together():
    split = split_of(LENGTHS, num_sequences=2)
    part = sample(split, 20)
    firsts = numbers(part)
    assert [int(part.sequence(i, 1)[0]) for i in range(20)] == [first + 1 for first in firsts]
    assert all(first % 2 == 0 for first in firsts)
    assert part.num_tokens.tolist() == split.num_tokens[np.array(firsts) // 2].tolist()


@pytest.mark.parametrize("number", [None, 100, 1000])
def test_without_a_number_or_with_too_large_a_one_it_is_the_split_itself(number):
    split = split_of(LENGTHS)
    assert sample(split, number) is split
