import pytest
from records.test_folder import record
from sweep.crews import RECIPES
from training.runs import small_recipe

from longarena.recipes.pretraining import pretrained
from longarena.records.folder import read_records, write_record
from longarena.records.record import FailureRecord
from longarena.sweep.plan import Estimates, Places, name_all, plan, stored_runs
from longarena.training.folder import RunFolder
from longarena.training.loop import train


@pytest.fixture
def places(tmp_path):
    return Places(tmp_path / "runs", tmp_path / "records")


def recorded(recipe, steps_per_second):
    metrics = record().metrics.model_copy(update={"steps_per_second": steps_per_second})
    return record(recipe=recipe, id=recipe.id, metrics=metrics)


def test_a_run_is_to_do_interrupted_or_done(places):
    done, begun, new = RECIPES
    write_record(places.store, recorded(done, 1.0))
    checkpoints = RunFolder.of(places.runs, begun).checkpoints
    checkpoints.mkdir(parents=True)
    for step in (4, 10):
        (checkpoints / f"step-{step:08d}.json").write_text("{}")
    planned = plan(RECIPES, places)
    assert [run.state for run in planned] == ["done", "interrupted", "to do"]
    assert planned[1].step == 10
    assert planned[2].recipe == new


@pytest.mark.parametrize("fixture", ["tmp_path", "indexed"])
def test_what_all_records_say_makes_the_same_plan(places, fixture, request):
    request.getfixturevalue(fixture)
    done, failed, mislabelled = RECIPES
    write_record(places.store, recorded(done, 1.0))
    write_record(places.store, failure(done))
    write_record(places.store, failure(failed))
    write_record(places.store, record(recipe=done, id=mislabelled.id))
    stored = stored_runs(read_records(places.store))
    planned = plan(RECIPES, places, stored)
    assert [run.state for run in planned] == ["done", "failed", "to do"]
    assert [(run.state, run.step, run.error) for run in planned] == [
        (run.state, run.step, run.error) for run in plan(RECIPES, places)
    ]
    assert [run.is_stored for run in planned] == [True, False, False]


def failure(recipe):
    ended = record()
    return FailureRecord(
        id=recipe.id,
        recipe=recipe,
        variant="",
        error="no memory",
        machine=ended.machine,
        versions=ended.versions,
        finished_at="2025-01-01",
    )


def test_planning_writes_nothing(places):
    train(RECIPES[0], places.runs, store=places.runs / "other")
    assert plan(RECIPES[:1], places)[0].state == "done"
    assert not places.store.exists()


def test_the_step_of_a_plan_is_where_training_goes_on(places):
    train(RECIPES[0], places.runs)
    assert RunFolder.of(places.runs, RECIPES[0]).last_checkpoint() == RECIPES[0].steps


def test_a_damaged_record_of_a_run_is_told_and_stops_no_plan(places):
    path = RunFolder.of(places.runs, RECIPES[0]).record
    path.parent.mkdir(parents=True)
    path.write_text("{")
    planned = plan(RECIPES, places)
    assert [run.state for run in planned] == ["failed", "to do", "to do"]
    assert "is damaged" in planned[0].error


def test_the_time_left_follows_from_like_runs(places):
    estimates = Estimates([recorded(RECIPES[0], rate) for rate in (1.0, 2.0, 300.0)])
    assert estimates.seconds(RECIPES[1], step=0) == 6.0
    assert estimates.seconds(RECIPES[1], step=10) == 1.0
    unlike = [small_recipe("performer"), small_recipe("linear", "batch_size=4")]
    assert [estimates.seconds(recipe, 0) for recipe in unlike] == [None, None]
    planned = plan([*RECIPES, *unlike], places)
    assert estimates.total(planned, num_workers=2) == (9.0, 2)


def test_what_the_sweep_has_finished_corrects_what_records_say():
    first, second = RECIPES[0], small_recipe("performer")
    estimates = Estimates([recorded(first, 2.0), recorded(second, 3.0)])
    assert [estimates.seconds(recipe, 0) for recipe in (first, second)] == [6.0, 4.0]
    estimates.add_finished(recorded(first, 8.0))
    assert [estimates.seconds(recipe, 0) for recipe in (first, second)] == [1.5, 1.0]
    estimates.add_finished(recorded(small_recipe("local"), 5.0))
    assert estimates.seconds(second, 0) == 1.0, "nothing was expected of local"


def test_names_tell_only_what_differs():
    short, long = (small_recipe("linear", f"task.max_length={n}", "seed=7") for n in (30, 40))
    other = small_recipe("local", "model.block=8")
    assert name_all([short, long, other])[0] == ("listops task.max_length=30", "linear", "7")
    assert name_all([short, long, other])[2] == ("listops", "local", "0")
    wide = small_recipe("local", "model.block=16")
    assert name_all([wide, other])[0].mixer == "local model.block=16"


def test_a_pretraining_counts_until_the_run_has_begun():
    estimates = Estimates([recorded(RECIPES[0], 2.0)])
    recipe = pretrained(RECIPES[0], 8)
    assert [estimates.seconds(recipe, step) for step in (0, 2)] == [(12 + 8) / 2, (12 - 2) / 2]
