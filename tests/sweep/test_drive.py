import threading
import time

import pytest
from records.test_folder import record
from sweep.crews import BUSY, FAILED, KILLED, RECIPES, PretendedCrew, begin
from training.runs import small_recipe

from longarena.data.files import locked
from longarena.data.storage import StorageError
from longarena.progress import SILENT
from longarena.recipes.pretraining import pretrained, start_of
from longarena.records.folder import read_records, write_record
from longarena.sweep.display import Silent
from longarena.sweep.drive import drive, prepare_all
from longarena.sweep.worker import Outcome
from longarena.training.folder import RunFolder
from longarena.training.stop import StopRequest


def finished(seed):
    recipe = RECIPES[seed]
    return Outcome(state="finished", record=record(recipe=recipe, id=recipe.id))


def run(sweep, crew, stop=None):
    drive(sweep, crew, Silent(), stop or StopRequest())
    return [entry.standing for entry in sweep.entries]


def test_a_failure_is_recorded_and_stops_no_other(tmp_path):
    sweep = begin(tmp_path)
    crew = PretendedCrew({0: [finished(0)], 1: [FAILED], 2: [finished(2)]})
    assert run(sweep, crew) == ["finished", "failed", "finished"]
    [failure] = read_records(tmp_path / "records").failures
    assert (failure.id, failure.status) == (RECIPES[1].id, "failed")
    assert failure.error == "ValueError: no luck"


def test_a_failure_is_tried_again_and_a_success_takes_its_place(tmp_path):
    run(begin(tmp_path), PretendedCrew({seed: [FAILED] for seed in range(3)}))
    again = begin(tmp_path)
    assert {entry.planned.state for entry in again.entries} == {"failed"}
    assert again.entries[0].planned.error == "ValueError: no luck"
    write_record(tmp_path / "records", finished(0).record)
    found = read_records(tmp_path / "records")
    assert [run.id for run in found.runs] == [RECIPES[0].id]
    assert len(found.failures) == 2


def test_a_failure_never_takes_the_place_of_a_success(tmp_path):
    sweep, crew = begin(tmp_path, RECIPES[:1]), PretendedCrew({0: [FAILED]})
    start = crew.start

    def start_while_another_succeeds(recipe, until):
        start(recipe)
        write_record(tmp_path / "records", finished(0).record)

    crew.start = start_while_another_succeeds
    assert run(sweep, crew) == ["failed"]
    found = read_records(tmp_path / "records")
    assert (len(found.runs), found.failures) == (1, [])


def test_what_is_recorded_is_skipped(tmp_path):
    write_record(tmp_path / "records", finished(1).record)
    crew = PretendedCrew({0: [finished(0)], 2: [finished(2)]})
    assert run(begin(tmp_path), crew) == ["finished", "skipped", "finished"]
    assert crew.started == [0, 2]


def test_a_record_that_only_the_run_has_goes_to_the_store(tmp_path):
    path = RunFolder.of(tmp_path / "runs", RECIPES[0]).record
    path.parent.mkdir(parents=True)
    path.write_text(finished(0).record.model_dump_json())
    assert run(begin(tmp_path, RECIPES[:1]), PretendedCrew({})) == ["skipped"]
    assert [run.id for run in read_records(tmp_path / "records").runs] == [RECIPES[0].id]


def test_a_killed_run_is_tried_once_more_after_the_others(tmp_path):
    crew = PretendedCrew({0: [KILLED, finished(0)], 1: [finished(1)], 2: [finished(2)]})
    assert run(begin(tmp_path), crew) == ["finished"] * 3
    assert crew.started == [0, 1, 2, 0]


def test_a_run_that_is_killed_twice_has_failed(tmp_path):
    crew = PretendedCrew({0: [KILLED, KILLED]})
    assert run(begin(tmp_path, RECIPES[:1]), crew) == ["failed"]
    [failure] = read_records(tmp_path / "records").failures
    assert failure.error == "killed by signal 9"


def test_a_run_in_use_elsewhere_is_waited_for(tmp_path):
    sweep = begin(tmp_path)
    crew = PretendedCrew({seed: [finished(seed)] for seed in range(3)})
    folder = RunFolder.of(tmp_path / "runs", RECIPES[0])
    with locked(folder.lock, "unused"):
        thread = threading.Thread(target=run, args=(sweep, crew))
        thread.start()
        deadline = time.monotonic() + 10
        while crew.started != [1, 2] and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.5)
        assert crew.started == [1, 2]
    thread.join(timeout=10)
    assert crew.started == [1, 2, 0]


def test_a_run_that_another_sweep_finished_is_not_run_again(tmp_path):
    sweep = begin(tmp_path)
    write_record(tmp_path / "records", finished(2).record)
    crew = PretendedCrew({0: [finished(0)], 1: [finished(1)]})
    assert run(sweep, crew) == ["finished", "finished", "skipped"]
    assert sweep.entries[2].reason == "another sweep finished it"


def test_a_run_that_was_taken_by_another_is_no_failure(tmp_path):
    crew = PretendedCrew({0: [BUSY, BUSY, finished(0)]})
    assert run(begin(tmp_path, RECIPES[:1]), crew) == ["finished"]
    assert read_records(tmp_path / "records").failures == []


