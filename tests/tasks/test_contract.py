"""What every task in the table keeps, present and future."""

import hashlib

import numpy as np
import pytest
from tasks.sources import SMALL, TEXT

from longarena.tasks import TASKS, build
from longarena.tasks.base import SPLITS
from longarena.tasks.enwik8 import Enwik8
from longarena.tasks.prepare import prepare
from longarena.tasks.stream import Stream

SIZE = 0.0005
GENERATED = [name for name, kind in TASKS.items() if kind.is_generated]
# of the first hundred training examples; a change of the data raises the version of the card
CHECKSUMS = {
    "listops": "6d56874e9f082f15",
    "pathfinder": "ed6ded033f0c73a5",
    "path-x": "7c88311a26b9ca00",
    "pathfinder-64": "9d0933dc3a207991",
    "pathfinder-256": "0c6fb8754121ea8c",
    "recall": "5f2a4ca6a0940c39",
    "selective-copy": "3ced768777312df6",
    "induction": "52a5a3bb1b071ea1",
    "passkey": "2ff395536d9bd3cb",
}


@pytest.fixture(scope="module", params=TASKS)
def name(request):
    return request.param


@pytest.fixture(autouse=True, scope="module")
def small_enwik8():
    """Take a short text for enwik8."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Enwik8, "num_bytes", len(TEXT))
        patch.setattr(Enwik8, "checksum", hashlib.md5(TEXT).hexdigest())
        yield


@pytest.fixture(scope="module")
def prepared(name, tmp_path_factory):
    """The task, and its store: a small share if generated, a small source otherwise."""
    folder = tmp_path_factory.mktemp(name)
    if TASKS[name].is_generated:
        task = build(name, {}, SIZE)
        return task, prepare(task, folder)
    store = prepare(build(name, {}), folder, SMALL[name](folder))
    return build(name, {}, data="small"), store


def rows(store, split):
    examples = store.split(split)
    return [
        tuple(examples.sequence(i, which).tobytes() for which in range(store.num_sequences))
        for i in range(len(examples))
    ]


def test_the_card_is_complete(name):
    task = build(name, {})
    card, signature = task.card, task.signature
    assert card.name == name
    assert card.version >= 1
    assert set(card.sizes) == set(SPLITS)
    assert min(card.sizes.values()) > 0
    texts = [card.title, card.question, card.splits, card.source, card.licence, card.citation]
    assert all(texts)
    if card.image_shape:
        assert signature.max_length == np.prod(card.image_shape)


def test_every_split_has_its_size(prepared):
    task, store = prepared
    assert list(store.sizes) == list(SPLITS)
    assert {split: len(store.split(split)) for split in SPLITS} == store.sizes
    if task.is_generated:
        assert store.sizes == task.sizes


@pytest.mark.parametrize("split", SPLITS)
def test_labels_tokens_and_lengths_are_in_range(prepared, split):
    task, store = prepared
    examples = store.split(split)
    assert store.num_sequences == task.signature.num_sequences
    assert examples.labels.min() >= 0
    if task.signature.num_classes is not None:
        assert examples.labels.max() < task.signature.num_classes
    assert int(examples.tokens.max()) + 1 < task.signature.vocab_size
    # a stream is read in windows
    assert isinstance(task, Stream) or examples.lengths.max() <= task.signature.max_length
    if task.card.image_shape:
        assert (examples.lengths == task.signature.max_length).all()


@pytest.mark.parametrize("split", SPLITS)
def test_no_example_asks_more_than_the_signature_says(prepared, split):
    task, store = prepared
    examples = store.split(split)
    if task.signature.track == "recall":
        asked = [np.count_nonzero(examples.sequence(i, 1)) for i in range(len(examples))]
        assert 0 < min(asked) <= max(asked) <= task.signature.num_asked


def test_no_example_is_in_two_splits(prepared):
    _, store = prepared
    found = [set(rows(store, split)) for split in SPLITS]
    assert sum(map(len, found)) == len(set.union(*found))


def test_the_same_data_comes_again(name, prepared, tmp_path):
    _, store = prepared
    if TASKS[name].is_generated:
        again = prepare(build(name, {}, SIZE), tmp_path)
    else:
        again = prepare(build(name, {}), tmp_path, SMALL[name](tmp_path))
    assert again.fingerprint == store.fingerprint


def test_an_example_can_be_described(prepared):
    task, store = prepared
    examples = store.split("train")
    sequences = [examples.sequence(0, which) for which in range(store.num_sequences)]
    text = task.describe(sequences, int(examples.labels[0]))
    assert len(text.splitlines()) > 1


@pytest.mark.parametrize("name", GENERATED)
def test_generated_data_is_the_same_on_every_machine(name):
    parts = [chunk for _, chunk in build(name, {}).generate({"train": 100})]
    digest = hashlib.sha256()
    for array in ("tokens", "lengths", "labels"):
        digest.update(np.concatenate([getattr(part, array) for part in parts]).tobytes())
    assert digest.hexdigest()[:16] == CHECKSUMS[name]
