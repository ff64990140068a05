from dataclasses import replace
from statistics import fmean, stdev

import pytest
from report.arena import run
from report.examples import MACHINE, run_record

from longarena.findings.boards import (
    Average,
    best_average,
    boards,
    own_variant,
    spread_of_averages,
)
from longarena.findings.families import rank_families
from longarena.findings.scores import Row, score_table
from longarena.findings.suites import FIVE
from longarena.recipes.presets import PRESETS
from longarena.recipes.presets.own import RECIPES
from longarena.recipes.pretraining import pretrained, start_of
from longarena.tracks.metric import ACCURACY, Metric

LINEAR, TRANSFORMER = Row("linear"), Row("transformer")


def only_board(runs):
    (board,) = boards(score_table(runs))
    return board


def rows(lines):
    return [line.row for line in lines]


@pytest.mark.parametrize(("parameters", "is_free"), [(110, False), (111, True)])
def test_over_ten_percent_more_parameters_is_free(parameters, is_free):
    runs = [run_record(parameters=100), run_record("linear", parameters=parameters)]
    board = only_board(runs)
    assert (LINEAR in rows(board.free)) is is_free
    assert (LINEAR in rows(board.comparable)) is not is_free


@pytest.mark.parametrize("sets", [["model.depth=4"], ["model.width=32"], ["steps=50"]])
def test_another_recipe_than_the_presets_is_free(sets):
    board = only_board([run_record(), run_record("linear", sets=sets)])
    assert rows(board.comparable) == [TRANSFORMER]
    assert [(line.row, line.changes) for line in board.free] == [(LINEAR, sets[0])]


@pytest.mark.parametrize("plain", [[], [run_record(), run_record("local")]])
def test_what_was_changed_alike_for_all_is_compared_on_a_board_of_its_own(plain):
    changed = [
        run_record(mixer, accuracy=accuracy, sets=["steps=8"])
        for mixer, accuracy in (("transformer", 0.3), ("linear", 0.4), ("mine:Own", 0.2))
    ]
    *others, board = boards(score_table([*plain, *changed]))
    assert len(others) == bool(plain)
    assert board.changes == "steps=8"
    assert rows(board.comparable) == [TRANSFORMER, LINEAR, Row("mine:Own")]
    assert {line.changes for line in board.comparable} == {""}
    assert board.free == ()
    assert board.best(board.columns[0]) == 0.4


def test_a_change_that_the_baseline_does_not_share_stays_free():
    runs = [run_record(mixer, sets=["steps=8"]) for mixer in ("linear", "local")]
    board = only_board([run_record(), *runs])
    assert (board.changes, len(board.free)) == ("", 2)


def test_without_a_transformer_nobody_knows_and_the_run_is_free():
    board = only_board([run_record("linear")])
    assert (rows(board.comparable), rows(board.free)) == ([], [LINEAR])


def test_an_option_of_the_mechanism_stays_comparable():
    board = only_board([run_record(), run_record(sets=["model.materialised=true"])])
    assert rows(board.comparable) == [TRANSFORMER, Row("transformer", "materialised=true")]


def test_every_score_stands_exactly_once():
    runs = [
        run(task, name, 0) for task in FIVE for name in ("transformer", "linear", "synthesizer")
    ]
    runs += [run("listops", "linear", 0, sets=["steps=50"])]
    board = only_board(runs)
    shown = [
        score.runs for line in (*board.comparable, *board.free) for score in line.scores.values()
    ]
    assert sorted(record.id for found in shown for record in found) == sorted(r.id for r in runs)


def test_presets_have_boards_of_their_own_and_the_serious_one_is_first():
    runs = [run("listops", "linear", 0, "quick"), run("listops", "linear", 0)]
    assert [board.preset for board in boards(score_table(runs))] == ["small", "quick"]


def test_machines_share_a_board():
    other = MACHINE.model_copy(update={"processor": "Another"})
    runs = [run("listops", "linear", 0), run("listops", "transformer", 0)]
    runs[1] = runs[1].model_copy(update={"machine": other})
    assert len(only_board(runs).comparable) == 2


