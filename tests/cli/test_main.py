import json
import shlex
import sys
from importlib import import_module
from pathlib import Path

import pytest
from cli.commands import SMALL_WORDS, assert_refused
from training.runs import small_recipe

from longarena.attention import CARDS, MIXERS
from longarena.cli import tour
from longarena.recipes.presets import preset
from longarena.recipes.recipe import override
from longarena.records.folder import read_records
from longarena.training.folder import RunFolder


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ("train listop linear", "did you mean listops"),
        ("train listops liner", "did you mean linear"),
        ("train listops linear --preset quik", "did you mean quick"),
        ("train listops linear --set model.dept=2", "did you mean model.depth"),
        ("train listops linear --set task.max_lenth=2", "did you mean task.max_length"),
        ("train listops linear --set steps=many", "valid integer"),
        ("train listops linear --set depth", "key=value"),
        ("train listops linear --set model.num_heads=7", "not a multiple of num_heads 7"),
        ("train listops nowhere:Mixer", "cannot load the mixer"),
        ("train listops", "Missing argument"),
        ("train listops linear --steps 0", "--steps"),
        ("trian listops linear", "Did you mean 'train'"),
        ("evaluate abcdef", "unknown run 'abcdef'"),
        ("data show text", "run: longarena data prepare text"),
        ("data prepare listops --size 7", "0 < size <= 1"),
        ("data prepare listops --set max_length=3", "min_length 501 is above max_length 3"),
        ("data prepare listops --set max_dept=3", "did you mean max_depth"),
        ("data prepare listops --source nowhere.tar.gz", "nowhere.tar.gz"),
        ("report --store nowhere", "there is no folder nowhere"),
        ("measure liner", "did you mean linear"),
    ],
)
def test_a_mistake_is_one_line_with_the_remedy_and_exit_code_2(run, words, answer):
    assert_refused(run(*words.split()), answer)


def test_a_full_disk_is_one_line(run, monkeypatch):
    def no_space(*_, **__):
        raise OSError(28, "No space left on device", "runs/x")

    monkeypatch.setattr("longarena.training.loop.train", no_space)
    code, _, errors = run("train", "listops", "linear")
    assert (code, errors) == (2, "longarena: No space left on device: runs/x\n")


def test_training_tells_what_it_found_and_what_comes_next(run):
    code, output, _ = run("train", "listops", "linear", *SMALL_WORDS, "--quiet")
    assert code == 0
    assert "test accuracy" in output
    assert "without a model" in output
    assert "next: longarena evaluate" in output


def test_a_run_is_trained_evaluated_listed_and_reported(run, tmp_path):
    _, output, _ = run("train", "listops", "linear", *SMALL_WORDS, "--quiet", "--json")
    record = json.loads(output)
    _, output, _ = run("evaluate", record["id"], "--quiet", "--json")
    assert json.loads(output) == {"metric": "accuracy"} | record["metrics"]["test"]
    _, output, _ = run("list", "runs", "--json")
    assert [(row["run"], row["state"]) for row in json.loads(output)] == [
        (record["id"], record["status"])
    ]
    code, output, _ = run("report")
    assert code == 0
    assert record["id"] in (tmp_path / "report" / "index.html").read_text()


def test_a_damaged_run_is_listed_as_such_beside_the_others(run):
    recipes = [small_recipe("linear", f"seed={seed}") for seed in range(3)]
    folders = [RunFolder.of(Path("runs"), recipe) for recipe in recipes]
    for folder, recipe in zip(folders, recipes, strict=True):
        folder.path.mkdir(parents=True)
        folder.write_recipe(recipe)
    folders[0].record.write_text("{")
    (folders[1].path / "recipe.json").write_text("[]")
    states = {row["run"]: row["state"] for row in json.loads(run("list", "runs", "--json")[1])}
    expected = ["damaged", "damaged", "unfinished"]
    assert [states[folder.path.name] for folder in folders] == expected
    code, output, _ = run("list", "runs")
    assert code == 0
    assert f"longarena show run {recipes[0].id}" in output
    assert recipes[2].id not in output.partition("next:")[2]
    assert_refused(run("show", "run", recipes[1].id), "cannot read")


def test_data_is_prepared_and_shown(run):
    words = ["listops", "--set", "min_length=4", "--set", "max_length=30", "--size", "0.002"]
    code, output, _ = run("data", "prepare", *words, "--quiet")
    assert code == 0
    assert "train 192, valid 4, test 4" in output
    assert "padding" in output
    code, output, _ = run("data", "show", *words, "--count", "2")
    assert code == 0
    assert output.count(" = ") == 2


