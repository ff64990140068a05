"""A whole session with tiny models: what is slow shows as slow, what fails is a result."""

import subprocess
import sys
import threading
from statistics import median

import pytest
from measure.own_mixers import HOG_BYTES, SLOW_PRODUCTS

from longarena.data.files import locked
from longarena.errors import UserError
from longarena.measure import Shape, measure
from longarena.measure.candidate import Target
from longarena.measure.limits import PRODUCT_FLOPS
from longarena.measure.session import _Run, default_session
from longarena.measure.speed import StoppingRule
from longarena.progress import Progress
from longarena.records.folder import read_records

SHAPE = Shape(width=16, depth=1, num_heads=2, mlp_width=16)
SMALL = Shape(width=64, depth=2, num_heads=2, mlp_width=128)
PATIENCE = StoppingRule(turn_seconds=0.05, min_turns=2, max_turns=2)
OWN = [f"measure.own_mixers:{name}" for name in ("Plain", "Slow", "Hog", "Greedy", "Broken")]


def tiny(store, mixers, **options):
    fixed = {"lengths": [64], "batch_size": 2, "shape": SHAPE, "stopping_rule": PATIENCE}
    return measure(mixers, store=store, **fixed | options)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return tmp_path_factory.mktemp("records")


@pytest.fixture(scope="module")
def session(store):
    return {
        record.model.mixer.partition(":")[2]: record for record in tiny(store, OWN, inference=True)
    }


def test_what_is_slowed_down_shows_as_slow(session):
    plain, slow = session["Plain"], session["Slow"]
    product_seconds = PRODUCT_FLOPS / slow.limits.typical_flops_per_second
    for found, base in ((slow.metrics, plain.metrics), (slow.inference, plain.inference)):
        slower = (1 / found.steps_per_second - 1 / base.steps_per_second) / product_seconds
        assert SLOW_PRODUCTS / 3 < slower < SLOW_PRODUCTS * 3


def test_a_hog_shows_as_a_hog(session):
    plain, hog = session["Plain"].metrics, session["Hog"].metrics
    assert hog.peak_live_bytes - plain.peak_live_bytes == pytest.approx(HOG_BYTES, rel=0.01)
    assert hog.peak_resident_bytes - plain.peak_resident_bytes > HOG_BYTES / 2


def test_rates_follow_from_the_median(session):
    metrics = session["Plain"].metrics
    assert len(metrics.seconds_per_step) == 4
    assert metrics.steps_per_second == 1 / median(metrics.seconds_per_step)
    assert metrics.tokens_per_second == pytest.approx(2 * 64 * metrics.steps_per_second)


def test_the_machine_was_measured_with_them(session):
    assert 1e8 < session["Plain"].limits.flops_per_second < 1e15
    assert 1e8 < session["Plain"].limits.copy_bytes_per_second < 1e14


def test_full_memory_is_a_result_and_a_broken_mixer_is_one_too(session):
    assert (session["Greedy"].status, session["Greedy"].metrics) == ("out of memory", None)
    assert session["Broken"].status == "failed"
    assert "two and two make five" in session["Broken"].reason


def test_all_but_what_is_broken_is_stored_and_not_measured_again(session, store):
    stored = {record.id for record in read_records(store).measurements}
    assert stored == {record.id for name, record in session.items() if name != "Broken"}
    assert tiny(store, OWN[:4], session=session["Plain"].session, inference=True) == [
        session[name] for name in ("Plain", "Slow", "Hog", "Greedy")
    ]


def test_a_session_is_named_by_what_is_compared():
    one, other = SHAPE.with_mixer("linear", {}), SHAPE.with_mixer("transformer", {})
    assert default_session([one], 2, ["train"]) == default_session([one], 2, ["train"])
    names = [
        default_session([one], 2, ["train"]),
        default_session([one, other], 2, ["train"]),
        default_session([one], 4, ["train"]),
        default_session([one], 2, ["train", "predict"]),
    ]
    assert len(set(names)) == 4


@pytest.mark.parametrize(
    ("mixers", "options", "message"),
    [
        (["liner"], {}, "did you mean linear"),
        (["linear[block"], {}, "not of the form"),
        (["linear"], {"lengths": [0]}, "at least 1"),
        (["linear"], {"lengths": []}, "at least 1"),
        (["linear"], {"batch_size": 0}, "at least 1"),
    ],
)
def test_what_cannot_be_measured_is_refused_before_anything_starts(
    tmp_path, mixers, options, message
):
    with pytest.raises(UserError, match=message):
        tiny(tmp_path, mixers, **options)


BUSY = """
import os, time
parent, end = os.getppid(), time.monotonic() + 300
while os.getppid() == parent and time.monotonic() < end:
    pass
"""


@pytest.fixture
def moderate_load():
    """One core of the machine does something else."""
    process = subprocess.Popen([sys.executable, "-c", BUSY])
    yield
    process.kill()
    process.wait()


@pytest.mark.alone
@pytest.mark.usefixtures("moderate_load")
def test_the_instrument_is_steady_under_load(tmp_path):
    stopping_rule = StoppingRule(
        turn_seconds=0.05, min_turns=6, max_turns=100, max_seconds_each=8.0
    )
    mixers = ["transformer", "linear", "transformer", "linear"]
    found = measure(
        mixers,
        store=tmp_path,
        lengths=[256],
        batch_size=2,
        shape=SMALL,
        stopping_rule=stopping_rule,
    )
    transformer, linear, transformer_again, linear_again = (
        record.metrics.steps_per_second for record in found
    )
    # mostly they are within a tenth; a virtual machine has hours in which they are not
    assert transformer_again == pytest.approx(transformer, rel=0.2)
    assert linear_again == pytest.approx(linear, rel=0.2)


def test_a_mechanism_that_takes_too_long_is_a_result(tmp_path, hasty):
    stopping_rule = StoppingRule(timeout_seconds=2.0)
    [record] = tiny(tmp_path, ["measure.own_mixers:Endless"], stopping_rule=stopping_rule)
    assert (record.status, record.metrics) == ("timed out", None)
    assert "no answer within 2 s" in record.reason
    assert read_records(tmp_path).measurements == [record]


def test_a_second_process_in_a_session_waits_for_the_first(tmp_path, monkeypatch):
    said, measured = threading.Event(), threading.Event()
    progress = type("Told", (Progress,), {"say": lambda self, line: said.set()})()
    monkeypatch.setattr(_Run, "complete", lambda self, targets: measured.set() or [])
    target = Target("a/b", SHAPE.with_mixer("linear", {}), 0, 64, 2, ("train",))
    second = threading.Thread(target=_Run(tmp_path, StoppingRule(), progress).of, args=([target],))
    with locked(tmp_path / ".a.b.lock", "unused"):
        second.start()
        assert said.wait(60)
        assert not measured.is_set()
    second.join()
    assert measured.is_set()
