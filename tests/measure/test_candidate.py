import pytest

from longarena.attention import CARDS
from longarena.measure.candidate import Target, name_mixer, read_mixer, read_mixers, read_recipes
from longarena.measure.work import SHAPES


def target(**changes):
    values = {
        "session": "today",
        "model": SHAPES["small"].with_mixer("linear", {}),
        "repeat": 0,
        "length": 1024,
        "batch_size": 4,
        "steps": ("train",),
    }
    return Target(**values | changes)


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("local", {}),
        ("local[block=128]", {"block": 128}),
        ("local[block=128,neighbours=1]", {"block": 128, "neighbours": 1}),
        ("local[block=[32,64],neighbours=1]", {"block": [32, 64], "neighbours": 1}),
        ("transformer[materialised=true]", {"materialised": True}),
    ],
)
def test_a_name_may_carry_options(text, options):
    model = read_mixer(text, SHAPES["small"])
    assert model.mixer == text.partition("[")[0]
    assert model.options == options
    assert read_mixer(name_mixer(model), SHAPES["small"]) == model


def test_the_id_tells_everything_apart():
    other_model = SHAPES["small"].with_mixer("transformer", {})
    different = [
        target(),
        target(session="tomorrow"),
        target(model=other_model),
        target(repeat=1),
        target(length=2048),
        target(batch_size=8),
        target(steps=("train", "predict")),
    ]
    assert len({each.id for each in different}) == len(different)
    assert target().id == target().id


def test_all_and_ones_own_are_named_together():
    own = "attention.own_mixers:Mean"
    assert [m.mixer for m in read_mixers(["all", own], SHAPES["small"])] == [*CARDS, own]
    recipes = read_recipes(["all", own], "listops", "quick", ["model.block=8"])
    assert [recipe.model.mixer for recipe in recipes] == [*CARDS, own]


def test_an_edited_source_is_measured_anew():
    model = SHAPES["small"].with_mixer("attention.own_mixers:Mean", {})
    edited = model.model_copy(update={"own": model.own.model_copy(update={"source": "other"})})
    assert target(model=model).id != target(model=edited).id
