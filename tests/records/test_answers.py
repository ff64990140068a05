import numpy as np
import pytest

from longarena.records.answers import Answers, read_answers, write_answers


@pytest.mark.parametrize(
    ("scores", "answers"),
    [
        ([1, 0, 1], [3, 9, 0]),
        ([0.25, 1.5, 0.0], [0, 70_000, 255]),
        ([0.5, 2.0], [-1, 200]),
    ],
    ids=["right or wrong", "any score", "below zero"],
)
def test_answers_are_read_as_they_were_written(tmp_path, scores, answers):
    found = Answers(np.array(scores, np.float32), np.array(answers))
    write_answers(tmp_path / "a.npz", found)
    again = read_answers(tmp_path / "a.npz")
    assert (again.scores.tolist(), again.answers.tolist()) == (scores, answers)
    assert again.digest == found.digest


def test_texts_are_read_as_they_were_written(tmp_path):
    texts = ("a man", "", "zwei H\u00fcnde\u2028 laufen")
    found = Answers(np.ones(3, np.float32), np.arange(3), texts)
    write_answers(tmp_path / "a.npz", found)
    again = read_answers(tmp_path / "a.npz")
    assert (again.texts, again.digest) == (texts, found.digest)
    assert found.digest != Answers(found.scores, found.answers, ("a man", "", "x")).digest


def test_another_answer_has_another_digest():
    scores = np.ones(3, np.float32)
    assert (
        Answers(scores, np.array([1, 2, 3])).digest != Answers(scores, np.array([1, 2, 4])).digest
    )


def test_a_test_split_of_the_largest_task_takes_some_kilobytes(tmp_path):
    rng = np.random.default_rng(0)
    answers = rng.integers(0, 2, 25_000)
    write_answers(tmp_path / "a.npz", Answers((answers == 1).astype(np.float32), answers))
    assert (tmp_path / "a.npz").stat().st_size < 10_000


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 no archive", b"hello"])
def test_a_file_that_holds_no_answers_is_refused(tmp_path, content):
    (tmp_path / "a.npz").write_bytes(content)
    with pytest.raises((ValueError, OSError)):
        read_answers(tmp_path / "a.npz")
