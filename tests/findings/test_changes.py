import shlex

import pytest
from report.examples import run_record

from longarena.findings.changes import changes, command, setting, sweep_command
from longarena.recipes.extending import extended
from longarena.recipes.presets import preset
from longarena.recipes.pretraining import pretrained, start_of
from longarena.recipes.recipe import override

SETS = [
    [],
    ["steps=50"],
    ["model.pooling=cls", "optimiser.rate=0.001", "schedule.warmup_steps=10"],
    ["task.max_length=512", "task.size=0.25", "model.materialised=true"],
    ["optimiser.clip=1.5", "precision=bf16-mixed"],
    ["model.materialised=[true, false]"],
]


@pytest.mark.parametrize("sets", SETS)
def test_the_command_gives_the_same_recipe_again(sets):
    recipe = override(preset("listops", "transformer", "quick", 3), sets)
    words = shlex.split(command(recipe))
    task, mixer = words[2:4]
    given = [words[i + 1] for i, word in enumerate(words) if word == "--set"]
    again = override(
        preset(
            task, mixer, words[words.index("--preset") + 1], int(words[words.index("--seed") + 1])
        ),
        given,
    )
    assert words[:2] == ["longarena", "train"]
    assert again.id == recipe.id
    assert len(given) == len(sets)


def test_what_no_command_can_say_has_none():
    recipe = run_record().recipe
    without_options = recipe.task.model_copy(update={"options": {}})
    assert command(recipe.model_copy(update={"task": without_options})) is None
    assert command(recipe.model_copy(update={"preset": "of the future"})) is None


def test_the_command_of_a_record_names_the_threads_that_its_digits_depend_on():
    record = run_record()
    on_one = record.machine.model_copy(update={"threads": 1})
    assert command(record.recipe, on_one) == f"{command(record.recipe)} --threads 1"
    on_gpu = on_one.model_copy(update={"accelerator": "a GPU"})
    assert command(record.recipe, on_gpu) == command(record.recipe)


def test_a_name_that_is_no_word_is_quoted():
    text = command(run_record("x:$(touch /tmp/y); rm").recipe)
    assert shlex.split(text)[3] == "x:$(touch /tmp/y); rm"


def test_the_settings_of_an_unknown_preset_are_told_apart():
    first, same, other = (
        run_record(preset="of the future", seed=seed, sets=sets).recipe
        for seed, sets in [(0, []), (1, []), (0, ["steps=50"])]
    )
    assert changes(first) is None
    assert setting(first) == setting(same) != setting(other)


def test_a_recipe_that_is_its_preset_has_no_changes():
    assert setting(preset("listops", "linear")) == ("", "")


@pytest.mark.parametrize(
    ("sets", "words"),
    [
        ([], "--pretrain 40"),
        (["pretraining.rate=0.1"], "--pretrain 40 --set pretraining.rate=0.1"),
        (["pretraining.share=0.3"], "--pretrain 40 --set pretraining.share=0.3"),
    ],
)
def test_the_command_of_a_pretrained_run_says_so(sets, words):
    recipe = override(pretrained(preset("listops", "linear"), 40), sets)
    assert command(recipe) == f"longarena train listops linear --preset quick --seed 0 {words}"
    assert sweep_command(recipe).endswith(words)
    assert "pretraining.steps=40" in setting(recipe)[1]
    assert setting(preset("listops", "linear"))[1] == ""


def test_a_start_has_no_command_of_its_own():
    assert command(start_of(pretrained(preset("listops", "linear"), 40))) is None


def test_what_is_hidden_in_data_of_the_user_s_is_always_said():
    recipe = pretrained(preset("listops", "linear"), 40)
    elsewhere = recipe.model_copy(update={"task": recipe.task.model_copy(update={"name": "m:T"})})
    words = "--set pretraining.share=0.1 --set pretraining.target=token"
    assert command(elsewhere).endswith(words)


def test_extended_runs_are_told_apart_from_others_and_by_what_came_before():
    plain = preset("text", "transformer", "cpu")
    one = extended(plain, 2048)
    others = [
        plain,
        override(plain, ["task.max_length=2048", "steps=500"]),
        extended(plain, 2048, only_positions=True),
        extended(override(plain, ["steps=1000"]), 2048, steps=500),
        extended(override(plain, ["task.max_length=128"]), 2048),
    ]
    words = setting(one)[1]
    assert "extension.free=all, extension.length=256" in words
    # what follows from these is not said
    assert ", optimiser.rate=" not in words
    assert "extension.task" not in words
    assert "optimiser.rate=0.0002" in setting(extended(plain, 2048, rate=2e-4))[1]
    assert len({words, *(setting(other)[1] for other in others)}) == 6
    # seeds are of one setting
    assert setting(extended(override(plain, ["seed=1"]), 2048)) == setting(one)
    assert command(one) == f"longarena extend {plain.id} --length 2048 --steps 400 --rate 0.0001"
    assert sweep_command(one) is None
