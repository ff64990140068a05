"""Arrays are read row by row, and never as pickles."""

import numpy as np
import pytest

from longarena.data import npy
from longarena.data.npy import array_names, open_array
from longarena.errors import UserError


@pytest.fixture
def files(tmp_path):
    array = np.arange(60, dtype=">i4").reshape(5, 3, 4)
    np.save(tmp_path / "a.npy", array)
    np.savez_compressed(tmp_path / "a.npz", x=array, y=np.array(["one", "two"]))
    return tmp_path


@pytest.mark.parametrize("block", [1, 100, 1 << 24])
@pytest.mark.parametrize(("name", "member"), [("a.npy", ""), ("a.npz", "x")])
def test_rows_come_as_they_are_whatever_is_read_at_once(files, name, member, block, monkeypatch):
    monkeypatch.setattr(npy, "BLOCK_BYTES", block)
    found = open_array(files / name, member)
    assert (found.shape, found.row_size) == ((5, 3, 4), 12)
    np.testing.assert_array_equal(list(found.rows()), np.arange(60).reshape(5, 12))


def test_the_arrays_of_a_file_are_listed(files):
    assert array_names(files / "a.npz") == ["x", "y"]
    with pytest.raises(UserError, match=r"unknown array of a\.npz 'z'.*known: x, y"):
        open_array(files / "a.npz", "z")


def test_objects_are_refused_by_the_header(tmp_path):
    np.save(tmp_path / "o.npy", np.array([[1, 2], [3]], object), allow_pickle=True)
    with pytest.raises(UserError, match="Python objects, which are never loaded"):
        open_array(tmp_path / "o.npy")


def test_another_order_is_refused(tmp_path):
    np.save(tmp_path / "f.npy", np.asfortranarray(np.ones((3, 4))))
    with pytest.raises(UserError, match="Fortran order"):
        open_array(tmp_path / "f.npy")


def test_what_is_cut_off_is_refused(files):
    path = files / "a.npy"
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(UserError, match="is cut off"):
        list(open_array(path).rows())


@pytest.mark.parametrize("content", [b"", b"no array", b"\x93NUMPY\x01\x00\xff\xff"])
def test_what_is_no_array_is_refused(tmp_path, content):
    for name, member in (("a.npy", ""), ("a.npz", "x")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(UserError, match="is not a whole NumPy file") as refusal:
            open_array(tmp_path / name, member)
        assert "\n" not in str(refusal.value)
