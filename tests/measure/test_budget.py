import pytest
from training.runs import small_recipe

from longarena.errors import UserError
from longarena.measure import count_recipes
from longarena.measure.budget import check_budget, read_amount, write_amount
from longarena.recipes.presets import preset


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("500M", 500e6),
        ("1.5G", 1.5e9),
        ("2e9", 2e9),
        ("2E+9", 2e9),
        ("750", 750),
        ("12_000k", 12e6),
        (" 1T ", 1e12),
    ],
)
def test_amounts_may_have_a_unit(text, amount):
    assert read_amount(text) == pytest.approx(amount)


@pytest.mark.parametrize("text", ["", "M", "5X", "-3", "0", "1.2.3G", "five", "1e999", "nan"])
def test_what_is_no_amount_is_refused_with_an_example(text):
    with pytest.raises(UserError, match="is not a number above zero; write 500M"):
        read_amount(text)


@pytest.mark.parametrize("amount", [3, 1_234, 999_600, 5e8, 1.5e9, 7.25e13])
def test_what_is_written_can_be_read(amount):
    assert read_amount(write_amount(amount)) == pytest.approx(amount, rel=0.005)


def test_a_recipe_is_refused_just_above_the_limit():
    recipe = small_recipe("transformer")
    [found] = count_recipes([recipe])
    check_budget(recipe, found.mult_adds)
    with pytest.raises(UserError, match=r"listops transformer takes .* more than --max-mult-adds"):
        check_budget(recipe, found.mult_adds - 1)


def test_a_pair_is_one_example():
    [found] = count_recipes([preset("retrieval", "linear")], lengths=[128])
    tokens = 2 * 128
    assert found.mult_adds == pytest.approx(found.cost.forward * tokens)
    assert found.cost.feed_forward > 0
