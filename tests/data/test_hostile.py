"""Files that declare far more than they hold: refused in one line, in little memory and time."""

import gzip
import io
import pickle
import resource
import struct
import tarfile
import time
import zipfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from tasks.sources import cifar_python, colour_batches, write_tar

from longarena.data.archive import reading
from longarena.data.arrays import read_array, read_arrays
from longarena.data.pickles import read_pickle
from longarena.errors import UserError
from longarena.tasks import build
from longarena.tasks.prepare import prepare

PETABYTE = 1 << 50
GIGABYTES = 1 << 36
MOST_BYTES, MOST_SECONDS = 400 << 20, 5


@contextmanager
def cheaply():
    """Have what runs in the block take little time of this process, and little memory."""
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    start = time.process_time()
    resource.setrlimit(resource.RLIMIT_AS, (size + MOST_BYTES, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
    assert time.process_time() - start < MOST_SECONDS


def header(size, kind=tarfile.REGTYPE, name="a/one.txt"):
    info = tarfile.TarInfo(name)
    info.size, info.type = size, kind
    return info.tobuf(tarfile.GNU_FORMAT)


def refusal(path):
    with pytest.raises(UserError) as refused, reading(path) as source, cheaply():
        for name, file in source.members(lambda name: True):
            (name, file.read(1 << 20))
    assert "\n" not in str(refused.value)
    return str(refused.value)


KINDS = [tarfile.REGTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.XHDTYPE, tarfile.GNUTYPE_SPARSE]


@pytest.mark.parametrize("size", [GIGABYTES, PETABYTE])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_member_that_declares_what_is_not_there_is_refused(tmp_path, pack, kind, size):
    path = tmp_path / "bomb.tar"
    path.write_bytes(pack(header(size, kind) + b"x" * 2048))
    refusal(path)


def test_what_unpacks_to_far_more_than_its_size_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("longarena.data.archive.LEAST_UNPACKED", 1 << 20)
    path = write_tar(tmp_path / "bomb.tar.gz", {"zeros": bytes(30 << 20)})
    assert "too much for its size" in refusal(path)


@pytest.mark.parametrize(
    "declared",
    [
        {"descr": "|u1", "fortran_order": False, "shape": (PETABYTE,)},
        {"descr": "|u1", "fortran_order": False, "shape": (GIGABYTES, 1)},
        {"descr": "<U0", "fortran_order": False, "shape": (GIGABYTES, 4)},
        {"descr": "|u1", "fortran_order": False, "shape": (0, PETABYTE)},
        {"descr": "|u1", "fortran_order": False, "shape": (-1, 4)},
        {"descr": "|O", "fortran_order": False, "shape": (4,)},
        {"descr": "nonsense", "fortran_order": False, "shape": (4,)},
        {"descr": "|u1", "fortran_order": False, "shape": ("x",)},
        {"descr": "|u1"},
        "(" * 3000,
        "9" * 5000,
        "\x00\xff",
    ],
    ids=lambda declared: str(declared)[:40],
)
def test_an_array_that_declares_nonsense_is_refused(tmp_path, declared):
    text = str(declared).encode("latin1") + b"\n"
    content = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + b"data"
    with pytest.raises(ValueError, match="it "), cheaply():
        read_array(content)
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("x.npy", content)
    with pytest.raises(ValueError, match=r"a\.npz: it "), cheaply():
        read_arrays(tmp_path / "a.npz", ["x"], 1000)


def test_arrays_are_read_as_numpy_reads_them(tmp_path):
    arrays = {"a": np.arange(6).reshape(2, 3), "b": np.asfortranarray(np.ones((2, 2), "<U3"))}
    np.savez_compressed(tmp_path / "a.npz", **arrays)
    found = read_arrays(tmp_path / "a.npz", ["a", "b"], 1000)
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)


def nested(depth):
    """Tuples of tuples: hashing them takes as long as there would be leaves."""
    return b"\x80\x02)q\x00" + b"h\x00h\x00\x86q\x00" * depth


PICKLES = {
    "a memo far out": b"\x80\x02}r" + struct.pack("<I", 1 << 26) + b".",
    "a key of tuples": b"\x80\x02}" + nested(40)[2:] + b"Ns.",
    "a text again and again": b"\x80\x02c_codecs\nencode\nq\x00X\x01\x00\x00\x00a"
    + b"X\x06\x00\x00\x00latin1\x86q\x01"
    + b"h\x00h\x01R" * 10_000
    + b".",
    "a frozen set": pickle.dumps(frozenset({1}), protocol=4),
    "a long number": b"I" + b"9" * 5000 + b"\n.",
    "deep lists": b"]" * 100_000 + b"a" * 99_999 + b".",
    "bytes that are not there": b"\x80\x04\x8e" + struct.pack("<Q", PETABYTE) + b"abc.",
}


@pytest.mark.parametrize("content", PICKLES.values(), ids=PICKLES.keys())
def test_a_pickle_takes_little_memory_and_time(content):
    with pytest.raises(UserError, match="batch is not a pickle") as refused, cheaply():
        value = read_pickle("batch", content)
        if isinstance(value, list):  # nothing is wrong with it but its depth
            raise UserError("batch is not a pickle: a list")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "changes",
    [
        {b"labels": [[1, 2], [3]]},
        {b"labels": 3},
        {b"labels": [10**30] * 20},
        {b"labels": ["one"] * 20},
        {b"labels": None},
        {b"\xff\xfe": 1, b"labels": []},
        {(1, 2): 3, b"labels": [0.5] * 20},
    ],
    ids=str,
)
def test_labels_and_keys_that_make_no_sense_are_refused_in_one_line(tmp_path, changes):
    def dump(batch):
        return pickle.dumps(batch | changes, protocol=2)

    path = write_tar(tmp_path / "cifar.tar.gz", cifar_python(colour_batches(), dump))
    with pytest.raises(UserError) as refused:
        prepare(build("image", {}), tmp_path / "home", path)
    assert "\n" not in str(refused.value)


def test_a_line_without_an_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("longarena.tasks.release.MOST_LINE", 1000)
    line = b"1.0\t1\t2\ta\t" + b"b" * 2000
    members = {f"new_aan_pairs.{split}.tsv": line for split in ("train", "eval", "test")}
    with pytest.raises(UserError, match="line 1 has more than 1,000 bytes"):
        prepare(build("retrieval", {}), tmp_path / "home", write_tar(tmp_path / "a.tar", members))


def test_a_zip_that_cannot_be_read_is_refused(tmp_path):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("enwik8", b"x" * 100)
    content = bytearray(file.getvalue())
    for signature, offset in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        at = content.index(signature) + offset
        content[at : at + 2] = b"\x63\x00"  # a compression that nobody knows
    (tmp_path / "enwik8.zip").write_bytes(content)
    with pytest.raises(UserError, match="is damaged"):
        prepare(build("enwik8", {}), tmp_path / "home", tmp_path / "enwik8.zip")
