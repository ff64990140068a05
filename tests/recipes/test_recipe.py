import pytest

from longarena.attention import MIXERS
from longarena.errors import UserError
from longarena.model.config import ModelConfig
from longarena.recipes.presets import PRESETS, preset
from longarena.recipes.recipe import Recipe, TaskChoice, build_task, override, replace
from longarena.tasks import TASKS
from longarena.tracks import track_of


@pytest.fixture
def recipe():
    return preset("listops", "transformer")


def test_the_id_is_the_same_on_every_machine_and_after_json(recipe):
    again = Recipe.model_validate_json(recipe.model_dump_json())
    assert again == recipe
    assert again.id == recipe.id


@pytest.mark.parametrize(
    "change",
    [
        f"seed={10**17}",
        f"seed={2**53}",
        f"seed={'9' * 5000}",
        f"steps={10**18}",
        "optimiser.rate=Infinity",
        "optimiser.rate=NaN",
        "model.dropout=NaN",
        f"task.max_length={10**17}",
        f"model.width={10**30}",
        "seed=" + "[" * 5000,
    ],
    ids=lambda change: change[:30],
)
def test_a_number_that_no_record_could_be_read_with_is_refused(recipe, change):
    with pytest.raises(UserError) as refused:
        override(recipe, [change])
    assert len(str(refused.value)) < 300


def test_a_seed_that_is_too_large_is_refused_by_a_preset():
    with pytest.raises(UserError, match="recipe: seed = 100000000000000000: "):
        preset("listops", "linear", seed=10**17)


def test_whatever_differs_gives_another_id(recipe):
    changes = ["seed=1", "steps=7", "model.depth=3", "task.max_length=200", "optimiser.rate=0.1"]
    assert len({override(recipe, [change]).id for change in changes} | {recipe.id}) == 6


# ids that are in the world: if one of these changes, everybody's runs and records are orphans
KNOWN_IDS = {
    ("listops", "linear", "quick", 0): "9838d6598c",
    ("text", "performer", "small", 0): "96d4490ca3",
    ("listops", "reformer", "cpu", 1): "b25cd0fd9b",
    ("retrieval", "transformer", "paper", 0): "1e7ead4d08",
}


@pytest.mark.parametrize(("named", "known"), KNOWN_IDS.items())
def test_an_id_survives_new_versions(named, known):
    assert preset(*named).id == known


def test_a_field_that_is_added_later_changes_no_id(recipe):
    class LaterModel(ModelConfig):
        later: str = "nothing"

    class LaterRecipe(Recipe):
        model: LaterModel
        another: int | None = None

    later = LaterRecipe.model_validate(recipe.model_dump())
    assert later.id == recipe.id
    assert replace_later(later, another=1).id != recipe.id


def replace_later(recipe, **changes):
    return type(recipe).model_validate(recipe.model_dump() | changes)


def test_a_value_is_overridden_by_its_path(recipe):
    changed = override(recipe, ["model.depth=5", "optimiser.clip=1.0", "model.pooling=cls"])
    assert (changed.model.depth, changed.optimiser.clip, changed.model.pooling) == (5, 1.0, "cls")


def test_what_is_no_field_is_an_option_of_the_task_or_the_mixer(recipe):
    changed = override(recipe, ["task.max_length=100", "model.materialised=true"])
    assert changed.task.options["max_length"] == 100
    assert changed.model.options == {"materialised": True}


@pytest.mark.parametrize(
    ("assignment", "answer"),
    [
        ("model.dept=3", "did you mean model.depth"),
        ("task.max_lenth=3", "did you mean task.max_length"),
        ("stepps=3", "did you mean steps"),
        ("model=3", "unknown recipe key 'model'"),
        ("depth", "not of the form key=value"),
        ("model.depth=0", "greater than 0"),
        ("model.depth=many", "valid integer"),
        ("model.num_heads=3", "not a multiple of num_heads 3"),
    ],
)
def test_a_wrong_assignment_is_answered_with_the_remedy(recipe, assignment, answer):
    with pytest.raises(UserError, match=answer) as caught:
        override(recipe, [assignment])
    assert "\n" not in str(caught.value)


def test_replacing_fields_gives_the_recipe_that_overriding_them_gives(recipe):
    model = recipe.model.model_copy(update={"depth": 5})
    found = replace(recipe, seed=3, steps=10, model=model)
    assert found == override(recipe, ["seed=3", "steps=10", "model.depth=5"])
    assert found.id == override(recipe, ["seed=3", "steps=10", "model.depth=5"]).id


@pytest.mark.parametrize(
    ("changes", "answer"),
    [
        ({"stepps": 3}, "did you mean steps"),
        ({"steps": 0}, "greater than 0"),
        ({"model": {"mixer": "linear"}}, "model.width"),
    ],
)
def test_a_wrong_replacement_is_answered_with_the_remedy(recipe, changes, answer):
    with pytest.raises(UserError, match=answer):
        replace(recipe, **changes)


def test_a_recipe_for_another_version_of_the_task_is_refused(recipe):
    with pytest.raises(UserError, match="version 99"):
        build_task(override(recipe, ["task.version=99"]))


def test_a_recipe_cannot_be_changed(recipe):
    with pytest.raises(ValueError, match="frozen"):
        recipe.seed = 1


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("task", TASKS)
def test_every_preset_makes_a_complete_recipe_or_none(name, task):
    recipe = PRESETS[name](task, "linear", 3)
    if recipe is not None:
        assert (recipe.preset, recipe.task.name, recipe.seed) == (name, task, 3)
        assert build_task(recipe).card.name == task


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        (("listop", "linear", "quick"), "did you mean listops"),
        (("listops", "liner", "quick"), "did you mean linear"),
        (("listops", "linear", "quik"), "did you mean quick"),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest(arguments, answer):
    with pytest.raises(UserError, match=answer):
        preset(*arguments)


@pytest.mark.parametrize("mixer", MIXERS)
@pytest.mark.parametrize("name", ["quick", "cpu"])
def test_every_causal_mechanism_has_a_recipe_for_texts_and_no_other_has(name, mixer):
    recipe = PRESETS[name]("enwik8", mixer, 0)
    assert (recipe is not None) == MIXERS[mixer].card.causal
    if recipe is None:
        with pytest.raises(UserError, match=r"which cannot be causal; choose one of transformer, "):
            preset("enwik8", mixer, name)
    else:
        signature = build_task(recipe).signature
        assert track_of(signature).build(recipe.model, signature, seed=0)


@pytest.mark.parametrize("mixer", MIXERS)
def test_no_option_of_a_mixer_is_hidden_by_a_field_of_the_model(mixer):
    assert not set(MIXERS[mixer].options_type.model_fields) & set(ModelConfig.model_fields)


@pytest.mark.parametrize("task", TASKS)
def test_no_option_of_a_task_is_hidden_by_a_field_of_the_choice(task):
    assert not set(TASKS[task].options_type.model_fields) & set(TaskChoice.model_fields)
