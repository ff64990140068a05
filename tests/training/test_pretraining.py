"""A pretrained run: what it begins with, what it costs, and that it can be broken anywhere."""

import pytest
from training.runs import small_recipe
from training.test_loop import train_until, without_clock

from longarena.data.files import locked
from longarena.errors import Busy, UserError
from longarena.recipes.pretraining import pretrained, start_of
from longarena.recipes.recipe import build_task, override
from longarena.records.folder import read_records
from longarena.tracks import track_of
from longarena.training import run as run_module
from longarena.training.best import read_best
from longarena.training.evaluate import evaluate_run
from longarena.training.folder import RunFolder
from longarena.training.loop import train
from longarena.training.start import Start
from longarena.training.trial import try_until

RECIPE = pretrained(small_recipe(), 8)
START = start_of(RECIPE)
# a step at such a rate changes no bit
STILL = ["optimiser.rate=1e-40", "pretraining.rate=0.01", "steps=1", "schedule.warmup_steps=0"]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("home")


@pytest.fixture(autouse=True)
def own_home(home, monkeypatch):
    """Prepare the data once for all tests."""
    monkeypatch.setenv("LONGARENA_HOME", str(home))


@pytest.fixture
def runs(tmp_path):
    return tmp_path / "runs"


@pytest.fixture(scope="module")
def finished(home, tmp_path_factory):
    """Train the run and its start once; return the record and the folder of the runs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LONGARENA_HOME", str(home))
        runs = tmp_path_factory.mktemp("runs")
        return train(RECIPE, runs), runs


def backbone(folder):
    found = read_best(folder).tensors.items()
    return {name: tensor for name, tensor in found if name.startswith("backbone.")}


@pytest.mark.parametrize("changes", [[], ["model.norm=batch", "model.pooling=cls"]])
def test_a_run_begins_with_the_backbone_of_its_start_and_a_head_of_its_own(runs, changes):
    recipe = override(RECIPE, [*STILL, *changes])
    train(recipe, runs)
    before, after = RunFolder.of(runs, start_of(recipe)), RunFolder.of(runs, recipe)
    theirs, ours = backbone(before), backbone(after)
    signature = build_task(recipe).signature
    drawn = track_of(signature).build(recipe.model, signature, recipe.seed).state_dict()
    fixed = [name for name in theirs if "running" not in name and "num_batches" not in name]
    assert theirs.keys() == ours.keys()
    assert all(theirs[name].equal(ours[name]) for name in fixed)
    assert not all(theirs[name].equal(drawn[name]) for name in fixed)
    head = {name: t for name, t in read_best(after).tensors.items() if name.startswith("head.")}
    assert head
    assert all(tensor.equal(drawn[name]) for name, tensor in head.items())


def test_the_record_names_the_start_and_its_cost(finished):
    record, runs = finished
    before = RunFolder.of(runs, START).read_record()
    assert (record.start.run, record.start.steps) == (START.id, 8)
    assert record.start.train_seconds == before.metrics.train_seconds > 0
    assert record.total_seconds == record.start.train_seconds + record.metrics.train_seconds
    assert record.curve_seconds[-1] == record.start_seconds + record.curve.seconds[-1]
    assert (record.start.metric.name, record.metric.name) == ("recovered", "accuracy")
    # the start is no result of the task
    assert read_records(runs / "records").runs == [record]
    assert before.metrics.details["masked_share"] == 0.1


@pytest.mark.parametrize(("step", "where"), [(5, START), (10, RECIPE)])
def test_broken_in_either_part_it_ends_like_an_unbroken_run(finished, runs, step, where):
    record, whole = finished
    message = train_until(step, RECIPE, runs)
    assert f"step {step} of {where.steps} " in message
    assert where.id in message
    assert without_clock(train(RECIPE, runs)) == without_clock(record)
    tensors = [read_best(RunFolder.of(at, RECIPE)).tensors for at in (whole, runs)]
    assert all(tensor.equal(tensors[1][name]) for name, tensor in tensors[0].items())


def test_runs_that_differ_in_what_comes_later_share_their_start(finished, tmp_path, monkeypatch):
    trained, fit = [], run_module.Run.fit
    monkeypatch.setattr(
        run_module.Run, "fit", lambda run, *stop: trained.append(run.recipe.id) or fit(run, *stop)
    )
    other = override(RECIPE, ["label_smoothing=0.1"])
    assert train(other, finished[1], store=tmp_path).start.run == START.id
    assert trained == [other.id]


def test_a_trial_begins_with_the_start_too(finished, runs):
    found = try_until(RECIPE, 5, runs)
    assert found.curve_values == finished[0].curve.values[:1]


def test_both_runs_are_scored_again_alike(finished):
    record, runs = finished
    folder = RunFolder.of(runs, START)
    assert evaluate_run(RunFolder.of(runs, RECIPE), "test").score == record.metrics.test
    assert evaluate_run(folder, "test").score == folder.read_record().metrics.test
    assert evaluate_run(folder, "test").metric.name == "recovered"


def test_a_start_in_use_is_not_trained_twice(runs):
    with (
        locked(RunFolder.of(runs, START).lock, "unused"),
        pytest.raises(Busy, match=f"{START.id} is in use by another process"),
    ):
        train(RECIPE, runs)


def test_a_start_that_diverged_is_refused_with_a_lower_rate(runs):
    recipe = override(RECIPE, ["pretraining.rate=1e30"])
    with pytest.raises(UserError, match=r"has diverged .* --set pretraining.rate=3.3e\+29"):
        train(recipe, runs)
    assert read_records(runs / "records").runs == []


def test_a_start_that_does_not_fit_is_refused(finished):
    record, runs = finished
    wider = small_recipe("linear", "model.width=24")
    signature = build_task(wider).signature
    model = track_of(signature).build(wider.model, signature, wider.seed)
    with pytest.raises(UserError, match="cannot be begun with: it does not fit the model"):
        Start(RunFolder.of(runs, START), record.start).load(model)
