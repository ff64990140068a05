import shutil
import threading

import pytest
from data.storages import KINDS, Dying, Killed, folder
from data.test_dataset import ROWS, write
from training.test_checkpoint import Told, flip

from longarena.data.dataset import Dataset
from longarena.data.files import locked
from longarena.data.handover import fetch_dataset, send_dataset
from longarena.data.storage import FolderStorage, StorageError

NAME = "toy/v1"


@pytest.fixture
def here(tmp_path):
    return write(tmp_path / "here" / NAME)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_data_arrives_whole_and_says_where_it_came_from(tmp_path, here, kind):
    there, told = kind(tmp_path), Told()
    assert not fetch_dataset(there, NAME, tmp_path / "other" / NAME)
    send_dataset(here, there, NAME, told)
    send_dataset(here, there, NAME, told)
    assert fetch_dataset(there, NAME, tmp_path / "other" / NAME, told)
    assert Dataset(tmp_path / "other" / NAME).fingerprint == Dataset(here).fingerprint
    assert told.lines == [
        f"data toy/v1 (0 kB) goes to {there.title}",
        f"data toy/v1 (0 kB) came from {there.title} to {tmp_path / 'other' / NAME}",
    ]


def test_data_that_was_not_sent_to_its_end_is_not_there(tmp_path, here):
    there = Dying(tmp_path / "there")
    for number in range(4):
        with pytest.raises(Killed):
            send_dataset(here, there.left(number), NAME)
        assert not fetch_dataset(there, NAME, tmp_path / "other")
    send_dataset(here, there.left(4), NAME)
    assert fetch_dataset(there, NAME, tmp_path / "other")


@pytest.mark.parametrize("file", ["train.tokens", "train.labels", "dataset.json"])
def test_data_that_arrives_damaged_is_refused_and_leaves_nothing(tmp_path, here, file):
    there = folder(tmp_path)
    send_dataset(here, there, NAME)
    flip(there.root / NAME / file, 4)
    with pytest.raises(StorageError, match="is damaged; delete it there"):
        fetch_dataset(there, NAME, tmp_path / "other" / NAME)
    assert [path.name for path in (tmp_path / "other" / "toy").iterdir()] == [".v1.lock"]


def test_other_data_of_the_same_name_is_not_overwritten(tmp_path, here):
    there = folder(tmp_path)
    send_dataset(write(tmp_path / "changed", [(b"abd", 1), *ROWS[1:]]), there, NAME)
    with pytest.raises(StorageError, match="has other data as toy/v1"):
        send_dataset(here, there, NAME)


def test_one_process_fetches_and_the_others_wait(tmp_path, here):
    other, told = tmp_path / "other" / NAME, Told()
    there = FolderStorage(tmp_path / "here")
    with locked(other.with_name(".v1.lock"), "unused"):
        thread = threading.Thread(target=fetch_dataset, args=(there, NAME, other, told))
        thread.start()
        thread.join(timeout=0.3)
        assert thread.is_alive()
        assert told.lines == [f"waiting for another process that fetches {NAME}"]
        # the other process has fetched it
        shutil.copytree(here, other)
        shutil.rmtree(here)
    thread.join(timeout=10)
    assert len(told.lines) == 1
    assert Dataset(other).sizes == {"train": 3}
