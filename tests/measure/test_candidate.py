import pytest

from longarena.measure.candidate import Target, name_mixer, read_mixer
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
