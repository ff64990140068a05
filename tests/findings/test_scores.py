import math
from statistics import stdev

import pytest
from report.examples import MACHINE, MODEL, measure_record, run_record

from longarena.attention import MixerCard, OwnMixer
from longarena.findings.costs import cost_tables
from longarena.findings.scores import Row, Score, score_table
from longarena.tracks.metric import ACCURACY

TRANSFORMER, LINEAR = Row("transformer"), Row("linear")


def only_score(runs):
    (score,) = score_table(runs).scores.values()
    return score


def test_a_cell_is_the_mean_and_the_spread_over_seeds():
    accuracies = [0.30, 0.34, 0.35]
    score = only_score(run_record(seed=i, accuracy=a) for i, a in enumerate(accuracies))
    assert score.mean == pytest.approx(0.33)
    assert score.spread == pytest.approx(stdev(accuracies))
    assert score.values == tuple(accuracies)


def test_a_single_seed_has_no_spread():
    assert only_score([run_record()]).spread is None


def test_a_seed_that_was_run_again_counts_once_by_its_later_run():
    first = run_record(accuracy=0.30, finished_at="2025-11-03T10:00:00+00:00")
    again = run_record(accuracy=0.40, finished_at="2025-11-04T10:00:00+00:00")
    assert only_score([again, first]).values == (0.40,)


def test_a_diverged_seed_is_counted_and_not_averaged():
    score = only_score([run_record(seed=0, accuracy=0.4), run_record(seed=1, accuracy=None)])
    assert (score.mean, score.num_without) == (0.4, 1)


def test_a_mechanism_whose_every_seed_diverged_has_no_mean_and_no_mark():
    score = only_score([run_record(accuracy=None)])
    assert score.mean is None
    assert not score.is_above_level


@pytest.mark.parametrize(("sigmas", "is_above"), [(2.9, False), (3.1, True)])
def test_the_mark_needs_three_standard_errors(sigmas, is_above):
    accuracy, examples = 0.25, 2000
    error = math.sqrt(accuracy * (1 - accuracy) / examples)
    score = Score(ACCURACY, (accuracy,), 0, error, accuracy - sigmas * error, 1, None)
    assert score.is_above_level is is_above


def test_seeds_that_disagree_make_the_standard_error_larger():
    steady = Score(ACCURACY, (0.25, 0.25), 0, 0.0097, 0.20, 1, None)
    scattered = Score(ACCURACY, (0.20, 0.30), 0, 0.0097, 0.20, 1, None)
    assert steady.is_above_level
    assert not scattered.is_above_level


def test_parameters_are_compared_with_the_transformer_of_the_same_column():
    table = score_table(
        [
            run_record("transformer", parameters=100),
            run_record("linear", parameters=111),
            run_record("transformer", sets=["steps=50"], parameters=400),
        ]
    )
    column = next(column for column in table.columns if not column.changes)
    assert table.scores[LINEAR, column].parameter_ratio == 1.11
    assert table.scores[LINEAR, column].is_over_budget(1.10)
    assert not table.scores[TRANSFORMER, column].is_over_budget(1.10)


def test_without_the_transformer_there_is_no_parameter_ratio():
    assert only_score([run_record("linear")]).parameter_ratio is None


@pytest.mark.parametrize(
    "other",
    [
        {"variant": "max_length=512"},
        {"fingerprint": "e" * 16},
        {"preset": "small"},
        {"sets": ["steps=50"]},
        {"sets": ["model.depth=4"]},
        {"task": run_record().recipe.task.model_copy(update={"version": 2})},
    ],
    ids=["variant", "data", "preset", "steps", "depth", "version"],
)
def test_what_differs_stands_in_a_column_of_its_own(other):
    table = score_table([run_record(), run_record(**other)])
    assert len(table.columns) == 2
    assert all(len(score.values) == 1 for score in table.scores.values())


@pytest.mark.parametrize("sets", [["log_every=7"], ["checkpoint_every=9"]])
def test_what_decides_no_number_makes_no_column(sets):
    assert len(score_table([run_record(), run_record(seed=1, sets=sets)]).columns) == 1


