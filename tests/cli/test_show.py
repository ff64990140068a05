"""What `longarena show run` tells of a run: its curve, and what to try."""

import json
import shlex
from pathlib import Path

from cli.commands import SMALL_WORDS, call
from report.examples import run_record
from training.runs import small_recipe

from longarena.records.folder import write_record
from longarena.training.folder import RunFolder


def test_a_run_is_shown_with_its_curve_and_what_to_try(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    still = [*SMALL_WORDS, "--set", "optimiser.rate=1e-12"]
    _, trained, _ = run("train", "listops", "linear", *still, "--quiet")
    tried = trained.partition("what to try")[2].partition("next:")[0]
    assert len(tried.splitlines()) == 1 + 3
    (name,) = Path("runs/listops/linear").iterdir()
    _, output, _ = run("show", "run", str(name))
    assert "12 steps" in output
    assert "dotted: without a model" in output
    assert max(len(line) for line in output.splitlines() if "│" in line) <= 80
    facts = json.loads(run("show", "run", str(name), "--json")[1])
    assert facts["curve"]["steps"] == facts["record"]["curve"]["steps"] == [5, 10, 12]
    assert len(facts["curve"]["seconds"]) == len(facts["curve"]["values"]) == 3
    assert facts["advice"][0]["words"] in output
    [seeds] = [each["words"] for each in facts["advice"] if "--seeds" in each["words"]]
    plan = json.loads(run(*shlex.split(seeds)[1:], "--dry-run", "--json")[1])
    assert [row["seed"] for row in plan["runs"]] == [0, 1, 2]
    assert plan["left"] == 2  # the first is this run


def test_the_curve_of_a_run_that_has_not_ended_is_read_off_its_log(run):
    folder = Path("runs/listops/linear/0123456789")
    folder.mkdir(parents=True)
    (folder / "recipe.json").write_text(small_recipe().model_dump_json())
    assert run("show", "run", "0123")[0] == 0
    log = [
        {"step": 3, "loss": 2.2, "accuracy": 0.1, "steps_per_second": 2.0},
        {"step": 4, "valid_accuracy": 0.125, "valid_loss": 2.1},
        {"step": 8, "valid_accuracy": 0.375, "valid_loss": 1.9},
    ]
    RunFolder(folder).log.write_text(
        "".join(json.dumps(line) + "\n" for line in log) + '{"step": 9'
    )
    code, output, _ = run("show", "run", "0123")
    assert code == 0
    assert "at step 8 of 12" in output
    assert "0.375 │" in output
    assert "8 steps (4 s)" in output
    facts = json.loads(run("show", "run", "0123", "--json")[1])
    assert facts["curve"] == {"steps": [4, 8], "seconds": [2.0, 4.0], "values": [0.125, 0.375]}


def test_a_curve_is_plain_where_the_output_is_not_utf_8(tmp_path):
    record = run_record()
    write_record(tmp_path, record)
    words = ("show", "run", record.id, "--store", tmp_path)
    code, output, _ = call(*words, folder=tmp_path, PYTHONIOENCODING="ascii")
    assert code == 0
    assert output.isascii()
    assert "|*" in output
