import json
import resource
import threading
from contextlib import contextmanager

import pytest
from data.server import serving
from tasks import sources

from longarena.data import fetch as fetch_module
from longarena.data.archive import reading
from longarena.data.download import Download
from longarena.errors import UserError
from longarena.progress import Progress
from longarena.tasks import build
from longarena.tasks.base import default_home
from longarena.tasks.listing import listing
from longarena.tasks.listops import ListOps
from longarena.tasks.prepare import command, obtain, open_prepared, prepare
from longarena.tasks.retrieval import Retrieval
from longarena.tasks.text import Text

TINY_LISTOPS = {"min_length": 5, "max_length": 40, "max_depth": 3}


@pytest.fixture
def home():
    return default_home()


@pytest.fixture
def mini(tmp_path):
    return sources.write_tar(tmp_path / "aan-mini.tar.xz", sources.aan(), "w:xz")


@pytest.fixture
def official_is_tiny(monkeypatch):
    """Give the cards the row counts of the small sources, as if those were the release."""
    for kind, counts in ((Retrieval, (7, 3, 2)), (ListOps, (5, 2, 2)), (Text, (36, 4, 12))):
        card = kind.card.fget
        sizes = dict(zip(("train", "valid", "test"), counts, strict=True))
        changed = property(
            lambda self, card=card, sizes=sizes: card(self).model_copy(update={"sizes": sizes})
        )
        monkeypatch.setattr(kind, "card", changed)


