"""A damaged file of a run never becomes a false record: it is noticed, an older one is taken."""

import json
import random
import shutil
import struct

import pytest
import torch
from training.runs import small_recipe
from training.test_loop import train_until, without_clock

from longarena.data.tensors import load_tensors
from longarena.errors import UserError
from longarena.progress import SILENT, Progress
from longarena.training.best import Best, read_best
from longarena.training.checkpoint import (
    Checkpoint,
    latest,
    latest_state,
    read,
    save,
    saved_steps,
)
from longarena.training.evaluate import evaluate_run
from longarena.training.folder import RunFolder
from longarena.training.loop import train

RECIPE = small_recipe("linear", "optimiser.rate=1e-12")


def moment(step):
    tensors = {"a": torch.arange(6.0).reshape(2, 3) + step, "b": torch.tensor(step)}
    return Checkpoint(step, tensors, {"step": step, "losses": [0.5, 1.25]})


def same(one, other):
    tensors = [sorted(each.tensors.items()) for each in (one, other)]
    return (one.step, one.state) == (other.step, other.state) and all(
        a == b and x.dtype == y.dtype and torch.equal(x, y)
        for (a, x), (b, y) in zip(*tensors, strict=True)
    )


class Told(Progress):
    def __init__(self):
        self.lines = []

    def say(self, line):
        self.lines.append(line)


def newest(folder, progress=SILENT):
    return latest(folder, progress, lambda found: found)


def flip(path, bit):
    content = bytearray(path.read_bytes())
    content[bit // 8] ^= 1 << bit % 8
    path.write_bytes(content)


@pytest.mark.parametrize("suffix", ["json", "safetensors"])
def test_no_flipped_bit_passes_unnoticed(tmp_path, suffix):
    save(tmp_path, moment(4))
    path = tmp_path / f"step-00000004.{suffix}"
    bits = 8 * path.stat().st_size
    for bit in random.Random(suffix).sample(range(bits), min(bits, 300)):
        flip(path, bit)
        try:
            assert same(read(tmp_path, 4), moment(4)), bit
        except ValueError as error:
            assert "\n" not in str(error)
        flip(path, bit)
    assert same(read(tmp_path, 4), moment(4))


def with_header(path, change):
    """Change the header of a safetensors file, whose bytes stay."""
    content = path.read_bytes()
    (size,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + size])
    change(header)
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + content[8 + size :])


@pytest.mark.parametrize(
    "change",
    [
        lambda header: header["a"].update(dtype="I32"),
        lambda header: header["a"].update(shape=[3, 2]),
        lambda header: header.update(c=header.pop("a")),
        lambda header: header.pop("__metadata__"),
        lambda header: header["__metadata__"].update(longarena="{}"),
        lambda header: header["__metadata__"].update(longarena="[" * 5000),
    ],
    ids=["type", "shape", "name", "no digest", "nothing", "nested"],
)
def test_tensors_of_another_type_shape_or_name_are_noticed(tmp_path, change):
    save(tmp_path, moment(2))
    save(tmp_path, moment(4))
    with_header(tmp_path / "step-00000004.safetensors", change)
    assert newest(tmp_path).step == 2


@pytest.mark.parametrize("text", ["", "{}", "[]", "[" * 5000, '{"step": ' + "9" * 5000 + "}"])
def test_a_state_that_is_not_as_it_was_written_is_noticed(tmp_path, text):
    save(tmp_path, moment(2))
    save(tmp_path, moment(4))
    (tmp_path / "step-00000004.json").write_text(text)
    told = Told()
    assert newest(tmp_path, told).step == 2
    assert "the checkpoint of step 4 is damaged" in told.lines[0]
    assert latest_state(tmp_path) is None


def test_files_of_different_steps_do_not_make_a_checkpoint(tmp_path):
    save(tmp_path, moment(2))
    save(tmp_path, moment(4))
    old, new = (tmp_path / f"step-0000000{step}" for step in (2, 4))
    shutil.copy(f"{old}.safetensors", f"{new}.safetensors")
    assert newest(tmp_path).step == 2, "tensors of another step"
    shutil.copy(f"{old}.json", f"{new}.json")
    assert newest(tmp_path).step == 2, "a whole checkpoint under another name"


def test_a_damaged_checkpoint_does_not_take_the_place_of_a_good_one(tmp_path):
    for step in (6, 8):
        save(tmp_path, moment(step))
        (tmp_path / f"step-0000000{step}.json").write_text("{}")
    save(tmp_path, moment(2))
    assert saved_steps(tmp_path) == [2]
    save(tmp_path, moment(4))
    assert saved_steps(tmp_path) == [2, 4]


