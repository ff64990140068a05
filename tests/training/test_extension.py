"""An extended run: what is copied, what is held still, and that it can be broken anywhere."""

import pytest
import torch
from training.runs import small_recipe
from training.test_loop import train_until, without_clock

from longarena.errors import UserError
from longarena.recipes.extending import extended, recipe_before
from longarena.recipes.pretraining import pretrained, start_of
from longarena.recipes.recipe import build_task, override
from longarena.records.folder import read_records
from longarena.tracks import track_of
from longarena.training import checkpoint
from longarena.training.best import read_best
from longarena.training.evaluate import evaluate_run
from longarena.training.extension import POSITION, check_extension, copied, freeze
from longarena.training.folder import RunFolder
from longarena.training.loop import train

OLD, NEW = 40, 100
BEFORE = small_recipe("linear", "steps=4", "evaluate_every=2")
OPTIONS = {"steps": 6, "rate": 0.05, "changes": ("checkpoint_every=2", "evaluate_every=3")}
RECIPE = extended(BEFORE, NEW, **OPTIONS)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("home")


@pytest.fixture(autouse=True)
def own_home(home, monkeypatch):
    """Prepare the data once for all tests."""
    monkeypatch.setenv("LONGARENA_HOME", str(home))


@pytest.fixture(scope="module")
def finished(home, tmp_path_factory):
    """Train the run and the one before once; return the record and the folder of the runs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LONGARENA_HOME", str(home))
        runs = tmp_path_factory.mktemp("runs")
        return train(RECIPE, runs), runs


def tensors(runs, recipe):
    return read_best(RunFolder.of(runs, recipe)).tensors


def built(recipe):
    signature = build_task(recipe).signature
    return track_of(signature).build(recipe.model, signature, recipe.seed)


@pytest.mark.parametrize("rows", [6, 9, 10, 14])
@pytest.mark.parametrize("num_prepended", [0, 2])
def test_positions_are_repeated_end_to_end(rows, num_prepended):
    # of six rows in the table only three are positions that were read
    old = torch.randn(num_prepended + 6, 5)
    new = copied(old, num_prepended + rows, 3, num_prepended)
    assert len(new) == num_prepended + rows
    assert new[:num_prepended].equal(old[:num_prepended])
    assert all(new[num_prepended + i].equal(old[num_prepended + i % 3]) for i in range(rows))


@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_a_run_begins_with_the_copy_and_all_other_weights(tmp_path, pooling):
    before = override(BEFORE, [f"model.pooling={pooling}"])
    # a step at such a rate changes no bit
    recipe = extended(before, NEW, steps=1, rate=1e-40)
    record = train(recipe, tmp_path)
    old, new = tensors(tmp_path, before), tensors(tmp_path, recipe)
    first = int(pooling == "cls")
    assert old.keys() == new.keys()
    assert all(old[name].equal(new[name]) for name in old if name != POSITION)
    assert new[POSITION].shape[0] > NEW > old[POSITION].shape[0]
    for i in range(NEW):
        assert new[POSITION][first + i].equal(old[POSITION][first + i % OLD])
    # what was copied is scored before anything is trained
    assert record.curve.steps == [0, 1]


@pytest.mark.parametrize("norm", ["layer", "batch"])
def test_only_new_positions_move_where_only_they_are_free(tmp_path, norm):
    # a decay moves without a gradient
    before = override(BEFORE, [f"model.norm={norm}", "optimiser.weight_decay=0.1"])
    recipe = extended(before, NEW, only_positions=True, steps=3, rate=0.5)
    # the last parameters, not the best
    recipe = override(recipe, ["evaluate_every=1", "checkpoint_every=1"])
    record = train(recipe, tmp_path)
    found = checkpoint.read(RunFolder.of(tmp_path, recipe).checkpoints, 3).tensors
    new = {k.removeprefix("model/"): v for k, v in found.items() if k.startswith("model/")}
    old = tensors(tmp_path, before)
    assert all(old[name].equal(new[name]) for name in old if name != POSITION)
    assert new[POSITION][:OLD].equal(old[POSITION][:OLD])
    moved = new[POSITION][OLD:NEW]
    still = copied(old[POSITION], NEW, OLD)[OLD:]
    assert not (moved == still).all(dim=1).any()
    assert record.metrics.parameters == sum(p.numel() for p in built(recipe).parameters())


def test_all_weights_move_where_all_are_free(finished):
    _, runs = finished
    old, new = tensors(runs, BEFORE), tensors(runs, RECIPE)
    assert not any(old[name].equal(new[name]) for name in old)


def test_the_record_names_the_run_before_and_what_both_cost(finished):
    record, runs = finished
    before = RunFolder.of(runs, BEFORE).read_record()
    assert (record.start.run, record.start.length) == (BEFORE.id, OLD)
    assert record.start.words.startswith(f"4 steps of training at length 40 ({BEFORE.id})")
    assert record.total_seconds == before.metrics.train_seconds + record.metrics.train_seconds
    # the run before is a result of the task, and its record is one of its own
    assert {run.id for run in read_records(runs / "records").runs} == {BEFORE.id, RECIPE.id}
    assert evaluate_run(RunFolder.of(runs, RECIPE), "test").score == record.metrics.test


@pytest.mark.parametrize("step", [2, 5])
def test_broken_anywhere_it_ends_like_an_unbroken_run(finished, tmp_path, step):
    record, whole = finished
    train(BEFORE, tmp_path)
    assert f"step {step} of 6" in train_until(step, RECIPE, tmp_path)
    assert without_clock(train(RECIPE, tmp_path)) == without_clock(record)
    theirs, ours = tensors(whole, RECIPE), tensors(tmp_path, RECIPE)
    assert all(tensor.equal(ours[name]) for name, tensor in theirs.items())


def test_a_pretrained_run_is_extended_with_its_pretraining(tmp_path):
    first = pretrained(BEFORE, 4)
    recipe = extended(first, NEW, steps=1)
    assert start_of(recipe) == first
    record = train(recipe, tmp_path)
    before = RunFolder.of(tmp_path, first).read_record()
    assert record.start.train_seconds == before.total_seconds > before.metrics.train_seconds


@pytest.mark.parametrize(
    ("mixer", "changes", "only_positions", "reason"),
    [
        ("linformer", [], False, "whose number depends on the length"),
        ("synthesizer", [], False, "whose number depends on the length"),
        ("transformer-xl", [], False, "positions of its own"),
        ("routing", [], True, "leave out --only-positions"),
    ],
)
def test_mechanisms_that_cannot_be_extended_are_refused(mixer, changes, only_positions, reason):
    recipe = extended(small_recipe(mixer, *changes), NEW, only_positions=only_positions)
    with pytest.raises(UserError, match=reason):
        check_extension(recipe)


@pytest.mark.parametrize("mixer", ["transformer", "local", "bigbird", "performer", "routing"])
def test_mechanisms_without_weights_for_a_length_are_extended(mixer):
    check_extension(extended(small_recipe(mixer), NEW))


@pytest.mark.parametrize("positions", ["sinusoidal", "rotary", "none"])
def test_positions_that_are_not_learned_are_refused(positions):
    with pytest.raises(UserError, match=f"({positions}).*only learned ones"):
        extended(small_recipe("linear", f"model.positions={positions}"), NEW)


def test_what_has_no_greater_length_is_refused():
    with pytest.raises(UserError, match="up to 40 tokens in the run already"):
        extended(BEFORE, OLD)
    with pytest.raises(UserError, match=f"extend the run before {BEFORE.id}"):
        extended(RECIPE, 2 * NEW)
    with pytest.raises(UserError, match="is a pretraining"):
        extended(start_of(pretrained(BEFORE, 2)), NEW)
    with pytest.raises(UserError, match="leave out --set model"):
        extended(BEFORE, NEW, changes=("model.depth=3",))


def test_a_recipe_gives_back_the_one_before_and_ids_stay_apart():
    assert recipe_before(RECIPE) == start_of(RECIPE) == BEFORE
    others = [extended(BEFORE, NEW), extended(BEFORE, NEW, only_positions=True), RECIPE, BEFORE]
    assert len({recipe.id for recipe in others}) == 4
    seeded = override(BEFORE, ["seed=1"])
    assert recipe_before(override(RECIPE, ["seed=1"])) == seeded
    assert type(RECIPE).model_validate_json(RECIPE.model_dump_json()) == RECIPE


def test_only_what_can_move_counts_in_the_norm_of_the_gradient():
    model = built(RECIPE)
    freeze(model, OLD)
    model(torch.ones(1, 1, NEW, dtype=torch.int64)).sum().backward()
    found = {name for name, parameter in model.named_parameters() if parameter.grad is not None}
    assert found == {POSITION}
    grad = model.backbone.embedding.position.grad
    assert not grad[:OLD].any()
    assert grad[OLD:NEW].any(dim=1).all()