@pytest.mark.parametrize("what", ["tasks", "mixers", "presets"])
def test_every_table_can_be_listed(run, what):
    code, output, _ = run("list", what)
    assert code == 0
    assert len(output.splitlines()) > 2


def test_mechanisms_are_listed_by_family(run):
    code, output, _ = run("list", "mixers", "--families", "--json")
    rows = json.loads(output)
    assert code == 0
    assert {row["Mixer"] for row in rows} == set(MIXERS)
    families = [row["Family"] for row in rows]
    assert families == sorted(families, key=families.index)


@pytest.fixture
def small_tour(monkeypatch, hasty):
    """Have the tour generate, train and measure little."""

    def small_preset(*given):
        return override(preset(*given), ["task.size=0.0005", "model.depth=1"])

    monkeypatch.setattr("longarena.recipes.presets.preset", small_preset)
    monkeypatch.setattr("longarena.cli.tour.LENGTHS", (64, 128))


@pytest.mark.slow
@pytest.mark.usefixtures("small_tour")
def test_the_tour_goes_all_the_way(run, tmp_path):
    few = ("--mixers", "linear", "--measured", "linear,transformer")
    code, output, _ = run("tour", "--steps", "3", "--quiet", *few)
    assert code == 0
    page = tmp_path / "report" / "index.html"
    assert str(page) in output
    records = read_records(tmp_path / "runs" / "records")
    assert {run.recipe.task.options["max_length"] for run in records.runs} == {64, 256}
    assert {(m.model.mixer, m.length) for m in records.measurements} == {
        (mixer, length) for mixer in ("linear", "transformer") for length in (64, 128)
    }
    assert all(run.id in page.read_text() for run in records.runs)


def test_the_tour_measures_one_mechanism_of_every_family():
    names = tour.chosen("")
    assert names[0] == "transformer"
    assert sorted(CARDS[name].family for name in names) == sorted(
        {c.family for c in CARDS.values()}
    )
    assert tour.chosen("linear,local") == ["linear", "local"]
    assert tour.chosen("all") == list(CARDS)


@pytest.fixture
def broken_mixer(monkeypatch, tmp_path):
    """A mixer that fails when it is used."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "broken.py").write_text(
        "from longarena.attention import Mixer\n\n\n"
        "class Broken(Mixer):\n"
        "    def forward(self, x, mask):\n"
        "        raise RuntimeError('on purpose')\n"
    )
    yield "broken:Broken"
    sys.modules.pop("broken", None)


@pytest.mark.slow
@pytest.mark.usefixtures("small_tour")
def test_a_tour_with_failed_runs_still_writes_the_page_and_ends_with_1(
    run, tmp_path, monkeypatch, broken_mixer
):
    monkeypatch.setattr("longarena.cli.tour.LISTS", (tour.SHORT_LISTS,))
    monkeypatch.setattr(import_module("longarena.measure"), "measure", lambda *_, **__: [])
    few = ("--mixers", broken_mixer, "--measured", "linear")
    code, output, _ = run("tour", "--steps", "3", "--quiet", *few)
    assert code == 1
    assert "on purpose" in output
    assert "1 of 1 runs failed" in output
    assert (tmp_path / "report" / "index.html").exists()


def test_a_recipe_is_shown_whole_with_its_id(run):
    code, output, _ = run("show", "recipe", "listops", "linear", "--set", "model.depth=3")
    recipe = json.loads(output)
    assert code == 0
    assert recipe["model"]["depth"] == 3
    assert len(recipe["id"]) == 10


def test_a_run_is_shown_with_the_command_that_makes_it_again(run):
    _, output, _ = run("train", "listops", "linear", *SMALL_WORDS, "--quiet", "--json")
    record = json.loads(output)
    code, output, _ = run("show", "run", record["id"][:6])
    assert code == 0
    command = output.partition("command: longarena ")[2].splitlines()[0]
    _, output, _ = run(*shlex.split(command), "--json")
    assert json.loads(output) == record
    assert command.endswith(f"--threads {record['machine']['threads']}")
    _, output, _ = run("show", "run", record["id"][:6], "--store", "runs/records")
    assert output.partition("command: longarena ")[2].splitlines()[0] == command
    assert_refused(run("show", "run", record["id"], "--store", "nowhere"), "no folder nowhere")
