"""Spoken digits: the official test set, values of the right scale, shorter versions."""

import numpy as np
import pytest
from tasks.sources import spoken_digits, wav, write_tar, write_tree

from longarena.errors import UserError
from longarena.tasks import build
from longarena.tasks.prepare import prepare


@pytest.fixture
def source(tmp_path):
    return write_tar(tmp_path / "small.tar.gz", spoken_digits())


def test_the_first_five_recordings_of_each_digit_and_speaker_are_the_test(source, tmp_path):
    data = prepare(build("digits", {}), tmp_path, source)
    # of the indices 3 to 11, two are in the test
    assert data.sizes == {"train": 130, "valid": 10, "test": 40}
    test = data.split("test")
    assert sorted(test.lengths.tolist()) == sorted(
        40 + 2 * digit + index for digit in range(10) for index in (3, 4) for _ in range(2)
    )
    for split in ("train", "valid", "test"):
        assert len(set(np.bincount(data.split(split).labels).tolist())) == 1


def test_the_loudest_sample_is_an_end_of_the_scale(source, tmp_path):
    task = build("digits", {})
    train = prepare(task, tmp_path, source).split("train")
    half = (task.signature.vocab_size - 2) / 2
    for i in range(len(train)):
        assert np.abs(train.sequence(i) - half).max() == half


def test_an_archive_and_its_folder_give_the_same_data(source, tmp_path):
    members = dict(reversed(spoken_digits().items()))
    folder = write_tree(tmp_path / "small", members)
    one = prepare(build("digits", {}), tmp_path / "one", source)
    assert prepare(build("digits", {}), tmp_path / "other", folder).fingerprint == one.fingerprint


def test_recordings_can_be_shortened(source, tmp_path):
    task = build("digits", {"rate": 4000, "max_length": 25})
    lengths = prepare(task, tmp_path, source).split("train").lengths
    assert (lengths.min(), lengths.max()) == (22, 25)
    assert build("digits", {"rate": 4000}).signature.max_length == 9131


def test_silence_is_the_middle_of_the_scale(tmp_path):
    members = spoken_digits()
    name = "fsdd/recordings/0_anna_9.wav"
    members[name] = wav([0] * 7)
    data = prepare(build("digits", {}), tmp_path, write_tree(tmp_path / "small", members))
    tokens = [
        data.split(split).sequence(i)
        for split in ("train", "valid")
        for i in range(data.sizes[split])
    ]
    [silent] = [each for each in tokens if len(each) == 7]
    assert silent.tolist() == [32_767] * 7


@pytest.mark.parametrize(
    ("members", "answer"),
    [
        ({"fsdd/README.md": b""}, "has no recordings"),
        ({"fsdd/recordings/0_anna_0.wav": wav([1], rate=16_000)}, "16000 samples a second"),
        ({"fsdd/recordings/0_anna_0.wav": b"RIFF"}, "is not a WAV file"),
    ],
)
def test_another_archive_is_refused(members, answer, tmp_path):
    with pytest.raises(UserError, match=answer):
        prepare(build("digits", {}), tmp_path, write_tree(tmp_path / "x", members))
