import errno
import os

import pytest
from data.storages import KINDS, folder, remote

from longarena.data import files, server, storage
from longarena.data.storage import (
    AddressStorage,
    FolderStorage,
    Missing,
    StorageError,
    claim,
    confirm,
    fetch,
    open_storage,
    read_text,
    send,
)


@pytest.fixture(params=KINDS, ids=lambda kind: kind.__name__)
def there(request, tmp_path):
    return request.param(tmp_path)


@pytest.fixture
def small_pieces(monkeypatch):
    for module in (storage, server):
        monkeypatch.setattr(module, "PIECE", 4)


@pytest.mark.parametrize("content", [b"", b"abc", b"abcd", b"abcdefgh", b"abcdefghi"])
def test_a_file_comes_back_as_it_was_sent(tmp_path, there, small_pieces, content):
    (tmp_path / "here").write_bytes(content)
    send(tmp_path / "here", there, "a/b/c.bin")
    fetch(there, "a/b/c.bin", tmp_path / "back" / "c.bin")
    assert (tmp_path / "back" / "c.bin").read_bytes() == content


def test_files_are_listed_overwritten_and_removed(there):
    assert there.names("a") == []
    for name in ("a/2", "a/1", "a/deeper/3"):
        there.write(name, [b"old"])
    assert there.names("a") == ["1", "2"]
    there.write("a/1", [b"new"])
    assert read_text(there, "a/1") == "new"
    for _ in range(2):
        there.remove("a/1")
    assert there.names("a") == ["2"]


def test_a_missing_file_is_told_from_a_broken_storage(tmp_path, there):
    with pytest.raises(Missing, match="has no file a/b"):
        fetch(there, "a/b", tmp_path / "here")
    assert not (tmp_path / "here").exists()


@pytest.mark.parametrize("kind", [folder, remote])
def test_a_full_disk_is_one_line_and_leaves_the_old_file(tmp_path, monkeypatch, kind):
    there = kind(tmp_path)
    there.write("a/b", [b"old"])

    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    for module in (files, server):
        monkeypatch.setattr(module, "flush", full)
    with pytest.raises(StorageError, match=r"cannot write a/b in .*: No space left on device"):
        there.write("a/b", [b"new"])
    assert read_text(there, "a/b") == "old"


def test_where_nothing_can_be_written_is_told_at_once(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(
        StorageError, match=r"cannot (read|write) storage.json in .*Not a directory"
    ):
        claim(open_storage(str(tmp_path / "file" / "folder")))


def test_an_address_of_an_unknown_kind_is_one_line():
    with pytest.raises(StorageError, match="cannot open the storage nowhere://lab: ") as told:
        open_storage("nowhere://lab")
    assert "\n" not in str(told.value)


def test_folders_need_no_fsspec_and_addresses_do(tmp_path):
    assert open_storage(f"file://{tmp_path}") == FolderStorage(tmp_path)
    assert isinstance(open_storage("memory://lab"), AddressStorage)


def test_all_machines_must_see_the_same_storage(tmp_path, there):
    mark = claim(there)
    assert claim(there) == mark
    confirm(there, mark)
    with pytest.raises(StorageError, match="not the same storage on every machine"):
        confirm(FolderStorage(tmp_path / "elsewhere"), mark)
