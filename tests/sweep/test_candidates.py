import pytest
from training.runs import small_recipe

from longarena.errors import UserError
from longarena.sweep.candidates import ask, read_grid

RATES = {"optimiser.rate": [1e-4, 1e-3, 1e-2]}


def question(*changes, grid=RATES, halve=False):
    (found,) = ask([small_recipe("linear", *changes)], grid, halve=halve)
    return found


def test_several_keys_form_their_product_in_the_order_given():
    grid = read_grid(["optimiser.rate=1e-3,1e-2", "schedule.kind=cosine,linear"])
    found = question(grid=grid)
    assert [(r.optimiser.rate, r.schedule.kind) for r in found.candidates] == [
        (0.001, "cosine"),
        (0.001, "linear"),
        (0.01, "cosine"),
        (0.01, "linear"),
    ]
    assert found.points[1] == {"optimiser.rate": 0.001, "schedule.kind": "linear"}


def test_a_value_may_be_a_list_a_switch_or_a_word():
    assert read_grid(["a=[1, 2],[3]", "b=true,false", "c=x,y"]) == {
        "a": [[1, 2], [3]],
        "b": [True, False],
        "c": ["x", "y"],
    }


def test_every_mechanism_and_task_is_tuned_once_with_its_first_seed():
    recipes = [small_recipe(m, f"seed={s}") for s in (3, 4) for m in ("linear", "local")]
    found = ask(recipes, RATES)
    assert [(q.recipe.model.mixer, q.recipe.seed) for q in found] == [("linear", 3), ("local", 3)]


@pytest.mark.parametrize(
    ("changes", "step"),
    [
        ("steps=20 evaluate_every=5", 10),
        ("steps=100 evaluate_every=10", 50),
        ("steps=12 evaluate_every=5", 10),
        ("steps=12 evaluate_every=8", 8),
    ],
)
def test_a_comparison_is_where_the_run_validates_anyway(changes, step):
    found = question(*changes.split(), halve=True)
    assert found.compared_at == step
    assert question(*changes.split()).compared_at == found.recipe.steps


def test_other_values_steps_or_seeds_are_another_tuning():
    same, other = question(), question(grid={"optimiser.rate": [1e-4, 1e-3]})
    ids = {q.id for q in (same, other, question("seed=1"), question(halve=True))}
    assert len(ids) == 4
    # what the recipe had before does not matter
    assert question("optimiser.rate=0.5").id == same.id


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["optimiser.rat=1,2"], "did you mean optimiser.rate"),
        (["seed=1,2"], "seed cannot be tuned"),
        (["task.max_length=10,20"], "task.max_length cannot be tuned"),
        (["steps=10,20"], "steps cannot be tuned"),
        (["optimiser.rate=0.1"], "give at least two"),
        (["optimiser.rate=0.1,-1"], "optimiser.rate = -1: Input should be greater than 0"),
        (["optimiser.rate=0.1,fast"], "should be a valid number"),
        (["optimiser.rate=0.1,1e-1"], "name every value once"),
        (["optimiser.rate"], "not of the form key=value,value"),
        (["optimiser.rate=1,2", "optimiser.rate=3,4"], "given twice"),
        (["model.features=1,2"], "unknown recipe key 'model.features'"),
    ],
)
def test_a_grid_that_cannot_be_tried_is_refused(words, answer):
    with pytest.raises(UserError, match=answer):
        question(grid=read_grid(words))


def test_halving_without_a_validation_on_the_way_is_refused():
    with pytest.raises(UserError, match="--set evaluate_every=3"):
        question("evaluate_every=12", halve=True)