def test_neither_a_folder_nor_a_strange_name_blocks_anything(tmp_path):
    for name in ("step-00000002.json", "step-00000002.safetensors", "step-00000009.json"):
        (tmp_path / name / "kept").mkdir(parents=True)
    for name in ("step-x.json", "step-2.json", "step-00000003.json"):
        (tmp_path / name).write_text("{}")
    assert newest(tmp_path) is None
    save(tmp_path, moment(2))
    assert same(newest(tmp_path), moment(2))
    assert len(list(tmp_path.glob("aside-*/kept"))) == 2, "what was in the way is not deleted"


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A run that was stopped, the same one unbroken, and the home of their data."""
    place = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LONGARENA_HOME", str(place / "home"))
        train_until(9, RECIPE, place / "stopped")
        train(RECIPE, place / "unbroken")
    return place


@pytest.fixture
def stopped(runs, tmp_path, monkeypatch):
    """A copy of the stopped run; what it must end with is `runs / "unbroken"`."""
    monkeypatch.setenv("LONGARENA_HOME", str(runs / "home"))
    shutil.copytree(runs / "stopped", tmp_path / "runs")
    return RunFolder.of(tmp_path / "runs", RECIPE)


def ends_like_the_unbroken_one(runs, folder, told=SILENT):
    record = train(RECIPE, folder.path.parents[2], progress=told)
    whole = RunFolder.of(runs / "unbroken", RECIPE)
    assert record.status == "collapsed"
    assert without_clock(record) == without_clock(whole.read_record())
    assert folder.best.read_bytes() == whole.best.read_bytes()
    return True


def lose_the_log(folder):
    folder.log.unlink()


def flip_a_high_bit_of_the_log(folder):
    flip(folder.log, 8 * 20 + 7)


def put_a_folder_for_the_log(folder):
    folder.log.unlink()
    folder.log.mkdir()


def damage_the_best(folder):
    flip(folder.best, 8 * folder.best.stat().st_size - 1)


def lose_the_best(folder):
    folder.best.unlink()


def exchange_the_best(folder):
    """Put parameters of another step there, as a run does that is killed after a validation."""
    best = Best.read(folder.best)
    later = best.state.model_copy(update={"step": 10})
    Best(later, {key: value + 1 for key, value in best.tensors.items()}).write(folder.best)


def empty_the_state(folder):
    (folder.checkpoints / "step-00000009.json").write_text("{}")


def damage_every_checkpoint(folder):
    for path in folder.checkpoints.glob("step-*.json"):
        path.write_text("{}")


@pytest.mark.parametrize(
    "damage",
    [
        lose_the_log,
        flip_a_high_bit_of_the_log,
        put_a_folder_for_the_log,
        damage_the_best,
        lose_the_best,
        exchange_the_best,
        empty_the_state,
        damage_every_checkpoint,
    ],
)
def test_a_run_ends_with_the_same_bits_whatever_was_damaged(runs, stopped, damage):
    damage(stopped)
    assert ends_like_the_unbroken_one(runs, stopped)


def test_the_checkpoint_of_another_run_is_not_taken(runs, stopped):
    other = small_recipe("linear", "seed=1")
    found = read(stopped.checkpoints, 9)
    foreign = Checkpoint(9, found.tensors, found.state | {"run": other.id})
    save(stopped.checkpoints, foreign)
    told = Told()
    assert ends_like_the_unbroken_one(runs, stopped, told)
    assert f"step 9 of run {other.id}" in told.lines[0]


def test_a_run_does_not_go_on_with_other_data(stopped):
    found = read(stopped.checkpoints, 9)
    save(stopped.checkpoints, Checkpoint(9, found.tensors, found.state | {"fingerprint": "0" * 16}))
    with pytest.raises(UserError, match="fingerprint 0000000000000000"):
        train(RECIPE, stopped.path.parents[2])


@pytest.fixture
def ended(runs, tmp_path, monkeypatch):
    monkeypatch.setenv("LONGARENA_HOME", str(runs / "home"))
    shutil.copytree(runs / "unbroken", tmp_path / "runs")
    return RunFolder.of(tmp_path / "runs", RECIPE)


def test_the_best_parameters_of_an_ended_run_are_recovered_or_refused(ended):
    expected = read_best(ended)
    damage_the_best(ended)
    found = read_best(ended)
    assert found.state == expected.state
    assert all(torch.equal(found.tensors[key], value) for key, value in expected.tensors.items())
    shutil.rmtree(ended.checkpoints)
    ended.checkpoints.mkdir()
    ended.best.write_bytes(b"")
    with pytest.raises(UserError, match="damaged"):
        read_best(ended)


def test_parameters_are_scored_on_the_data_of_their_run_only(ended):
    best = Best.read(ended.best)
    assert load_tensors(ended.best).about["fingerprint"] == ended.read_record().fingerprint
    Best(best.state.model_copy(update={"fingerprint": "0" * 16}), best.tensors).write(ended.best)
    with pytest.raises(UserError, match="was trained on data with the fingerprint"):
        evaluate_run(ended, "test")


def test_the_record_of_another_run_is_not_read_as_this_ones(ended):
    text = ended.record.read_text()
    ended.record.write_text(text.replace(RECIPE.id, "0" * 10))
    with pytest.raises(UserError, match="is of another run"):
        train(RECIPE, ended.path.parents[2])