def test_an_average_is_over_the_five_tasks_and_with_path_x_over_six():
    runs = [run(task, "transformer", 0) for task in (*FIVE, "path-x")]
    (line,) = only_board(runs).comparable
    accuracies = [record.metrics.test.value for record in runs]
    five, six = line.averages
    assert (five.num_tasks, six.num_tasks) == (5, 6)
    assert five.mean == pytest.approx(fmean(accuracies[:5]))
    assert six.mean == pytest.approx(fmean(accuracies))
    assert not five.is_partial
    assert not six.is_partial


def test_an_average_that_misses_a_task_is_partial():
    (line,) = only_board([run(task, "transformer", 0) for task in FIVE[:4]]).comparable
    assert (line.averages[0].num_tasks, line.averages[0].is_partial) == (4, True)


def test_a_task_without_a_score_is_missing_in_the_average():
    runs = [run(task, "transformer", 0) for task in FIVE[:4]]
    runs += [run("pathfinder", "transformer", 0, status="diverged")]
    (line,) = only_board(runs).comparable
    assert line.averages[0].num_tasks == 4


def test_a_variant_of_the_data_counts_in_no_average_and_stands_last():
    runs = [run("listops", "transformer", 0, sets=["task.max_length=1000"])]
    runs += [run("text", "transformer", 0)]
    board = only_board(runs)
    assert [column.variant for column in board.columns] == ["", "max_length=1000"]
    assert board.comparable[0].averages[0].mean == runs[1].metrics.test.value


def test_data_from_elsewhere_counts_in_the_average_where_the_board_has_none_of_the_presets():
    elsewhere = run("retrieval", "transformer", 0, "cpu", sets=["task.data=aan-mini"])
    (line,) = only_board([elsewhere, run("image", "transformer", 0, "cpu")]).comparable
    assert line.averages[0].num_tasks == 2
    own = run("retrieval", "transformer", 0, "cpu")
    (line,) = only_board([elsewhere, own]).comparable
    assert line.averages[0].mean == own.metrics.test.value
    shorter = run("retrieval", "transformer", 0, "cpu", sets=["task.max_length=64"])
    (line,) = only_board([shorter, own]).comparable
    assert line.averages[0].mean == own.metrics.test.value


def test_the_data_that_quick_asks_for_is_no_variant_of_it():
    runs = [run(task, "transformer", 0, "quick") for task in ("listops", "pathfinder")]
    assert only_board(runs).comparable[0].averages[0].num_tasks == 2


def test_a_free_line_averages_its_comparable_scores_too():
    heavy = run("text", "linear", 0)
    heavy = heavy.model_copy(
        update={"metrics": heavy.metrics.model_copy(update={"parameters": 10**9})}
    )
    light = run("listops", "linear", 0)
    base = [run(task, "transformer", 0) for task in ("text", "listops")]
    board = only_board([*base, heavy, light])
    (free,) = board.free
    (level,) = (line for line in board.comparable if line.row == LINEAR)
    assert [column.task for column in free.scores] == ["text"]
    assert [column.task for column in level.scores] == ["listops"]
    assert (free.averages[0].num_tasks, level.averages[0].num_tasks) == (2, 1)


def test_the_last_row_is_mean_and_deviation_over_the_comparable_mechanisms():
    scores = {"transformer": 0.30, "linear": 0.35, "local": 0.22}
    runs = [run_record(name, accuracy=score) for name, score in scores.items()]
    board = only_board([*runs, run_record("sparse", accuracy=0.9, parameters=10**6)])
    found = board.spread(board.columns[0])
    assert found.mean == pytest.approx(fmean(scores.values()))
    assert found.deviation == pytest.approx(stdev(scores.values()))
    assert board.best(board.columns[0]) == 0.35


def test_averages_of_fewer_tasks_never_win_and_are_not_averaged():
    partial, low, high = Average(0.9, 4, 5), Average(0.4, 5, 5), Average(0.6, 5, 5)
    assert best_average([partial, low, None, high]) == high
    assert spread_of_averages([partial, low, high]).mean == pytest.approx(0.5)


