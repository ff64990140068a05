import hashlib
import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from data.server import serving

from longarena.data import fetch as fetch_module
from longarena.data.download import Download
from longarena.data.fetch import BLOCK, fetch
from longarena.data.files import locked
from longarena.errors import UserError
from longarena.progress import SILENT, Bar, Progress

CONTENT = np.random.default_rng(0).bytes(5_000_000)
CHECKSUM = f"md5:{hashlib.md5(CONTENT).hexdigest()}"


@pytest.fixture(autouse=True)
def no_pause(monkeypatch):
    monkeypatch.setattr(fetch_module, "PAUSE_SECONDS", 0.0)


@pytest.fixture
def server():
    with serving(CONTENT) as (address, behaviour):
        behaviour.download = Download(address, CHECKSUM)
        yield behaviour


def files(folder):
    return sorted(path.name for path in folder.iterdir() if not path.name.endswith(".lock"))


def start(request):
    return int(request.removeprefix("bytes=").rstrip("-"))


def test_a_file_is_fetched_once(server, tmp_path):
    path = fetch(server.download, tmp_path, SILENT)
    assert path.read_bytes() == CONTENT
    assert fetch(server.download, tmp_path, SILENT) == path
    assert server.requests == [None]
    assert files(tmp_path) == ["data.tar.gz"]


def test_a_break_is_resumed_where_it_happened(server, tmp_path):
    server.break_after = [2_000_000, 1_000_000]
    assert fetch(server.download, tmp_path, SILENT).read_bytes() == CONTENT
    first, second = (start(request) for request in server.requests[1:])
    assert 2_000_000 - BLOCK < first <= 2_000_000
    assert first + 1_000_000 - BLOCK < second <= first + 1_000_000


def test_a_later_process_goes_on_where_this_one_stopped(server, tmp_path):
    server.break_after = [2_000_000, 0, 0, 0, 0, 0]
    with pytest.raises(UserError, match=r"1\.9 MB are kept"):
        fetch(server.download, tmp_path, SILENT)
    assert files(tmp_path) == ["data.tar.gz.partial"]
    server.break_after = []
    assert fetch(server.download, tmp_path, SILENT).read_bytes() == CONTENT
    assert start(server.requests[-1]) > 2_000_000 - BLOCK
    assert files(tmp_path) == ["data.tar.gz"]


def test_a_server_without_range_sends_all_of_it_again(server, tmp_path):
    server.has_range, server.break_after = False, [2_000_000]
    assert fetch(server.download, tmp_path, SILENT).read_bytes() == CONTENT


def test_a_server_that_gets_no_further_is_given_up(server, tmp_path):
    server.has_range, server.break_after = False, [2_000_000, 1_000_000] * 4
    with pytest.raises(UserError, match="no connection"):
        fetch(server.download, tmp_path, SILENT)


def test_a_file_that_was_whole_already_is_taken(server, tmp_path):
    (tmp_path / "data.tar.gz.partial").write_bytes(CONTENT)
    assert fetch(server.download, tmp_path, SILENT).read_bytes() == CONTENT


def test_a_part_that_is_longer_than_the_file_is_thrown_away(server, tmp_path):
    (tmp_path / "data.tar.gz.partial").write_bytes(CONTENT + b"more")
    assert fetch(server.download, tmp_path, SILENT).read_bytes() == CONTENT


def test_a_short_failure_of_the_server_is_waited_out(server, tmp_path):
    server.failures = [503]
    assert fetch(server.download, tmp_path, SILENT).read_bytes() == CONTENT


def test_a_transfer_that_has_begun_survives_an_outage(server, tmp_path):
    server.break_after = [2_000_000, 0, 0, 0, 0, 1_000_000, 0, 0, 0, 0]
    assert fetch(server.download, tmp_path, SILENT).read_bytes() == CONTENT


def test_one_that_never_begins_is_given_up_soon(server, tmp_path):
    server.failures = [503] * 9
    with pytest.raises(UserError, match=r"503 .*; try again, or fetch"):
        fetch(server.download, tmp_path, SILENT)
    assert len(server.requests) == 2


def test_wrong_bytes_are_refused_and_not_kept(server, tmp_path):
    server.content = b"\x00" + CONTENT[1:]
    with pytest.raises(UserError, match="checksum is not md5") as refusal:
        fetch(server.download, tmp_path, SILENT)
    assert "\n" not in str(refusal.value)
    assert files(tmp_path) == []
    server.content = CONTENT
    assert fetch(server.download, tmp_path, SILENT).read_bytes() == CONTENT


def test_a_file_damaged_on_disk_is_fetched_again(server, tmp_path):
    (tmp_path / "data.tar.gz").write_bytes(b"damaged")
    assert fetch(server.download, tmp_path, SILENT).read_bytes() == CONTENT


def test_a_missing_file_is_asked_for_once(server, tmp_path):
    server.failures = [404, 404]
    with pytest.raises(UserError, match=r"404 Not Found; fetch http://127.*--source PATH"):
        fetch(server.download, tmp_path, SILENT)
    assert server.requests == [None]


def test_without_network_the_line_says_what_to_fetch(tmp_path):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{closed.getsockname()[1]}/data.tar.gz"
        with pytest.raises(UserError, match=rf"no connection; .*fetch {address} .*--source PATH"):
            fetch(Download(address, None), tmp_path, SILENT)


def test_a_second_process_waits_for_the_first(server, tmp_path):
    said = threading.Event()
    progress = type("Told", (type(SILENT),), {"say": lambda self, line: said.set()})()
    with ThreadPoolExecutor() as pool:
        with locked(tmp_path / ".data.tar.gz.lock", ""):
            second = pool.submit(fetch, server.download, tmp_path, progress)
            assert said.wait(60)
            assert not second.done()
        assert second.result().exists()


def test_the_bar_counts_what_came_earlier(server, tmp_path):
    bars = []

    class Recorded(Progress):
        def bar(self, label, total, done=0):
            bars.append((label, total, done, Bar(total)))
            return _Shown(bars[-1][-1])

    class _Shown:
        def __init__(self, bar):
            self.bar = bar

        def __enter__(self):
            return self.bar

        def __exit__(self, *error):
            return False

    server.break_after = [3_000_000]
    fetch(server.download, tmp_path, Recorded())
    assert [(total, done, bar.done) for _, total, done, bar in bars] == [(4, 0, 2), (4, 2, 2)]
    assert bars[0][0] == "downloading data.tar.gz (MB)"
