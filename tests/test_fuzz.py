"""Real files, mutated at random: every reader answers in one line, and nothing false comes out.

A few cases of each kind; `FUZZ_CASES=200 pytest tests/test_fuzz.py` tries more.
"""

import io
import json
import os
import pickle
import random
import shutil
from pathlib import Path

import numpy as np
import pytest
from records.test_folder import record
from report.examples import measure_record
from tasks import sources
from tasks.test_pathfinder import release

from longarena.data.arrays import read_array
from longarena.data.dataset import Dataset
from longarena.data.pickles import read_pickle
from longarena.errors import UserError
from longarena.records.answers import Answers, read_answers, write_answers
from longarena.records.folder import read_records, write_record
from longarena.records.merge import merge
from longarena.report.page.page import write_page
from longarena.tasks import build
from longarena.tasks.prepare import prepare

CASES = int(os.environ.get("FUZZ_CASES", "12"))
VALUES = (
    *(0, -1, 1, 2**63, 10**17, 10**400, 0.0, 1.5, -1e308, float("inf"), float("nan")),
    *("", "\x1b[31m", "\ud800", "x" * 400, "../../x", "no:such"),
    *(None, True, [], {}, [[]], {"a": 1}),
)


def mutated(content, rng):
    """Flip, delete, repeat, overwrite or cut some bytes."""
    found = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 5))):
        at, size = rng.randrange(len(found) + 1), rng.choice((1, 1, 4, 60))
        kind = rng.randrange(6)
        if kind <= 1 and at < len(found):
            found[at] ^= 1 << rng.randrange(8)
        elif kind == 2:
            del found[at : at + size]
        elif kind == 3:
            found[at:at] = found[at : at + size] * rng.choice((1, 3))
        elif kind == 4:
            found[at : at + size] = rng.randbytes(size)
        elif rng.random() < 0.2:
            del found[at:]
    return bytes(found)


def places(value, path=()):
    """List where the values of a piece of JSON are."""
    yield path
    if not isinstance(value, dict | list):
        return
    for key, each in value.items() if isinstance(value, dict) else enumerate(value):
        yield from places(each, (*path, key))


def with_another_value(content, rng):
    """Replace one value of a piece of JSON, or leave it out."""
    whole = json.loads(content)
    *path, last = rng.choice([at for at in places(whole) if at])
    section = whole
    for key in path:
        section = section[key]
    if rng.random() < 0.2:
        del section[last]
    else:
        section[last] = rng.choice(VALUES)
    return json.dumps(whole).encode()


def one_line(error):
    assert "\n" not in str(error)
    assert len(str(error)) < 2000


def cases(name):
    return [random.Random(f"{name} {number}") for number in range(CASES)]


def test_records(tmp_path):
    """What passes the schema has a page, and a record that was only damaged is none."""
    real = [record(), measure_record(length=64), measure_record("linear", length=128)]
    texts = [each.model_dump_json().encode() for each in real]
    for number, rng in enumerate(cases("records") * 3):
        change = with_another_value if rng.random() < 0.7 else mutated
        (tmp_path / f"{number}.json").write_bytes(change(rng.choice(texts), rng))
    found = read_records(tmp_path)
    for reason in found.unreadable.values():
        one_line(reason)
    assert found.unreadable
    assert write_page(found, tmp_path / "page").exists()


def numpy_bytes(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


ARRAYS = [np.arange(12).reshape(3, 4), np.array([["imgs/1", "a.png"]]), np.zeros((2, 2), "u1")]


def test_arrays():
    for rng in cases("arrays") * 5:
        try:
            found = read_array(mutated(numpy_bytes(rng.choice(ARRAYS)), rng))
            assert found.nbytes < 1 << 20
        except ValueError as error:
            one_line(error)


def test_answers(tmp_path):
    path = tmp_path / "a.npz"
    real = Answers(np.ones(50, np.float32), np.arange(50))
    write_answers(path, real)
    content = path.read_bytes()
    for rng in cases("answers") * 3:
        path.write_bytes(mutated(content, rng))
        try:
            read_answers(path)
        except (OSError, ValueError) as error:
            one_line(error)


def test_pickles():
    batch = {b"data": np.zeros((2, 3072), np.uint8), b"labels": [1, 2]}
    contents = [pickle.dumps(batch, protocol=protocol) for protocol in (2, 4, 5)]
    for rng in cases("pickles") * 5:
        content = rng.choice([sources.python_2_pickle(batch), *contents])
        # the pixels in the middle are left alone: nothing can go wrong with them
        start, middle, end = content[:200], content[200:-200], content[-200:]
        try:
            read_pickle("batch", mutated(start, rng) + middle + mutated(end, rng))
        except UserError as error:
            one_line(error)


SOURCES = {
    "text": lambda: sources.imdb(4, 2),
    "image": lambda: sources.cifar_binary(sources.colour_batches()),
    "retrieval": lambda: {
        f"new_aan_pairs.{split}.tsv": b"1.0\t1\t2\tone\ttwo\n" * 3
        for split in ("train", "eval", "test")
    },
    "pathfinder": release,
}


@pytest.mark.parametrize("task", SOURCES)
def test_archives(tmp_path, task):
    members, modes = SOURCES[task](), ("w", "w:gz")
    packed = [sources.write_tar(tmp_path / "a", members, mode).read_bytes() for mode in modes]
    for number, rng in enumerate(cases(task)):
        path = tmp_path / f"{number}.tar"
        path.write_bytes(mutated(rng.choice(packed), rng))
        home = tmp_path / "home"
        try:
            Dataset(prepare(build(task, {}), home, path).folder)
        except UserError as error:
            one_line(error)
        assert not list(home.rglob("*.partial"))
        shutil.rmtree(home, ignore_errors=True)


def test_datasets(tmp_path):
    source = sources.write_tar(tmp_path / "a.tar", sources.imdb(4, 2))
    whole = prepare(build("text", {}), tmp_path / "home", source)
    for rng in cases("datasets") * 2:
        folder = Path(shutil.copytree(whole.folder, tmp_path / "copy", dirs_exist_ok=True))
        path = rng.choice(sorted(folder.iterdir()))
        content = path.read_bytes()
        is_json = path.suffix == ".json" and rng.random() < 0.5
        path.write_bytes(with_another_value(content, rng) if is_json else mutated(content, rng))
        try:
            found = Dataset(folder)
        except UserError as error:
            one_line(error)
        else:
            # only the words of the card and the sizes, which nothing is computed from, may differ
            assert found.fingerprint == whole.fingerprint
        shutil.rmtree(folder)


def test_merging_adds_only_what_can_be_read(tmp_path):
    for number, rng in enumerate(cases("merge")):
        path = write_record(tmp_path / "theirs", record(id=f"run-{number}"))
        path.write_bytes(with_another_value(path.read_bytes(), rng))
    first, again = (merge(tmp_path / "theirs", tmp_path / "ours") for _ in range(2))
    assert len(first.added) + len(first.beside) == len(read_records(tmp_path / "ours").runs)
    assert not (again.added or again.beside or read_records(tmp_path / "ours").unreadable)
