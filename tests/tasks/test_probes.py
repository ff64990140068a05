"""Every probe is solved by a plain program that knows its rule and looks back only."""

import re

import numpy as np
import pytest

from longarena.data.dataset import collect
from longarena.errors import UserError
from longarena.tasks import build
from longarena.tasks.passkey import FILLER, FIXED
from longarena.tasks.questions import distinct, doubled
from longarena.tasks.recall import Recall

SMALL = {
    "recall": {"length": 40, "pairs": 8, "vocabulary": 600},
    "selective-copy": {"length": 50, "kept": 9, "vocabulary": 12},
    "induction": {"length": 70, "vocabulary": 9},
    "passkey": {"length": 200},
}
PROBES = list(SMALL)
SPLITS = ("train", "valid", "test")


def examples(name, number=300, split="train", **options):
    task = build(name, SMALL[name] | options)
    found = collect((chunk for _, chunk in task.generate({split: number})), 2)
    return [(found.sequence(i, 0).tolist(), found.sequence(i, 1).tolist()) for i in range(number)]


def labels(name, number=300, **options):
    task = build(name, SMALL[name] | options)
    return collect((chunk for _, chunk in task.generate({"train": number})), 2).labels


def are_drawn_by(counts, expected=None):
    """Compare counts with what is expected, by default all the same (Pearson's statistic)."""
    expected = np.mean(counts) if expected is None else expected
    freedom = len(counts) - 1
    # its mean is the degrees of freedom, its variance twice as many
    return ((counts - expected) ** 2 / expected).sum() < freedom + 4 * np.sqrt(2 * freedom)


def solve_recall(read, at):
    """Look for the key among the pairs at the beginning."""
    pairs = dict(zip(read[0:16:2], read[1:16:2], strict=True))
    return pairs[read[at]]


def solve_selective_copy(read, at):
    """Count the markers, and take the data token of that number."""
    data = [token for token in read if token not in (0, 11)]
    return data[read[: at + 1].count(11) - 1]


def solve_induction(read, at):
    """Look for the special token, which must come exactly once before."""
    assert read[:at].count(0) == 1
    return read[read.index(0) + 1]


def solve_passkey(read, at):
    """Find the key by its sentence, and see how much of it was repeated."""
    text = bytes(read[: at + 1]).decode()
    key = re.search(r"pass key is (\d{5})\. Remember it\. \1 is the pass key\.", text)[1]
    repeated = re.search(r"What is the pass key\? The pass key is (\d*)$", text)[1]
    assert key.startswith(repeated)
    return ord(key[len(repeated)])


SOLVERS = {
    "recall": solve_recall,
    "selective-copy": solve_selective_copy,
    "induction": solve_induction,
    "passkey": solve_passkey,
}


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("name", PROBES)
def test_who_knows_the_rule_answers_everything(name, split):
    number = build(name, SMALL[name]).signature.num_asked
    for read, asked in examples(name, split=split):
        places = [at for at, token in enumerate(asked) if token]
        assert len(places) == number
        assert len(read) == len(asked) == SMALL[name]["length"]
        assert [SOLVERS[name](read, at) for at in places] == [asked[at] for at in places]


@pytest.mark.parametrize("name", PROBES)
def test_what_is_drawn_first_does_not_depend_on_how_much_follows(name):
    assert examples(name, 3) == examples(name, 600)[:3]


@pytest.mark.parametrize("name", PROBES)
def test_every_split_has_a_stream_of_its_own(name):
    rows = [set(map(str, examples(name, split=split))) for split in SPLITS]
    assert len(set.union(*rows)) == sum(map(len, rows)) == 900


def test_keys_and_values_are_different_and_of_their_halves():
    for read, _ in examples("recall"):
        keys, values = read[0:16:2], read[1:16:2]
        assert len(set(keys)) == len(set(values)) == 8
        assert all(1 <= key < 300 for key in keys)
        assert all(300 <= value < 600 for value in values)


def test_filler_is_drawn_from_the_whole_vocabulary():
    found = [
        token
        for read, asked in examples("recall", 500)
        for token, answer in zip(read[16:], asked[16:], strict=True)
        if not answer
    ]
    counts = np.bincount(found, minlength=600)
    assert are_drawn_by(counts.reshape(20, 30).sum(axis=1))
    assert found.count(0)


