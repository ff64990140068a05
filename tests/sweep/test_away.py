"""Machines that share no files, played by folders of one machine: one of them dies in a run."""

import os
import platform
import shutil
import signal
import time

import pytest
from sweep.test_local import wait_until
from training.runs import small_recipe
from training.test_loop import without_clock

from longarena.data.dataset import read_about
from longarena.data.server import FileServer
from longarena.data.storage import StorageError, claim, open_storage
from longarena.errors import MixerError
from longarena.progress import SILENT
from longarena.recipes.pretraining import pretrained, start_of
from longarena.recipes.recipe import build_task, replace
from longarena.sweep import keeper
from longarena.sweep.away import CHECKPOINTS, DATA, RUNS, AwayJob, carry_out_away, data_name
from longarena.sweep.supply import INCOMING, Offer, incoming, offer, supply
from longarena.sweep.worker import prepare_data
from longarena.tasks import prepare
from longarena.training import run as run_module
from longarena.training.folder import RunFolder
from longarena.training.loop import train

pytestmark = pytest.mark.slow

RECIPE = small_recipe("linear", "steps=20", "checkpoint_every=3", "average_checkpoints=3")


class Cluster:
    """A machine that sweeps, and others that have nothing but its server, and a storage perhaps."""

    def __init__(self, path, monkeypatch, has_storage):
        self.path, self._monkeypatch = path, monkeypatch
        self.runs, self.home = path / "driver" / "runs", path / "driver" / "home"
        roots = {RUNS: self.runs, DATA: self.home, INCOMING: incoming(self.home)}
        self.server = FileServer(roots)
        self.storage = str(path / "storage") if has_storage else None
        self.mark = claim(open_storage(self.storage)) if has_storage else ""
        self.enter("driver")

    def enter(self, machine):
        """Go to a machine: what is done from now on is done there."""
        self._monkeypatch.setenv("LONGARENA_HOME", str(self.path / machine / "home"))
        return self.path / machine / "home"

    def supply(self, find=lambda: False):
        self.enter("driver")
        return supply(RECIPE, self.storage, find, SILENT)

    def job(self, **changes):
        kept = {"storage": self.storage, "mark": self.mark, "seconds_between": 0.0}
        return AwayJob(**{"recipe": RECIPE, "threads": 1, "home": "driver"} | kept | changes)

    def carry_out(self, machine, **changes):
        self.enter(machine)
        return carry_out_away(self.job(**changes), self.server)

    @property
    def kept(self):
        """The folder of the run where its checkpoints are kept."""
        return RunFolder.of(
            self.path / "storage" / CHECKPOINTS if self.storage else self.runs, RECIPE
        )

    def kill(self, machine, step):
        """Do the run on a machine that dies once the checkpoint of a step has been sent."""
        self.enter(machine)
        worker = os.fork()
        if worker == 0:
            try:
                _wait_at(step + 2)
                carry_out_away(self.job(), self.server)
            finally:
                os._exit(1)
        try:
            wait_until(lambda: self.kept.last_checkpoint() >= step, seconds=60)
        finally:
            os.kill(worker, signal.SIGKILL)
            _, status = os.waitpid(worker, 0)
        assert os.WIFSIGNALED(status)


def _wait_at(step):
    """Have this process stop training before a step, until it is killed."""
    take_step = run_module.take_step

    def step_or_wait(learner, batch, at):
        if at == step:
            time.sleep(600)
        return take_step(learner, batch, at)

    run_module.take_step = step_or_wait


@pytest.fixture(params=[False, True], ids=["driver", "storage"])
def cluster(request, tmp_path, monkeypatch):
    return Cluster(tmp_path, monkeypatch, request.param)


def test_a_run_that_loses_its_machine_ends_elsewhere_with_the_same_bits(cluster):
    cluster.supply()
    unbroken = train(RECIPE, cluster.path / "unbroken")
    cluster.kill("first", step=15)
    outcome = cluster.carry_out("second")
    assert (outcome.state, outcome.reason) == ("finished", "")
    assert without_clock(outcome.record) == without_clock(unbroken)
    run = RunFolder.of(cluster.runs, RECIPE)
    assert without_clock(run.read_record(RECIPE)) == without_clock(unbroken)
    assert run.read_answers(outcome.record).digest == unbroken.answers
    best = RunFolder.of(cluster.path / "unbroken", RECIPE).best
    assert run.best.read_bytes() == best.read_bytes()
    origin = cluster.path / "storage" / CHECKPOINTS if cluster.storage else "driver"
    lines = [line.partition(": ")[2] for line in cluster.server.news()]
    assert f"the checkpoint of step 15 came from {origin}" in lines
    # nothing of it stays on the machine, nor in a storage
    assert not list((cluster.path / "second" / "home" / "work").rglob("*.*"))
    assert not cluster.storage or not list(cluster.kept.path.rglob("*.*"))


