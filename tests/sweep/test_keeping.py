"""Runs that are copied to a storage, whole or not, and brought back."""

import pytest
from data.storages import KINDS, Dying, Killed, folder
from training.runs import small_recipe
from training.test_checkpoint import Told, flip, moment

from longarena.data.storage import FolderStorage, StorageError
from longarena.sweep.keeping import (
    Mirror,
    fetch_checkpoints,
    name_of,
    send_checkpoints,
    send_results,
)
from longarena.training.checkpoint import average, read, save, saved_steps
from longarena.training.folder import RunFolder

RECIPE = small_recipe()


class Machine:
    """A machine with a folder of its own, which sees a storage."""

    def __init__(self, path, storage, recipe=RECIPE):
        self.run = RunFolder.of(path, recipe)
        self.run.path.mkdir(parents=True)
        self.run.write_recipe(recipe)
        self.mirror = Mirror(self.run.path, storage, name_of(RECIPE))

    def save(self, *steps, kept=2):
        for step in steps:
            save(self.run.checkpoints, moment(step), kept)
        return self

    def send(self):
        send_checkpoints(self.run, self.mirror)
        return self

    def fetch(self, told=None):
        return fetch_checkpoints(self.run, self.mirror, told or Told())

    @property
    def steps(self):
        return saved_steps(self.run.checkpoints)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_run_goes_on_elsewhere_from_its_last_checkpoint(tmp_path, kind):
    there, told = kind(tmp_path), Told()
    first = Machine(tmp_path / "a", there).save(2, 4, 6).send()
    second = Machine(tmp_path / "b", there)
    assert second.fetch(told) == 6
    assert second.steps == first.steps == [4, 6]
    assert told.lines == [f"the checkpoint of step 6 came from {there.title}"]
    assert read(second.run.checkpoints, 6).state == moment(6).state


def test_checkpoints_that_the_run_has_dropped_are_dropped_there(tmp_path):
    there = folder(tmp_path)
    machine = Machine(tmp_path / "a", there).save(2, 4).send().save(6).send()
    names = there.names(machine.mirror.name_of(machine.run.checkpoints))
    assert names == [f"step-{step:08d}.{end}" for step in (4, 6) for end in ("json", "safetensors")]


def test_what_has_not_changed_is_not_sent_again(tmp_path):
    there = Dying(tmp_path / "there").left(5)
    machine = Machine(tmp_path / "a", there).save(2, 4).send()
    assert there.number == 0
    machine.send()
    # a checkpoint that was damaged is written again, and sent again
    machine.save(4)
    with pytest.raises(Killed):
        machine.send()


@pytest.mark.parametrize("number", range(13))
def test_a_machine_may_die_between_any_two_files(tmp_path, number):
    """The mean of the last three is right wherever the run goes on: none of them is missing."""
    there = Dying(tmp_path / "there")
    first = Machine(tmp_path / "a", there.left(7)).save(2, 4, 6, kept=3).send()
    first.save(8, 10, 12, 14, kept=3)
    there.left(number)
    try:
        first.send()
    except Killed:
        assert number < 12
    second, told = Machine(tmp_path / "b", FolderStorage(there.root)), Told()
    last = second.fetch(told)
    assert last in (6, 10, 12, 14)
    # what was not sent to its end does not look like a checkpoint
    assert told.lines == [f"the checkpoint of step {last} came from {there.title}"]
    second.save(*range(last + 2, 16, 2), kept=3)
    _, count = average(second.run.checkpoints, 3)
    assert count == 3
    assert second.steps[-3:] == [10, 12, 14]


@pytest.mark.parametrize("end", ["json", "safetensors"])
def test_a_damaged_checkpoint_is_passed_over_for_the_one_before(tmp_path, end):
    there, told = folder(tmp_path), Told()
    Machine(tmp_path / "a", there).save(2, 4).send()
    flip(there.root / name_of(RECIPE) / f"checkpoint/step-00000004.{end}", 900)
    second = Machine(tmp_path / "b", there)
    assert second.fetch(told) == 2
    assert second.steps == [2]
    assert told.lines[0].startswith(f"the checkpoint of step 4 in {there.title} is damaged (")
    # the run comes there again, and what it writes takes the place of the damaged one
    second.save(4).send()
    assert Machine(tmp_path / "c", there).fetch() == 4


def test_tensors_that_are_missing_are_told(tmp_path):
    there, told = folder(tmp_path), Told()
    Machine(tmp_path / "a", there).save(2).send()
    (there.root / name_of(RECIPE) / "checkpoint/step-00000002.safetensors").unlink()
    second = Machine(tmp_path / "b", there)
    assert second.fetch(told) == 0
    assert second.steps == []
    assert "has no file" in told.lines[0]


def test_a_machine_that_is_as_far_keeps_what_it_has(tmp_path):
    there = folder(tmp_path)
    Machine(tmp_path / "a", there).save(2, 4).send()
    assert Machine(tmp_path / "b", there).save(4).fetch() == 0
    assert Machine(tmp_path / "c", there).save(2).fetch() == 4


def test_checkpoints_of_another_recipe_are_refused_in_one_line(tmp_path):
    there, other = folder(tmp_path), small_recipe("linear", "seed=1")
    Machine(tmp_path / "a", there, other).save(2).send()
    with pytest.raises(StorageError, match=f"holds run {other.id} under the name of .*{RECIPE.id}"):
        Machine(tmp_path / "b", there).fetch()


def test_the_record_is_the_last_of_the_results(tmp_path):
    there = Dying(tmp_path / "there").left(3)
    machine = Machine(tmp_path / "a", there)
    for path in (machine.run.record, machine.run.answers, machine.run.log):
        path.write_text("result")
    with pytest.raises(Killed):
        send_results(machine.run, machine.mirror)
    assert there.names(name_of(RECIPE)) == ["log.jsonl", "recipe.json", "record.npz"]
