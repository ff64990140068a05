import pytest
from report.examples import run_record

from longarena.records.folder import write_record
from longarena.report.page.watch import watch

REFRESH = 'http-equiv="refresh"'


class Enough(Exception):
    pass


@pytest.fixture
def places(tmp_path):
    write_record(tmp_path / "store", run_record(seed=0))
    return tmp_path / "store", tmp_path / "out"


def watched(places, *between):
    """Watch a store while `between` happens to it, once per look; return the sizes of the pages."""
    store, out = places
    events = iter([*between, None])

    def wait(_):
        event = next(events)
        if event is None:
            raise Enough
        event(store)

    sizes = []
    with pytest.raises(Enough):
        for records in watch(store, out, wait):
            sizes.append((len(records.runs), REFRESH in (out / "index.html").read_text()))
    return sizes


def add(seed):
    return lambda store: write_record(store, run_record(seed=seed))


def nothing(_store):
    pass


def test_a_page_is_written_when_records_change_and_only_then(places):
    assert watched(places, nothing, add(1), nothing, add(2)) == [(1, True), (2, True), (3, True)]


def test_a_changed_record_is_a_change(places):
    def change(store):
        write_record(store, run_record(seed=0, accuracy=0.5, finished_at="2026-01-01"))

    assert len(watched(places, change)) == 2
    assert ">50.0<" in (places[1] / "index.html").read_text()


def test_the_page_that_stays_loads_itself_no_more(places):
    watched(places, add(1))
    text = (places[1] / "index.html").read_text()
    assert REFRESH not in text
    assert run_record(seed=1).id in text


def test_a_store_that_does_not_exist_yet_can_be_watched(tmp_path):
    places = tmp_path / "store", tmp_path / "out"
    assert watched(places, add(1)) == [(0, True), (1, True)]
