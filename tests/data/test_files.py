import os

import pytest

from longarena.data.files import locked, write_atomically
from longarena.errors import UserError


def test_a_write_that_fails_leaves_the_old_content_and_no_trace(tmp_path, monkeypatch):
    path = tmp_path / "record.json"
    write_atomically(path, "old")

    def no_space(number):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(OSError, match="No space"):
        write_atomically(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_lock_keeps_the_second_out_and_is_given_back(tmp_path):
    path = tmp_path / "run.lock"
    with (
        locked(path, "unused"),
        pytest.raises(UserError, match="somebody is here"),
        locked(path, "somebody is here"),
    ):
        pytest.fail("both are in")
    with locked(path, "unused"):
        assert path.exists()