def test_a_stop_reaches_the_runs_under_way_and_begins_no_more(tmp_path):
    sweep, stop = begin(tmp_path), StopRequest()
    crew = PretendedCrew({})
    start = crew.start

    def start_and_ask(recipe, until):
        start(recipe)
        stop.asked = True

    crew.start = start_and_ask
    assert run(sweep, crew, stop) == ["stopped"] * 3
    assert crew.was_stopped
    assert crew.started == [0]


def test_what_the_workers_say_is_shown(tmp_path):
    crew, told = PretendedCrew({0: [finished(0)]}), []
    crew.news = lambda: ["data came from there"] if crew.started else []
    display = Silent()
    display.tell = told.append
    drive(begin(tmp_path, RECIPES[:1]), crew, display, StopRequest())
    assert told == ["data came from there"]


def test_a_storage_that_fails_is_no_failure_of_the_runs(tmp_path):
    crew = PretendedCrew({})

    def refuse(recipe, progress):
        raise StorageError("the disk is full")

    crew.prepare = refuse
    with pytest.raises(StorageError, match="the disk is full"):
        prepare_all(begin(tmp_path), crew, SILENT)
    assert read_records(tmp_path / "records").failures == []


def test_runs_whose_data_cannot_be_had_fail_before_they_start(tmp_path):
    other = small_recipe("linear", "task.data=nowhere")
    sweep = begin(tmp_path, [RECIPES[0], other])
    prepare_all(sweep, PretendedCrew({}), SILENT)
    assert [entry.standing for entry in sweep.entries] == ["waiting", "failed"]
    assert "is not prepared" in sweep.entries[1].reason


def test_data_that_another_process_prepares_is_waited_for(tmp_path, monkeypatch):
    home = tmp_path / "home"
    monkeypatch.setenv("LONGARENA_HOME", str(home))
    prepare_all(begin(tmp_path, RECIPES[:1]), PretendedCrew({}), SILENT)
    [lock] = home.glob("listops/.*.lock")
    sweep = begin(tmp_path, RECIPES[:1])
    with locked(lock, "unused"):
        thread = threading.Thread(target=prepare_all, args=(sweep, PretendedCrew({}), SILENT))
        thread.start()
        thread.join(timeout=0.5)
        assert thread.is_alive()
    thread.join(timeout=10)
    assert [entry.standing for entry in sweep.entries] == ["waiting"]


@pytest.mark.parametrize("text", ["", "{", '{"kind": "run"}'])
def test_a_damaged_record_in_the_store_is_run_again(tmp_path, text):
    write_record(tmp_path / "records", finished(0).record).write_text(text)
    crew = PretendedCrew({0: [finished(0)]})
    assert run(begin(tmp_path, RECIPES[:1]), crew) == ["finished"]


class Hands:
    """A crew with room for two, whose runs end when the test says so."""

    num_workers = 2

    def __init__(self, outcomes):
        self.outcomes, self.busy, self.started = iter(outcomes), [], []

    @property
    def has_room(self):
        return len(self.busy) < 2

    def start(self, recipe, until=None):
        self.started.append(recipe.id)
        self.busy.append(recipe)

    def ended(self):
        over = next(self.outcomes)(self.busy) if self.busy else []
        self.busy = [recipe for recipe in self.busy if recipe not in over]
        return [(recipe, Outcome(state="stopped")) for recipe in over]

    def news(self):
        return []


def test_runs_wait_while_one_of_them_trains_the_start_that_they_share(tmp_path):
    shared = [pretrained(small_recipe("linear", f"patience={n}"), 8) for n in (1, 2, 3)]
    first, second, third, alone = ids = [each.id for each in (*shared, small_recipe())]
    folder = RunFolder.of(tmp_path / "runs", start_of(shared[0]))
    crew, seen = None, []

    def look(busy):
        seen.append([ids.index(recipe.id) for recipe in busy])
        return []

    def finish_the_start(busy):
        folder.path.mkdir(parents=True)
        folder.record.write_text("")
        return look(busy)

    def end_all(busy):
        look(busy)
        return list(busy)

    crew = Hands([look, look, lambda busy: [busy[1]], look, finish_the_start, look, *[end_all] * 9])
    run(begin(tmp_path, [*shared, small_recipe()]), crew)
    # the run without a start goes first; the others follow when the start has its record
    assert crew.started[:2] == [first, alone]
    assert crew.started[2:] == [second, third]
    assert seen[:4] == [[0], [0, 3], [0], [0]]
    assert [0, 1] in seen[4:]


def test_runs_wait_for_a_start_that_another_sweep_trains(tmp_path):
    recipe = pretrained(small_recipe(), 8)
    folder = RunFolder.of(tmp_path / "runs", start_of(recipe))
    sweep, stop = begin(tmp_path, [recipe]), StopRequest()
    with locked(folder.lock, "unused"):
        threading.Timer(0.5, lambda: setattr(stop, "asked", True)).start()
        crew = PretendedCrew({})
        assert run(sweep, crew, stop) == ["stopped"]
    assert crew.started == []