def test_a_trial_goes_on_elsewhere(tmp_path, monkeypatch):
    cluster = Cluster(tmp_path, monkeypatch, has_storage=False)
    cluster.supply()
    first = cluster.carry_out("first", until=10)
    assert (first.trial.step, first.record) == (10, None)
    second = cluster.carry_out("second", until=20)
    assert second.trial.curve_steps == [5, 10, 15, 20]
    assert second.trial.curve_values[:2] == first.trial.curve_values


def test_a_pretraining_is_trained_once_for_all_machines(cluster, monkeypatch):
    cluster.supply()
    first = pretrained(RECIPE, steps=6)
    second, steps = replace(first, label_smoothing=0.1), []
    assert start_of(first) == start_of(second)
    assert cluster.carry_out("first", recipe=first, until=5).trial.step == 5
    take_step = run_module.take_step

    def count(learner, batch, at):
        steps.append(at)
        return take_step(learner, batch, at)

    monkeypatch.setattr(run_module, "take_step", count)
    outcome = cluster.carry_out("second", recipe=second)
    assert steps == list(range(20))
    assert without_clock(outcome.record) == without_clock(train(second, cluster.path / "here"))


def test_the_errors_of_an_own_mixer_come_home(tmp_path, monkeypatch):
    cluster = Cluster(tmp_path, monkeypatch, has_storage=False)
    cluster.supply()

    def fail(*_):
        raise MixerError("mine:Mixer raised ValueError: no luck")

    monkeypatch.setattr(run_module, "take_step", fail)
    assert cluster.carry_out("first").reason == "mine:Mixer raised ValueError: no luck"
    assert "no luck" in RunFolder.of(cluster.runs, RECIPE).errors.read_text()


def test_data_is_prepared_by_one_machine_for_all(cluster, monkeypatch):
    fingerprint = cluster.supply()
    monkeypatch.setattr(prepare, "_write_generated", None)
    assert cluster.carry_out("first", until=1, fingerprint=fingerprint).state == "finished"
    folder = build_task(RECIPE).stored.folder(cluster.path / "first" / "home")
    assert read_about(folder).fingerprint == fingerprint
    assert f"to {folder}" in cluster.server.news()[0]


def test_other_data_on_a_machine_is_refused(cluster):
    cluster.supply()
    outcome = cluster.carry_out("first", fingerprint="0" * 16)
    assert outcome.state == "failed"
    assert "holds other data than the sweep's" in outcome.reason


def test_data_that_only_another_machine_has_is_brought(cluster, monkeypatch):
    """As if it could not be generated."""
    cluster.enter("first")
    prepare_data(RECIPE)
    monkeypatch.setattr(type(build_task(RECIPE)), "is_generated", False)

    def find():
        kept = {"home": "driver", "storage": cluster.storage, "mark": cluster.mark}
        for machine in ("second", "first"):
            cluster.enter(machine)
            if offer(Offer(recipe=RECIPE, **kept), cluster.server):
                cluster.enter("driver")
                return True
        return False

    name = data_name(build_task(RECIPE))
    assert cluster.supply(find) == read_about(cluster.path / "first" / "home" / name).fingerprint
    [line] = cluster.server.news()
    assert line.startswith(f"{platform.node()}: data {name} (")
    assert cluster.carry_out("second", until=1).state == "finished"
    assert not incoming(cluster.home).exists()


def test_a_storage_that_fails_does_not_stop_the_run(tmp_path, monkeypatch):
    cluster = Cluster(tmp_path, monkeypatch, has_storage=True)
    cluster.supply()

    def refuse(*_):
        raise StorageError("cannot write there: No space left on device")

    monkeypatch.setattr(keeper, "send_checkpoints", refuse)
    outcome = cluster.carry_out("first", until=15)
    assert outcome.trial.step == 15
    (last,) = (line for line in cluster.server.news() if "what could not be sent is in" in line)
    assert "No space left on device" in last
    # it is not lost either: this machine goes on with it
    monkeypatch.undo()
    cluster.carry_out("first")
    assert RunFolder.of(cluster.runs, RECIPE).read_record(RECIPE)


def test_a_folder_that_only_one_machine_has_is_no_storage(tmp_path, monkeypatch):
    cluster = Cluster(tmp_path, monkeypatch, has_storage=True)
    cluster.supply()
    shutil.move(tmp_path / "storage", tmp_path / "elsewhere")
    outcome = cluster.carry_out("first")
    assert outcome.state == "failed"
    assert "is not the same storage on every machine" in outcome.reason
