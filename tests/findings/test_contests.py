"""Mechanisms are put in an order only where all have scores on the same tasks."""

import pytest
from findings.contestants import findings, runs, scored
from findings.test_ties import FOUND

from longarena.findings.contests import MAX_COLUMNS
from longarena.findings.scores import Row
from longarena.records.folder import Records
from longarena.report.findings import Findings

TWO = {"listops": 0.3, "text": 0.6}
FIVE = TWO | {"retrieval": 0.7, "image": 0.4, "pathfinder": 0.7}


def better(scores, by):
    return {task: accuracy + by for task, accuracy in scores.items()}


def tasks(contest):
    return [column.task for column in contest.columns]


def mixers(contest):
    return [entry.row.mixer for entry in contest.entries]


def test_the_average_comes_first_and_then_every_task():
    found = findings({"transformer": TWO, "linear": better(TWO, 0.1)}).contests
    assert [tasks(each) for each in found] == [["listops", "text"], ["listops"], ["text"]]
    linear, transformer = found[0].entries
    assert (linear.row, linear.value) == (Row("linear"), pytest.approx(0.55))
    errors = [run.metrics.test.error for run in runs({"linear": better(TWO, 0.1)})]
    assert linear.error == pytest.approx(sum(error**2 for error in errors) ** 0.5 / 2)
    assert linear.has_learnt
    assert transformer.row == Row("transformer")


def test_an_average_of_fewer_tasks_is_in_no_order_with_one_of_more():
    scores = {"transformer": FIVE, "linear": FIVE, "local": {"pathfinder": 0.9, "text": 0.9}}
    first = findings(scores).contests[0]
    assert tasks(first) == list(FIVE)
    assert mixers(first) == ["transformer", "linear"]
    gaps = [(gap.column.task, gap.why) for gap in first.absent[Row("local")]]
    assert gaps == [(task, "not run") for task in ("listops", "retrieval", "image")]


def test_a_task_that_few_have_does_not_keep_the_others_out():
    scores = dict.fromkeys(("transformer", "linear", "local", "s4d", "fnet", "mega"), TWO)
    scores["transformer"] = scores["linear"] = TWO | {"image": 0.4}
    first = findings(scores).contests[0]
    assert tasks(first) == ["listops", "text"]
    assert len(first.entries) == 6


def test_breadth_counts_more_than_the_number_of_mechanisms():
    scores = {name: {"listops": 0.3} for name in ("local", "s4d", "fnet", "mega", "luna")}
    scores |= {"transformer": FIVE, "linear": FIVE}
    assert tasks(findings(scores).contests[0]) == list(FIVE)


@pytest.mark.parametrize(("apart", "is_tied"), [(0.01, True), (0.1, False)])
def test_who_is_not_apart_beyond_error_is_tied(apart, is_tied):
    first = findings({"transformer": TWO, "linear": better(TWO, apart)}).contests[0]
    assert first.is_tied(Row("linear"), Row("transformer")) is is_tied
    assert first.is_tied(Row("linear"), Row("linear"))


def test_several_tasks_tell_apart_what_one_does_not():
    # on each task alone 2 points are within error, on all five together they are not
    found = findings({"transformer": FIVE, "linear": better(FIVE, 0.02)}).contests
    tied = [each.is_tied(Row("linear"), Row("transformer")) for each in found]
    assert tied == [False, True, True, True, True, True]


def test_one_task_is_compared_by_the_answers_as_its_board_is():
    records = Records(runs=[record for record, _ in FOUND.values()])
    (contest,) = Findings.of(records).contests
    assert contest.is_tied(Row("transformer"), Row("linear"))
    assert not contest.is_tied(Row("transformer"), Row("local"))


def test_who_is_too_large_takes_part_and_who_diverged_is_named():
    records = Records(
        runs=[
            scored("transformer", 0.3),
            scored("linear", 0.4),
            scored("linformer", 0.5, parameters=200_000),
            scored("local", None),
        ]
    )
    (contest,) = Findings.of(records).contests
    assert mixers(contest) == ["linformer", "linear", "transformer"]
    assert [contest.is_over_budget(entry) for entry in contest.entries] == [True, False, False]
    why = {row.mixer: gaps[0].why for row, gaps in contest.absent.items()}
    assert why == {"local": "diverged"}


def test_without_the_baseline_nothing_is_compared():
    assert findings({"linear": TWO, "local": TWO}).contests == []


def test_a_contest_knows_lengths_level_and_seeds():
    first = findings({"transformer": TWO, "linear": TWO}).contests[0]
    assert first.lengths == [1000, 2000]
    assert first.length == 2000
    assert first.level == pytest.approx((0.175 + 0.5) / 2)
    assert first.num_seeds == 1
    seeds = [scored(name, 0.3, seed=seed) for name in ("transformer", "linear") for seed in (0, 1)]
    assert Findings.of(Records(runs=seeds)).contests[0].num_seeds == 2


def test_a_run_that_was_never_timed_has_no_length():
    untimed = [scored(name, 0.3, steps_per_second=0.0) for name in ("transformer", "linear")]
    assert Findings.of(Records(runs=untimed)).contests[0].length is None


def test_the_preset_that_compares_more_is_taken():
    records = Records(runs=runs({"transformer": FIVE, "linear": FIVE}))
    quick = [run.model_copy() for run in runs({"transformer": TWO, "linear": TWO})]
    for at, run in enumerate(quick):
        recipe = run.recipe.model_copy(update={"preset": "paper"})
        quick[at] = run.model_copy(update={"recipe": recipe})
    records.runs.extend(quick)
    assert {each.board.preset for each in Findings.of(records).contests} == {"small"}


def test_no_suite_offers_more_tasks_than_one_can_choose_from():
    own = [
        run.model_copy(
            update={
                "fingerprint": f"{number:016}",
                "recipe": run.recipe.model_copy(
                    update={
                        "task": run.recipe.task.model_copy(update={"name": f"mine:Task{number}"})
                    }
                ),
            }
        )
        for number in range(MAX_COLUMNS + 3)
        for run in runs({"transformer": {"listops": 0.3}, "linear": {"listops": 0.4}})
    ]
    assert len(Findings.of(Records(runs=own)).contests) == MAX_COLUMNS