@contextmanager
def limited_files(num_bytes):
    """Make every write beyond some bytes fail, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (num_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def left(home):
    return sorted(path.name for path in home.glob("*/*") if not path.name.endswith(".lock"))


def test_other_data_becomes_a_variant_named_after_its_file(home, mini):
    store = prepare(build("retrieval", {}), home, mini)
    assert store.folder == home / "retrieval" / "v1,aan-mini"
    assert store.facts["data"] == "aan-mini"
    chosen = build("retrieval", {}, data="aan-mini")
    assert chosen.variant == "aan-mini"
    assert open_prepared(chosen, home).fingerprint == store.fingerprint
    with pytest.raises(UserError, match=r"not prepared .*--set task\.data=aan-mini"):
        open_prepared(build("retrieval", {}), home)


def test_data_with_the_official_row_counts_is_the_task_itself(home, mini, official_is_tiny):
    store = prepare(build("retrieval", {}), home, mini)
    assert store.folder == home / "retrieval" / "v1"
    assert store.facts["data"] == ""


def test_the_release_of_a_generated_task_is_a_variant(home, tmp_path, official_is_tiny):
    source = sources.write_tar(tmp_path / "lra_release.gz", sources.listops())
    generated = prepare(build("listops", {}), home)
    released = prepare(build("listops", {}), home, source)
    assert released.folder == home / "listops" / "v1,release"
    assert released.fingerprint != generated.fingerprint
    assert open_prepared(build("listops", {}), home).fingerprint == generated.fingerprint


def test_no_other_data_can_take_the_name_of_the_release(home, tmp_path):
    source = sources.write_tar(tmp_path / "release.tar.gz", sources.listops())
    assert prepare(build("listops", {}), home, source).facts["data"] == "release-data"


def test_a_name_can_be_chosen(home, mini):
    store = prepare(build("retrieval", {}, data="mine"), home, mini)
    assert store.folder.name == "v1,mine"


@pytest.mark.parametrize("name", ["a,b", "size=1", "../up", "a/b"])
def test_a_name_that_would_confuse_folders_is_refused(name):
    with pytest.raises(UserError, match="cannot name data"):
        build("text", {}, data=name)


def test_options_size_and_data_stand_in_the_variant(home, mini):
    task = build("retrieval", {"max_length": 9}, 0.5)
    store = prepare(task, home, mini)
    assert store.folder.name == "v1,aan-mini,max_length=9,size=0.5"
    assert store.sizes == {"train": 4, "valid": 2, "test": 1}
    assert store.split("train").lengths.max() == 9


def test_the_same_archive_is_read_once(home, mini, monkeypatch):
    first = prepare(build("retrieval", {}), home, mini)
    monkeypatch.setattr(Retrieval, "read", None)
    assert prepare(build("retrieval", {}), home, mini).fingerprint == first.fingerprint


def test_an_archive_that_has_changed_is_read_again(home, mini):
    first = prepare(build("retrieval", {}), home, mini)
    sources.write_tar(mini, sources.aan((8, 3, 2)), "w:xz")
    again = prepare(build("retrieval", {}), home, mini)
    assert again.sizes["train"] == 8
    assert again.fingerprint != first.fingerprint


def test_generated_data_is_obtained_and_other_data_asked_for(home, mini):
    assert obtain(build("listops", TINY_LISTOPS, 0.001), home).sizes["train"] == 96
    with pytest.raises(UserError, match=r"run: longarena data prepare text$"):
        obtain(build("text", {}), home)


def test_the_command_prepares_the_variant():
    task = build("text", {"max_length": 1000}, 0.5, "mine")
    words = "--set max_length=1000 --size 0.5 --source PATH (of mine)"
    assert command(task) == f"longarena data prepare text {words}"


def test_without_source_the_official_archive_is_downloaded(
    home, tmp_path, monkeypatch, official_is_tiny
):
    archive = sources.write_tar(tmp_path / "imdb.tar.gz", sources.imdb())
    with serving(archive.read_bytes()) as (address, _):
        monkeypatch.setattr(Text, "download", Download(address, None))
        store = prepare(build("text", {}), home)
    assert store.folder == home / "text" / "v1"
    assert [path.name for path in (home / "downloads").glob("*.tar.gz")] == ["data.tar.gz"]


def test_without_network_nothing_is_left_but_a_line(home, monkeypatch):
    monkeypatch.setattr(fetch_module, "PAUSE_SECONDS", 0.0)
    monkeypatch.setattr(Text, "download", Download("http://127.0.0.1:9/imdb.tar.gz", None))
    with pytest.raises(UserError, match=r"fetch http://127\.0\.0\.1:9/imdb\.tar\.gz .*--source"):
        prepare(build("text", {}), home)
    assert left(home) == []


def test_data_without_an_address_is_not_downloaded(home):
    with pytest.raises(UserError, match="aan-mini cannot be downloaded"):
        prepare(build("retrieval", {}, data="aan-mini"), home)


def test_a_source_that_is_not_there_is_named(home, tmp_path):
    with pytest.raises(UserError, match=r"none\.tar does not exist"):
        prepare(build("text", {}), home, tmp_path / "none.tar")


def test_a_cut_archive_leaves_what_was_there(home, mini, tmp_path):
    before = prepare(build("retrieval", {}), home, mini)
    mini.write_bytes(mini.read_bytes()[:300])
    with pytest.raises(UserError, match=r"aan-mini\.tar\.xz .*cut off"):
        prepare(build("retrieval", {}), home, mini)
    assert left(home) == ["v1,aan-mini"]
    after = open_prepared(build("retrieval", {}, data="aan-mini"), home)
    assert after.fingerprint == before.fingerprint


def test_a_full_disk_leaves_what_was_there(home, tmp_path):
    source = sources.write_tar(tmp_path / "small.tar.gz", sources.imdb())
    before = prepare(build("text", {}), home, source)
    sources.write_tar(source, sources.imdb(train=60))
    with limited_files(20_000), pytest.raises(UserError, match=r"preparing text .* too large"):
        prepare(build("text", {}), home, source)
    assert left(home) == ["v1,small"]
    after = open_prepared(build("text", {}, data="small"), home)
    assert after.fingerprint == before.fingerprint


class Told(Progress):
    """Keeps what is said, and has somebody go on when it was."""

    def __init__(self, go_on):
        self.go_on, self.lines = go_on, []

    def say(self, line):
        self.lines.append(line)
        self.go_on.set()


def test_a_second_process_waits_for_the_first_and_takes_what_it_prepared(home, mini, monkeypatch):
    started, go_on = threading.Event(), threading.Event()
    read = Retrieval.read

    def slow_read(task, source):
        started.set()
        go_on.wait(60)
        return read(task, source)

    monkeypatch.setattr(Retrieval, "read", slow_read)
    first = threading.Thread(target=prepare, args=(build("retrieval", {}), home, mini))
    first.start()
    try:
        assert started.wait(60)
        assert [each.state for each in listing(home)] == ["being prepared"]
        told = Told(go_on)
        second = prepare(build("retrieval", {}, data="aan-mini"), home, mini, told)
    finally:
        go_on.set()
        first.join()
    assert told.lines == [f"waiting for another process that prepares {home}/retrieval/v1"]
    assert second.facts["data"] == "aan-mini"
    assert [each.state for each in listing(home)] == ["complete"]


def test_a_damaged_store_is_refused_and_listed(home, mini):
    store = prepare(build("retrieval", {}), home, mini)
    (store.folder / "train.labels").write_bytes(b"\x01" * 56)
    with pytest.raises(UserError, match=r"damaged .*delete the folder and prepare it again"):
        prepare(build("retrieval", {}), home, mini)
    assert [each.state for each in listing(home)] == ["damaged"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda about: about | {"format": 0}, "format: "),
        (lambda about: about | {"facts": {}}, "holds other data than its name says"),
    ],
)
def test_a_store_of_another_version_is_refused(home, mini, change, message):
    store = prepare(build("retrieval", {}), home, mini)
    path = store.folder / "dataset.json"
    path.write_text(json.dumps(change(json.loads(path.read_text()))))
    with pytest.raises(UserError, match=message):
        open_prepared(build("retrieval", {}, data="aan-mini"), home)


def test_the_listing_tells_place_size_and_fingerprint(home, mini):
    store = prepare(build("retrieval", {}), home, mini)
    abandoned = home / "retrieval" / "v1.99999.partial"
    abandoned.mkdir()
    (abandoned / "train.tokens").write_bytes(b"12345")
    found = {each.folder.name: each for each in listing(home)}
    whole, part = found["v1,aan-mini"], found["v1.99999.partial"]
    assert (whole.task, whole.variant, whole.state) == ("retrieval", "aan-mini", "complete")
    assert whole.fingerprint == store.fingerprint
    assert dict(whole.sizes) == store.sizes
    assert whole.num_bytes == sum(path.stat().st_size for path in store.folder.iterdir())
    assert (part.state, part.num_bytes, part.fingerprint) == ("damaged", 5, "")


def test_an_empty_home_has_an_empty_listing(tmp_path):
    assert listing(tmp_path / "none") == []


def test_a_smaller_version_is_an_even_share(tmp_path):
    source = sources.write_tar(tmp_path / "small.tar.gz", sources.imdb(train=40))
    with reading(source) as opened:
        whole = [len(chunk.labels) for split, chunk in build("text", {}).read(opened)]
    store = prepare(build("text", {}, 0.25), default_home(), source)
    assert store.sizes == {"train": 18, "valid": 2, "test": 3}
    assert sum(whole) == 92
    assert store.split("train").labels.tolist() == [0] * 9 + [1] * 9
