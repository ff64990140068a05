import pytest

from longarena.attention import CARDS, Mixer, build, find
from longarena.attention.transformer import Transformer
from longarena.errors import UserError


class OwnMixer(Mixer):
    """Gives back what it gets."""

    def forward(self, x, mask):
        return x


def test_an_unknown_name_is_answered_with_the_nearest():
    with pytest.raises(UserError, match="did you mean linear"):
        find("liner")


def test_a_users_own_class_is_found_by_its_path():
    assert find("longarena.attention.transformer:Transformer") is Transformer


@pytest.mark.parametrize("name", ["nowhere.at.all:X", "longarena.attention:Missing", "json:loads"])
def test_a_path_that_leads_to_no_mixer_is_refused(name):
    with pytest.raises(UserError):
        find(name)


def test_an_option_list_gives_one_entry_per_layer():
    options = {"materialised": [False, True]}
    build_layer = {"width": 8, "num_heads": 2, "max_length": 16, "depth": 2, "options": options}
    lower, upper = (build("transformer", layer=layer, **build_layer) for layer in (0, 1))
    assert lower.attend is not upper.attend


def test_an_option_list_of_another_depth_is_refused():
    with pytest.raises(UserError, match="lists 3 entries for 1 layers"):
        build(
            "transformer", width=8, num_heads=2, max_length=16, options={"materialised": [True] * 3}
        )


@pytest.mark.parametrize("qkv_width", [9, 0, -2])
def test_heads_that_do_not_divide_the_qkv_width_are_refused(qkv_width):
    with pytest.raises(UserError, match=f"qkv_width {qkv_width} is not a multiple of 2 heads"):
        build("linear", width=8, qkv_width=qkv_width, num_heads=2, max_length=16)


def test_heads_that_do_not_divide_the_width_are_refused():
    with pytest.raises(UserError, match="not a multiple"):
        build("linear", width=10, num_heads=3, max_length=16)


@pytest.mark.parametrize("name", CARDS)
def test_what_cannot_be_causal_says_why(name):
    card = CARDS[name]
    assert bool(card.why_not_causal) != card.causal
    if not card.causal:
        with pytest.raises(UserError) as error:
            build(name, width=16, num_heads=2, max_length=64, causal=True)
        assert f"{name} cannot be causal: {card.why_not_causal}; choose one of" in str(error.value)


def test_a_mixer_of_the_users_own_that_says_nothing_cannot_be_causal():
    with pytest.raises(UserError, match="OwnMixer cannot be causal; choose one of transformer"):
        build("attention.test_build:OwnMixer", width=16, num_heads=2, max_length=64, causal=True)