def test_a_collapsed_seed_is_counted_and_averaged():
    runs = [run("pathfinder", "local", 0), run("pathfinder", "local", 1, status="collapsed")]
    (score,) = score_table(runs).scores.values()
    assert (score.num_collapsed, len(score.values)) == (1, 2)


def own_task(mixer, value, metric=ACCURACY):
    """A run on a task that no suite and nobody here knows, judged by some metric."""
    recipe = PRESETS["quick"]("mine:Words", mixer, 0)
    plain = run_record(mixer, accuracy=value)
    return plain.model_copy(update={"recipe": recipe, "metric": metric})


def test_a_task_from_outside_stands_on_a_board_without_averages():
    runs = [run_record(), own_task("transformer", 0.4)]
    arena, own = boards(score_table(runs))
    assert [arena.suite.name, own.suite.name] == ["arena", "yours"]
    assert own.comparable[0].averages == ()


def test_where_less_is_better_the_least_is_the_best():
    bits = Metric(name="bits", title="Bits per byte", unit="bits", better="less", decimals=3)
    runs = [own_task("transformer", 0.9, bits), own_task("linear", 0.1, bits)]
    board = only_board(runs)
    assert board.best(board.columns[0]) == 0.1
    marks = {line.row: line.scores[board.columns[0]].is_above_level for line in board.comparable}
    assert marks == {TRANSFORMER: False, LINEAR: True}  # the level is 0.17


@pytest.fixture
def own_recipes(monkeypatch):
    """Pretend that somebody published recipes for the Transformer and for `linear`."""
    published = replace(RECIPES["s4d"]["image"], options={})
    for mixer in ("transformer", "linear"):
        monkeypatch.setitem(RECIPES, mixer, dict.fromkeys(FIVE, published))
    own_variant.cache_clear()
    yield
    own_variant.cache_clear()


@pytest.mark.usefixtures("own_recipes")
def test_under_recipes_of_their_own_all_are_free_and_have_averages():
    runs = [run(task, mixer, 0, "own") for task in FIVE for mixer in ("transformer", "linear")]
    board = only_board(runs)
    assert not board.has_common_recipe
    assert (rows(board.comparable), rows(board.free)) == ([], [TRANSFORMER, LINEAR])
    assert {line.changes for line in board.free} == {""}
    assert [line.averages[0].num_tasks for line in board.free] == [5, 5]
    assert board.best(board.columns[0]) is None


@pytest.mark.usefixtures("own_recipes")
def test_a_variant_of_the_data_of_own_recipes_counts_in_no_average():
    runs = [run("text", "linear", 0, "own", sets=["task.max_length=1000"])]
    runs += [run("image", "linear", 0, "own")]
    board = only_board(runs)
    assert [column.variant for column in board.columns] == ["", "max_length=1000"]
    assert board.free[0].averages[0].num_tasks == 1


@pytest.mark.usefixtures("own_recipes")
def test_boards_of_own_recipes_come_last_and_rank_no_family():
    own = [run(task, "linear", seed, "own") for task in FIVE for seed in range(2)]
    found = boards(score_table([*own, run("text", "linear", 0, "quick")]))
    assert [board.preset for board in found] == ["quick", "own"]
    assert rank_families(found, []).preset == "quick"
    assert rank_families(found[1:], []).preset is None


def test_pretrained_and_not_pretrained_stand_apart():
    plain = [run_record(mixer) for mixer in ("transformer", "linear")]
    found = [pretrained(run.recipe, 40) for run in plain]
    others = [run.model_copy(update={"recipe": r}) for run, r in zip(plain, found, strict=True)]
    boards_found = boards(score_table([*plain, *others]))
    assert [board.changes for board in boards_found] == ["", "pretraining.steps=40"]
    assert all(len(board.comparable) == 2 for board in boards_found)
    # one alone is free: the preset does not ask for it
    [board] = boards(score_table([*plain, others[1]]))
    assert [line.changes for line in board.free] == ["pretraining.steps=40"]


def test_a_run_that_fills_in_hidden_tokens_stands_on_no_board():
    run = run_record()
    start = start_of(pretrained(run.recipe, 40))
    assert boards(score_table([run.model_copy(update={"recipe": start})])) == []
