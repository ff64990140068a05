"""An index of many records says what the records say, whatever becomes of either."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from report.examples import run_record
from report.many import many_records, write_many

from longarena.errors import UserError
from longarena.records import folder, index
from longarena.records.folder import read_records, write_record
from longarena.records.index import index_path
from longarena.records.summary import RunSummary, whole
from longarena.report.findings import Findings
from longarena.report.tables import TABLES
from longarena.tracks.metric import Metric


@pytest.fixture
def store(tmp_path):
    store = write_many(tmp_path / "store", many_records())
    (store / "broken.json").write_text("{")
    return store


def said(store):
    """What tables make of a store, and which of its files are no records."""
    records = read_records(store)
    found = Findings.of(records)
    tables = [table for kind in TABLES.values() for table in kind.make(found)]
    return tables, records.unreadable


def ids(store):
    return [run.id for run in read_records(store).runs]


def test_the_index_says_what_the_records_say(store, request):
    by_records = said(store)
    request.getfixturevalue("indexed")
    for _ in ("made", "used"):
        runs = read_records(store).runs
        assert all(isinstance(run, RunSummary) for run in runs)
        assert said(store) == by_records


@pytest.mark.usefixtures("indexed")
def test_a_summary_gives_back_its_record(store):
    runs = read_records(store).runs
    written = {record.id: record for record in many_records() if record.kind == "run"}
    assert {whole(run).id for run in runs} == set(written)
    for run in runs:
        record = whole(run)
        assert run.recipe == record.recipe
        assert run.curve == record.curve
        assert dict(run.metrics.details) == record.metrics.details


@pytest.mark.usefixtures("indexed")
def test_what_is_kept_once_for_many_runs_is_that_of_each(store):
    loss = Metric(name="loss", title="Loss", unit="", better="less")
    write_record(store, run_record("linear", 99).model_copy(update={"metric": loss}))
    for _ in ("made", "used"):
        runs = read_records(store).runs
        assert len({run.metric for run in runs}) == 2
        for name in ("metric", "preset", "task_name", "mixer", "variant", "fingerprint", "machine"):
            assert [getattr(run, name) for run in runs] == [getattr(whole(r), name) for r in runs]


@pytest.mark.usefixtures("indexed")
def test_no_file_is_read_again_until_it_changes(store, reads):
    before = said(store)[0]
    reads.clear()
    read_records(store)
    assert reads == {}
    [table] = [table for table in before if table.name == "runs"]
    assert len(table.rows) == len(ids(store))


def some_path(store):
    return sorted(store.rglob("*.json"))[3]


def rewrite(path):
    """Put other bytes of the same number in the same file, and set back its time."""
    status, text = path.stat(), path.read_text()
    time.sleep(0.02)  # a step of the clock of the file system
    path.write_text(text.replace('"2025-11-03', '"2031-11-03'))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert path.stat().st_size == status.st_size


@pytest.mark.usefixtures("indexed")
def test_a_file_that_was_changed_is_read_whatever_its_size_and_time(store):
    read_records(store)
    rewrite(some_path(store))
    assert sum(run.finished_at.startswith("2031") for run in read_records(store).runs) == 1


@pytest.mark.usefixtures("indexed")
def test_a_file_that_was_removed_added_or_damaged_is_noticed(store):
    before = ids(store)
    path = some_path(store)
    text = path.read_text()
    path.unlink()
    assert len(ids(store)) == len(before) - 1
    path.write_text(text)
    assert ids(store) == before
    path.write_text(text[:-20])
    assert path in read_records(store).unreadable
    assert path not in before


@pytest.mark.usefixtures("indexed")
def test_a_file_that_was_just_written_is_not_trusted_to_stay(store, monkeypatch, reads):
    monkeypatch.setattr(index, "SETTLED_NS", 10**12)
    read_records(store)
    reads.clear()
    read_records(store)
    assert len(reads) == len(list(store.rglob("*.json")))


@pytest.mark.usefixtures("indexed")
def test_a_record_that_changes_while_a_page_is_made_is_not_mixed_in(store):
    runs = read_records(store).runs
    for path in store.rglob("*.json"):
        path.write_text(path.read_text().replace('"2025', '"2031'))
    with pytest.raises(UserError, match="was changed while it was read"):
        whole(runs[0])


@pytest.mark.usefixtures("indexed")
def test_a_thorough_reading_trusts_no_stamp(store, monkeypatch):
    files = folder.record_files(store)
    read_records(store)
    some_path(store).write_text("{")
    monkeypatch.setattr(folder, "record_files", lambda _: files)
    assert len(read_records(store).unreadable) == 1
    assert len(read_records(store, is_thorough=True).unreadable) == 2


@pytest.mark.usefixtures("indexed")
@pytest.mark.parametrize("place", [0, 30, 200, -2000, -300, -2])
def test_a_damaged_index_is_made_anew(store, place):
    before = said(store)
    path = index_path(store)
    content = bytearray(path.read_bytes())
    content[place] ^= 4
    path.write_bytes(content)
    assert said(store) == before
    assert path.read_bytes() != content


@pytest.mark.usefixtures("indexed")
@pytest.mark.parametrize("content", [b"", b"\0" * 50, b"[]\n", b'{"format": 1}\n[]\n'])
def test_what_is_no_index_is_replaced(store, content):
    index_path(store).parent.mkdir(parents=True)
    index_path(store).write_bytes(content)
    assert len(ids(store)) == len(read_records(store).runs)
    assert index_path(store).read_bytes() != content


@pytest.mark.usefixtures("indexed")
def test_an_index_of_other_rules_is_not_used(store, monkeypatch, reads):
    read_records(store)
    monkeypatch.setattr(index, "form", lambda: "other rules")
    reads.clear()
    read_records(store)
    assert len(reads) == len(list(store.rglob("*.json")))


@pytest.mark.usefixtures("indexed")
def test_nothing_is_written_into_a_store_nor_needed_beside_it(store, tmp_path, monkeypatch):
    def files():
        return {path: path.stat().st_mtime_ns for path in store.rglob("*")}

    before, found = files(), said(store)
    (tmp_path / "taken").write_text("no folder")
    monkeypatch.setenv("LONGARENA_HOME", str(tmp_path / "taken"))
    assert said(store) == found
    assert files() == before


@pytest.mark.usefixtures("indexed")
def test_a_reason_that_may_pass_is_not_kept(store, monkeypatch):
    def refuse(path):
        raise PermissionError(13, "Permission denied", str(path))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_bytes", refuse)
        assert read_records(store).runs == []
    assert len(read_records(store).unreadable) == 1


READ = """
import sys
from pathlib import Path
from longarena.records import folder, index
folder.SMALL, index.NUM_UNSAVED, index.SETTLED_NS = 0, 0, -(10**12)
for _ in range(20):
    index.index_path(Path(sys.argv[1])).unlink(missing_ok=True)
    print(len(folder.read_records(Path(sys.argv[1])).runs))
"""


@pytest.mark.slow
def test_several_processes_may_read_and_write_it_at_once(store):
    number = len(ids(store))
    readers = [
        subprocess.Popen([sys.executable, "-c", READ, str(store)], stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    outputs = [reader.communicate(timeout=120)[0].split() for reader in readers]
    assert [set(map(int, output)) for output in outputs] == [{number}] * 2


@pytest.mark.usefixtures("indexed")
def test_an_index_that_nobody_wrote_for_long_is_forgotten(store, tmp_path):
    read_records(store)
    os.utime(index_path(store), (0, 0))
    other = write_many(tmp_path / "other", many_records(seeds=1))
    read_records(other)
    assert index_path(other).exists()
    assert not index_path(store).exists()