def test_the_first_key_stands_where_the_power_law_puts_it():
    """Distances are even; of the slots 1 ... 12 behind the pairs, slot k has p ~ k^(a - 1)."""
    for power in (0.01, 1.0):
        slots = [
            next(at for at in range(16, 40) if asked[at] and read[at] == read[0]) - 16
            for read, asked in examples("recall", 4000, power=power)
        ]
        assert not any(slot % 2 for slot in slots)
        weights = np.arange(1, 13) ** (power - 1)
        expected = 4000 * weights / weights.sum()
        counts = np.bincount(np.array(slots) // 2, minlength=12)
        assert are_drawn_by(counts, expected)


def test_slots_are_taken_one_after_the_other_without_putting_back():
    """The second key's slot, given that of the first."""
    task = Recall(build("recall", {"length": 16, "pairs": 2, "vocabulary": 8}).options)
    slots = task._slots(np.random.default_rng(0), 60_000)
    weights = np.arange(1, 7) ** (0.01 - 1)
    second = slots[slots[:, 0] == 0, 1]
    left = weights[1:]
    counts = np.bincount(second, minlength=6)
    assert counts[0] == 0
    assert are_drawn_by(counts[1:], len(second) * left / left.sum())


def test_distinct_numbers_are_drawn_evenly_and_in_any_order():
    rows = distinct(np.random.default_rng(1), 20_000, 3, 5, 9)
    assert all(len(set(row)) == 3 for row in rows.tolist())
    codes = np.unique(rows, axis=0, return_counts=True)[1]
    assert len(codes) == 4 * 3 * 2
    assert are_drawn_by(codes)
    assert sorted(distinct(np.random.default_rng(1), 1, 4, 0, 4)[0].tolist()) == [0, 1, 2, 3]


def test_data_stands_anywhere_before_the_markers():
    places = [
        at for read, _ in examples("selective-copy") for at, token in enumerate(read[:41]) if token
    ]
    assert are_drawn_by(np.bincount(places, minlength=41))
    assert {token for read, _ in examples("selective-copy") for token in read} == set(range(12))


def test_the_special_token_stands_anywhere_but_right_before_the_end():
    places = [read.index(0) for read, _ in examples("induction", 4000)]
    assert are_drawn_by(np.bincount(places))
    assert max(places) == 70 - 3


@pytest.mark.parametrize("name", ["induction", "passkey"])
def test_the_label_is_the_tenth_in_which_the_answer_stands(name):
    found = labels(name, 2000)
    assert set(found.tolist()) == set(range(10))
    for (read, _), depth in zip(examples(name), found, strict=False):
        is_text = name == "passkey"
        place = bytes(read).find(b"\nThe pass") if is_text else read.index(0)
        room = 200 - FIXED + 1 if is_text else 68
        assert 10 * place // room == depth


def test_no_key_of_one_split_is_in_another_and_all_are_drawn():
    keys = {
        split: {bytes(asked[-5:]) for _, asked in examples("passkey", 2000, split)}
        for split in SPLITS
    }
    assert not keys["train"] & keys["test"]
    assert not keys["train"] & keys["valid"]
    assert not keys["valid"] & keys["test"]
    first_digits = {key[0] for found in keys.values() for key in found}
    assert bytes(sorted(first_digits)) == b"0123456789"


def test_the_text_around_a_key_begins_anew_behind_it():
    for read, _ in examples("passkey", 20):
        before, _, after, _ = bytes(read).decode().split("\n")
        assert (FILLER * 3).startswith(before)
        assert (FILLER * 3).startswith(after)


def test_a_key_may_be_hidden_in_nothing_but_its_question():
    (read, asked) = examples("passkey", 1, length=FIXED)[0]
    assert solve_passkey(read, FIXED - 1) == asked[-1]


@pytest.mark.parametrize(
    ("name", "options", "answer"),
    [
        ("recall", {"pairs": 11}, "need a length of 44"),
        ("recall", {"vocabulary": 16}, "need a vocabulary of 18"),
        ("recall", {"length": 41}, "multiple of 2"),
        ("selective-copy", {"kept": 26}, "need a length of 52"),
        ("passkey", {"length": 90}, f"need a length of {FIXED}"),
    ],
)
def test_what_does_not_fit_is_refused_with_what_would(name, options, answer):
    with pytest.raises(UserError, match=answer):
        build(name, SMALL[name] | options)


def test_a_task_of_another_length_has_the_same_model():
    task = build("induction", {"length": 64, "longest": 512})
    assert task.tested_lengths == (64, 128, 256, 512)
    longer = task.at_length(512)
    assert longer.signature == task.signature
    chunk = next(chunk for _, chunk in longer.generate({"test": 2}))
    assert set(chunk.lengths.tolist()) == {512}


def test_lengths_that_are_tested_begin_where_there_is_room():
    assert build("passkey", {"length": 200, "longest": 512}).tested_lengths == (128, 200, 256, 512)
    assert doubled(64, 64) == (64,)
    with pytest.raises(UserError, match="recall cannot be asked at a chosen length"):
        build("recall", {}).at_length(64)


@pytest.mark.parametrize("name", PROBES)
def test_a_person_sees_question_and_answer(name):
    task = build(name, build(name, {}).sample_options)
    chunk = next(chunk for _, chunk in task.generate({"train": 1}))
    read, asked = np.split(chunk.tokens[: 2 * chunk.lengths[0]], 2)
    text = task.describe([read, asked], int(chunk.labels[0]))
    wanted = asked[asked > 0].tolist()
    if name == "recall":
        assert text.split("asked")[1].replace(".", "").split() == [str(token) for token in wanted]
    elif name == "passkey":
        assert text.endswith(bytes(wanted).decode())
    else:
        spelt = "".join(chr(ord("a") + token - 1) for token in wanted)
        assert "".join(text.split("asked")[1].replace(".", "").split()) == spelt
