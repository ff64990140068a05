"""Which one to take: ties are ties, and what does not serve is set aside with its reason."""

import pytest
from findings.contestants import findings, scored
from report.examples import measure_record

from longarena.findings.answer import Question, answer
from longarena.records.folder import Records
from longarena.report.findings import Findings

# listops has 1,000 tokens, text 2,000; four points apart is a tie on either
SCORES = {
    "transformer": {"listops": 0.40, "text": 0.70},
    "linear": {"listops": 0.39, "text": 0.70},
    "fnet": {"listops": 0.30, "text": 0.60},
    "luna": {"listops": 0.175, "text": 0.50},
}
SPEEDS = {"transformer": 2.0, "linear": 3.0, "fnet": 9.0, "luna": 4.0}
MEASUREMENTS = [
    measure_record(mixer, length, speed * 1024 / length, peak=2**20 * length // 1024)
    for mixer, speed in SPEEDS.items()
    for length in (1024, 4096)
]


def ask(scores=SCORES, measurements=MEASUREMENTS, which=0, **question):
    found = findings(scores, measurements)
    return answer(found.contests[which], Question(**question), found.widest)


def order(found):
    return [place.entry.row.mixer for place in found.places]


def aside(found):
    return {row.mixer: reason for row, reason in found.aside.items()}


def test_of_those_tied_with_the_best_the_fastest_comes_first():
    found = ask()
    assert order(found) == ["linear", "transformer", "fnet"]
    assert [(place.by_score, place.by_speed) for place in found.places] == [(1, 2), (1, 3), (3, 1)]
    assert found.best.row.mixer == "transformer"


def test_who_is_better_beyond_error_comes_first_however_slow():
    scores = SCORES | {"linear": {"listops": 0.30, "text": 0.60}}
    assert order(ask(scores)) == ["transformer", "fnet", "linear"]


def test_behind_the_tied_the_better_score_comes_first_however_slow():
    # 39 and 37 % are not apart beyond error, and fnet is the fastest of all
    listops = {"transformer": 0.50, "linear": 0.39, "fnet": 0.37}
    found = ask({mixer: {"listops": score} for mixer, score in listops.items()})
    assert order(found) == ["transformer", "linear", "fnet"]
    assert [place.by_score for place in found.places] == [1, 2, 3]


def test_who_is_too_large_takes_part_unless_the_rules_are_asked_for():
    large = scored("fnet", 0.60, parameters=200_000)
    runs = [scored("transformer", 0.40), scored("linear", 0.39), large]
    (contest,) = Findings.of(Records(runs=runs)).contests
    assert [(entry.row.mixer, entry.size) for entry in contest.entries[:2]] == [
        ("fnet", 2.0),
        ("transformer", 1.0),
    ]
    assert order(answer(contest, Question(), None)) == ["fnet", "transformer", "linear"]
    found = answer(contest, Question(must_keep_budget=True), None)
    assert order(found) == ["transformer", "linear"]
    assert aside(found) == {"fnet": "too large"}


def test_speeds_within_five_percent_share_a_place():
    close = [measure_record("transformer", 1024, 3.1), measure_record("linear", 1024, 3.0)]
    scores = {name: SCORES[name] for name in ("transformer", "linear")}
    found = ask(scores, close)
    assert [place.by_speed for place in found.places] == [1, 1]
    assert order(found) == ["transformer", "linear"]  # the better score decides


@pytest.mark.parametrize(
    ("share", "first"), [(0.0, "linear"), (0.25, "linear"), (0.5, "linear"), (1.0, "fnet")]
)
def test_the_more_speed_matters_the_further_the_fastest_comes(share, first):
    assert order(ask(speed_share=share))[0] == first


def test_what_is_no_better_than_chance_is_taken_by_nobody():
    assert aside(ask(speed_share=1.0)) == {"luna": "no better than chance"}


def test_who_cannot_decode_is_set_aside():
    found = ask(must_decode=True)
    assert aside(found)["fnet"] == "cannot decode"
    assert order(found) == ["linear", "transformer"]


def test_memory_is_limited_at_the_length_that_is_asked_for():
    limit = 2 * 2**20
    assert aside(ask(max_memory_bytes=limit)) == {"luna": "no better than chance"}
    found = ask(max_memory_bytes=limit, length=4000)
    assert set(aside(found).values()) == {"no better than chance", "too much memory"}
    assert found.places == ()
    assert found.best is None


def test_who_did_not_run_at_the_length_is_set_aside():
    failed = [measure_record("transformer", 4096, None), *MEASUREMENTS[2:]]
    failed.append(MEASUREMENTS[0])
    assert "transformer" not in aside(ask(measurements=failed))
    assert aside(ask(measurements=failed, length=4096))["transformer"] == "did not run"


@pytest.mark.parametrize(
    ("asked", "length"), [(None, 1024), (100, 1024), (2000, 1024), (2500, 4096), (10**6, 4096)]
)
def test_costs_are_those_of_the_nearest_measured_length(asked, length):
    found = ask(length=asked, which=1)  # listops alone, of 1,000 tokens
    assert found.length == length
    assert found.places[0].cost.steps_per_second == pytest.approx(3.0 * 1024 / length)


def test_without_a_question_the_length_is_that_of_the_longest_task():
    twice = [measure_record("transformer", n, 1.0) for n in (1024, 2048)]
    assert ask(measurements=twice).length == 2048  # text


def test_a_length_that_few_were_measured_at_does_not_count():
    found = [*MEASUREMENTS, measure_record("linear", 2048, 1.0)]
    assert ask(measurements=found, length=2048).length in (1024, 4096)


def test_who_was_not_measured_is_last_by_speed_alone():
    found = ask(measurements=[each for each in MEASUREMENTS if each.model.mixer != "linear"])
    assert order(found) == ["transformer", "linear", "fnet"]
    assert found.places[1].by_speed is None


def test_without_any_measurement_the_score_decides():
    found = ask(measurements=[])
    assert order(found) == ["transformer", "linear", "fnet"]
    assert found.length is None


def test_an_average_of_fewer_tasks_outranks_nobody():
    scores = SCORES | {"local": {"text": 0.99}}
    assert "local" not in order(ask(scores))
    assert order(ask(scores, which=2))[0] == "local"