def test_machines_make_no_column():
    other = MACHINE.model_copy(update={"processor": "another", "threads": 1})
    assert len(score_table([run_record(), run_record(seed=1, machine=other)]).columns) == 1


def test_an_option_of_the_mixer_makes_a_row():
    table = score_table([run_record(), run_record(sets=["model.materialised=true"])])
    assert table.rows == (TRANSFORMER, Row("transformer", "materialised=true"))
    assert len(table.columns) == 1


def test_rows_follow_the_table_of_mixers_and_a_users_own_comes_last():
    table = score_table(run_record(name) for name in ("mine:Own", "linear", "transformer"))
    assert [row.mixer for row in table.rows] == ["transformer", "linear", "mine:Own"]


def test_the_level_of_a_column_is_the_records():
    table = score_table([run_record()])
    assert table.level(table.columns[0]) == 0.17


def test_costs_are_compared_with_the_transformer_at_the_same_length():
    (table,) = cost_tables(
        [
            measure_record("transformer", 1024, speed=4.0, peak=1000),
            measure_record("transformer", 2048, speed=1.0, peak=4000),
            measure_record("linear", 2048, speed=3.0, peak=2000),
        ]
    )
    cost = table.costs[LINEAR, 2048]
    assert (cost.speed_ratio, cost.memory_ratio) == (3.0, 0.5)
    assert (table.lengths, table.rows) == ((1024, 2048), (TRANSFORMER, LINEAR))
    assert (LINEAR, 1024) not in table.costs


@pytest.mark.parametrize(
    "other",
    [
        {"session": "s2"},
        {"batch_size": 16},
        {"model": MODEL.model_copy(update={"mixer": "linear", "depth": 6})},
        {"machine": MACHINE.model_copy(update={"threads": 1})},
    ],
    ids=["session", "batch", "model", "threads"],
)
def test_no_ratio_is_taken_across_what_is_not_comparable(other):
    tables = cost_tables([measure_record("transformer"), measure_record("linear", **other)])
    ratios = [table.costs[LINEAR, 1024].speed_ratio for table in tables if LINEAR in table.rows]
    assert (len(tables), ratios) == (2, [None])


def test_a_mechanism_measured_again_has_the_median():
    speeds = [3.0, 9.0, 4.0]
    (table,) = cost_tables(measure_record(speed=s, repeat=i) for i, s in enumerate(speeds))
    assert table.costs[TRANSFORMER, 1024].steps_per_second == 4.0


def test_what_could_not_be_measured_is_named_with_its_reason():
    (table,) = cost_tables([measure_record(speed=None, reason="needs 40 GB")])
    assert table.costs == {}
    assert table.failures == {(TRANSFORMER, 1024): "needs 40 GB"}


def test_the_latest_session_comes_first():
    days = ["2025-11-01", "2025-11-03", "2025-11-02"]
    records = [measure_record(session=day, finished_at=day) for day in days]
    assert [table.session for table in cost_tables(records)] == sorted(days, reverse=True)


def own_run(source, accuracy, day, seed=0):
    """A run of a user's own mixer with some source."""
    record = run_record("mine:Own", accuracy=accuracy, seed=seed, finished_at=f"2025-11-{day}")
    own = OwnMixer(source=source, card=MixerCard(name="mine:Own", title="My own"))
    model = record.recipe.model.model_copy(update={"own": own})
    recipe = record.recipe.model_copy(update={"model": model})
    return record.model_copy(update={"recipe": recipe, "id": recipe.id})


def test_runs_from_before_an_edit_stand_in_a_row_of_their_own():
    runs = [own_run("aa", 0.2, "01", seed=1), own_run("bb", 0.4, "02"), own_run("aa", 0.3, "01")]
    table = score_table(runs)
    assert table.rows == (Row("mine:Own"), Row("mine:Own", source="aa"))
    assert [row.card.title for row in table.rows] == ["My own"] * 2
    values = [table.scores[row, table.columns[0]].values for row in table.rows]
    assert values == [(0.4,), (0.3, 0.2)]
