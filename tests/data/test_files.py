import os
import threading

import pytest

from longarena.data.files import (
    create,
    is_inside,
    locked,
    make_way,
    read_json,
    waiting,
    write_atomically,
)
from longarena.errors import UserError


def test_a_write_that_fails_leaves_the_old_content_and_no_trace(tmp_path, monkeypatch):
    path = tmp_path / "record.json"
    write_atomically(path, "old")

    def no_space(number):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(OSError, match="No space") as full:
        write_atomically(path, "new")
    assert full.value.filename == str(path)
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


def test_whoever_waits_for_a_lock_says_so_once_and_gets_it(tmp_path):
    path, said, order = tmp_path / "data.lock", [], []

    def second():
        with waiting(path, lambda: said.append("waiting")):
            order.append("second")

    with waiting(path, lambda: said.append("nobody is there")):
        thread = threading.Thread(target=second)
        thread.start()
        while not said:
            pass
        order.append("first")
    thread.join()
    assert said == ["waiting"]
    assert order == ["first", "second"]


def test_a_file_is_created_only_where_there_is_none(tmp_path):
    assert create(tmp_path / "a", "one")
    assert not create(tmp_path / "a", "two")
    assert (tmp_path / "a").read_text() == "one"
    assert len(list(tmp_path.iterdir())) == 1


def test_a_folder_makes_way_for_a_file_and_is_kept(tmp_path):
    for _ in range(2):
        (tmp_path / "log" / "inside").mkdir(parents=True)
        make_way(tmp_path / "log")
    assert len(list(tmp_path.glob("aside-*-log/inside"))) == 2
    write_atomically(tmp_path / "log", "lines")
    make_way(tmp_path / "log")
    assert (tmp_path / "log").read_text() == "lines"


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[" * 5000, b"9" * 5000])
def test_json_that_is_damaged_is_a_value_error(tmp_path, content):
    (tmp_path / "a.json").write_bytes(content)
    with pytest.raises(ValueError):
        read_json(tmp_path / "a.json")


def test_a_link_may_lead_inside_but_not_outside(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "own").write_text("")
    for name, target in {"near": "own", "far": "/etc/passwd", "loop": "loop"}.items():
        (folder / name).symlink_to(target)
    assert [is_inside(folder / name, folder) for name in ("own", "near", "far")] == [1, 1, 0]
    assert isinstance(is_inside(folder / "loop", folder), bool)
