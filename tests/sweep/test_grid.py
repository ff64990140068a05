from dataclasses import replace

import pytest
from training.runs import small_recipe

from longarena.attention import MIXERS
from longarena.errors import UserError
from longarena.recipes.presets.own import RECIPES
from longarena.sweep.grid import Grid, derive, pick, read_sweep

IMAGE = replace(RECIPES["s4d"]["image"], options={})


def test_a_grid_goes_through_everything_with_one_seed_first():
    recipes = Grid(["listops", "image"], ["linear", "local"], "small", seeds=2).recipes()
    first = [("listops", "linear"), ("image", "linear"), ("listops", "local"), ("image", "local")]
    assert [(r.task.name, r.model.mixer) for r in recipes] == 2 * first
    assert [r.seed for r in recipes] == 4 * [0] + 4 * [1]
    assert {r.preset for r in recipes} == {"small"}


def test_all_are_the_mixers_and_the_tasks_that_a_preset_has():
    recipes = Grid(["all"], ["all"], "quick").recipes()
    assert {r.model.mixer for r in recipes} == set(MIXERS)
    tasks = {r.task.name for r in recipes}
    assert "listops" in tasks
    assert "pathfinder-256" not in tasks


def test_all_and_ones_own_are_named_together():
    recipes = Grid(["listops"], ["all", "attention.own_mixers:Mean", "linear"], "quick").recipes()
    mixers = [recipe.model.mixer for recipe in recipes]
    assert mixers == [*MIXERS, "attention.own_mixers:Mean"]
    assert recipes[-1].model.own.card.title == "My mean"


def test_an_option_is_set_where_it_exists_and_refused_where_it_exists_nowhere():
    recipes = Grid(["listops", "pathfinder"], ["linear", "local"]).recipes()
    changed = derive(recipes, ["task.max_length=64", "model.block=8", "steps=7"])
    assert [recipe.task.options.get("max_length") for recipe in changed] == [64, None] * 2
    assert [recipe.model.options.get("block") for recipe in changed] == [None, None, 8, 8]
    assert {recipe.steps for recipe in changed} == {7}
    with pytest.raises(UserError, match="unknown recipe key 'task'"):
        derive(recipes, ["task=64"])
    with pytest.raises(UserError, match="steps = 0"):
        derive(recipes, ["steps=0"])


@pytest.fixture
def own_recipes(monkeypatch):
    """Pretend that `linear` and `local` are the only mechanisms with recipes of their authors."""
    for mixer in list(RECIPES):
        monkeypatch.delitem(RECIPES, mixer)
    monkeypatch.setitem(RECIPES, "linear", dict.fromkeys(("image", "text"), IMAGE))
    monkeypatch.setitem(RECIPES, "local", {"image": IMAGE})


@pytest.mark.usefixtures("own_recipes")
def test_all_under_own_are_the_pairs_that_have_a_recipe():
    def pairs(tasks, mixers):
        recipes = Grid(tasks, mixers, "own").recipes()
        return {(recipe.task.name, recipe.model.mixer) for recipe in recipes}

    image = {("image", "linear"), ("image", "local")}
    assert pairs(["all"], ["all"]) == {*image, ("text", "linear")}
    assert pairs(["image"], ["all"]) == image
    assert pairs(["all"], ["local"]) == {("image", "local")}


@pytest.mark.usefixtures("own_recipes")
@pytest.mark.parametrize(
    ("tasks", "mixers", "missing"),
    [
        (["all"], ["linear", "sparse"], "with sparse"),
        (["image", "path-x"], ["all"], "for path-x"),
        (["text"], ["linear", "local"], "text with local"),
    ],
)
def test_what_was_named_is_not_left_out_in_silence(tasks, mixers, missing):
    with pytest.raises(UserError, match=missing):
        Grid(tasks, mixers, "own").recipes()


@pytest.mark.parametrize(
    ("grid", "answer"),
    [
        (Grid(["listop"], ["linear"]), "did you mean listops"),
        (Grid(["listops"], ["liner"]), "did you mean linear"),
        (Grid(["listops"], ["linear"], "quik"), "did you mean quick"),
        (Grid(["pathfinder-256"], ["linear"]), "has no recipe for pathfinder-256"),
    ],
)
def test_unknown_names_are_refused_with_the_nearest(grid, answer):
    with pytest.raises(UserError, match=answer):
        grid.recipes()


def test_a_file_is_found_by_its_name_or_its_path(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(
        "import longarena\ndef recipes(): return [longarena.preset('text', 'linear')]\n"
    )
    assert read_sweep("mine", tmp_path) == read_sweep(str(path))
    assert [r.task.name for r in read_sweep("mine", tmp_path)] == ["text"]
    with pytest.raises(UserError, match="did you mean mine"):
        read_sweep("mien", tmp_path)


def test_a_sweep_comes_with_the_package_and_a_file_of_ones_own_goes_before_it(tmp_path):
    built_in = read_sweep("quick", tmp_path)
    assert len(built_in) > 1
    (tmp_path / "quick.py").write_text(
        "import longarena\ndef recipes(): return [longarena.preset('text', 'linear')]\n"
    )
    assert [r.task.name for r in read_sweep("quick", tmp_path)] == ["text"]
    assert read_sweep("probes", tmp_path)
    with pytest.raises(UserError, match="did you mean quick") as raised:
        read_sweep("quik", tmp_path)
    assert "__init__" not in str(raised.value)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("", "no function recipes"),
        ("def recipes(): return 3", "must return a list"),
        ("def recipes(): return [3]", "must return a list"),
        ("def recipes(): 1 / 0", "ZeroDivisionError"),
        ("def recipes(:", "SyntaxError"),
        ("import longarena\ndef recipes(): longarena.preset('txt', 'linear')", "did you mean text"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_in_one_line(tmp_path, text, answer):
    path = tmp_path / "mine.py"
    path.write_text(text)
    with pytest.raises(UserError, match=answer) as raised:
        read_sweep(str(path))
    assert str(raised.value).startswith(str(path))
    assert "\n" not in str(raised.value)


def test_a_change_holds_for_all_and_what_becomes_the_same_runs_once():
    recipes = [small_recipe("linear", f"seed={seed}") for seed in range(3)]
    assert [r.steps for r in derive(recipes, ["steps=5"])] == [5, 5, 5]
    assert derive(recipes, ["seed=1"]) == [recipes[1]]


def test_one_run_is_picked_by_its_number():
    recipes = [small_recipe("linear", f"seed={seed}") for seed in range(3)]
    assert pick(recipes, 2) == [recipes[2]]
    with pytest.raises(UserError, match="the runs 0 to 2"):
        pick(recipes, 3)
