import json
import re
from pathlib import Path

import pytest
from cli.commands import SMALL_WORDS, assert_refused
from records.test_folder import record
from sweep.crews import RECIPES
from training.runs import small_recipe

from longarena.records.folder import write_record

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ("sweep quik", "did you mean quick"),
        ("sweep nowhere.py", "nowhere.py does not exist"),
        ("sweep --tasks listop", "did you mean listops"),
        ("sweep --tasks listops --mixers liner", "did you mean linear"),
        ("sweep --tasks listops --preset smal", "did you mean small"),
        ("sweep quick --set model.dept=2", "did you mean model.depth"),
        ("sweep quick --only 1000", "the runs 0 to"),
        ("sweep", "give the name of a sweep or --tasks"),
        ("sweep quick --tasks listops", "and not both"),
        ("sweep --tasks ,", "has no runs"),
        ("sweep quick --tune optimiser.rat=1,2", "did you mean optimiser.rate"),
        ("sweep quick --tune seed=1,2", "seed cannot be tuned"),
        ("sweep quick --tune optimiser.rate=1", "give at least two"),
        ("sweep quick --tune optimiser.rate=1,-2", "greater than 0"),
        ("sweep quick --tune model.width=64,9999998", "this machine"),
        ("sweep quick --halve", "--halve belongs to --tune"),
        ("sweep quick --only 1 --tune batch_size=8,16", "leave one of them out"),
        ("sweep quick --storage there", "--storage belongs to --on ray"),
        ("choose listops --keep-every 5", "--keep-every belongs to --on ray"),
        ("sweep quick --on ray --storage /proc/there", "cannot write storage.json"),
        ("sweep quick --on ray --storage nowhere://there", "cannot open the storage"),
        ("sweep quick --on ray --address ray://there:1", "--address HOST:PORT"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_two(run, words, answer):
    assert_refused(run(*words.split()), answer)


def test_a_dry_run_tells_what_is_done_and_how_long_the_rest_may_take(run, tmp_path):
    metrics = record().metrics.model_copy(update={"steps_per_second": 0.1})
    done = record(recipe=RECIPES[0], id=RECIPES[0].id, metrics=metrics)
    write_record(tmp_path / "runs" / "records", done)
    words = ["sweep", "--tasks", "listops", "--mixers", "linear,local", "--seeds", "2"]
    words += [*SMALL_WORDS, "--workers", "1", "--dry-run"]
    code, output, _ = run(*words, "--json")
    found = json.loads(output)
    assert code == 0
    assert [each["state"] for each in found["runs"]] == ["done", "to do", "to do", "to do"]
    assert (found["count"], found["left"], found["seconds"], found["unknown"]) == (4, 3, 120.0, 2)
    _, output, _ = run(*words)
    assert "about 2 min of training with 1 worker, and 2 runs of unknown length" in output
    assert not list((tmp_path / "runs").glob("listops"))


def test_of_a_long_plan_the_first_runs_that_are_left_are_shown(run, tmp_path, monkeypatch):
    monkeypatch.setattr("longarena.cli.sweep.MOST_SHOWN", 2)
    recipe = small_recipe("linear")
    write_record(tmp_path / "runs" / "records", record(recipe=recipe, id=recipe.id))
    words = ["sweep", "--tasks", "listops", "--mixers", "linear", *SMALL_WORDS, "--dry-run"]
    _, output, _ = run(*words, "--seeds", "4")
    assert "4 runs, 3 of them to be done" in output
    assert "only 2 are shown; --json has all 4" in output
    assert output.count("to do") == 2
    assert recipe.id not in output


def test_a_dry_run_of_a_tuning_shows_its_first_trials(run, tmp_path):
    words = ["sweep", "--tasks", "listops", "--mixers", "linear", *SMALL_WORDS, "--dry-run"]
    words += ["--tune", "optimiser.rate=1e-3,1e-2", "--halve"]
    code, output, _ = run(*words, "--json")
    found = json.loads(output)
    assert code == 0
    assert [(each["state"], each["steps"]) for each in found["runs"]] == [("to do", 10)] * 2
    _, output, _ = run(*words)
    assert "linear optimiser.rate=0.001" in output
    assert "these are the first trials" in output
    assert not (tmp_path / "runs").exists()


def test_a_run_is_picked_by_its_number_as_a_job_array_does(run):
    page = (ROOT / "docs/clusters.md").read_text()
    last = int(re.search(r"--array=0-(\d+)", page)[1])
    code, output, _ = run("sweep", "small", "--only", str(last), "--dry-run", "--json")
    assert code == 0
    assert [each["index"] for each in json.loads(output)["runs"]] == [0]
    _, output, _ = run("sweep", "small", "--dry-run", "--json")
    assert json.loads(output)["count"] == last + 1


def test_a_sweep_whose_runs_are_all_there_ends_well_at_once(run, tmp_path):
    recipe = small_recipe("linear")
    write_record(tmp_path / "runs" / "records", record(recipe=recipe, id=recipe.id))
    words = ["sweep", "--tasks", "listops", "--mixers", "linear", *SMALL_WORDS, "--quiet"]
    code, output, errors = run(*words)
    assert code == 0, errors
    assert "1 run: 0 finished, 1 skipped" in output
    assert "next: longarena report" in output


def test_a_sweep_is_cut_short_by_its_own_option(run):
    words = ["sweep", "--tasks", "listops", "--mixers", "linear", "--steps", "7", "--dry-run"]
    _, output, _ = run(*words, "--json")
    assert [each["steps"] for each in json.loads(output)["runs"]] == [7]
