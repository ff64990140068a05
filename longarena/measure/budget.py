"""A budget of Mult-Adds: what a model may cost for one example.

The cost is that of one prediction for one whole example: a sequence of full length, or both of a
pair. Of a model that translates it is that of a sentence of 30 tokens and its translation of 30,
without embedding and output, as in the Lite Transformer's paper, which sets it to 500M for a phone.

Paper:  Wu et al. (2020), https://arxiv.org/abs/2004.11886
"""

import math
import re

from longarena.errors import UserError
from longarena.measure.cost import count_forward
from longarena.measure.work import prepare
from longarena.model.translation import SENTENCE
from longarena.recipes.recipe import Recipe, build_task

UNITS = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
AMOUNT = re.compile(r"(?P<number>[\d_.]+(e\+?\d+)?)(?P<unit>[KMGT]?)", re.IGNORECASE)


def read_amount(text: str, option: str = "--max-mult-adds") -> float:
    """Read a number with or without a unit.

    >>> read_amount("500M"), read_amount("1.5G"), read_amount("2e9"), read_amount("750000")
    (500000000.0, 1500000000.0, 2000000000.0, 750000.0)
    """
    match = AMOUNT.fullmatch(text.strip())
    try:
        amount = float(match["number"]) * UNITS[match["unit"].upper()] if match else 0.0
    except ValueError:
        amount = 0.0
    if not 0 < amount < math.inf:
        raise UserError(f"{option} {text!r} is not a number above zero; write 500M, 1.5G or 2e9")
    return amount


def write_amount(amount: float | int) -> str:
    """Write a number with a suitable unit.

    >>> write_amount(1_536_000_000), write_amount(999_999_999), write_amount(12)
    ('1.54G', '1G', '12')
    """
    amount = float(f"{amount:.3g}")
    unit = next((u for u in reversed(UNITS) if amount >= UNITS[u]), "")
    return f"{amount / UNITS[unit]:.3g}{unit}"


def check_budget(recipe: Recipe, limit: float | int) -> None:
    """Refuse a recipe whose model costs more than the limit."""
    mult_adds, example = example_cost(recipe)
    if mult_adds > limit:
        raise UserError(
            f"{recipe.task.name} {recipe.model.mixer} takes {write_amount(mult_adds)} Mult-Adds "
            f"for {example}, more than --max-mult-adds {write_amount(limit)}; "
            "lower model.width, model.depth or model.mlp_width"
        )


def example_cost(recipe: Recipe) -> tuple[int, str]:
    """Return the Mult-Adds of a recipe's model for one example, and what the example is."""
    signature = build_task(recipe).signature
    work = prepare(recipe.model, signature, batch_size=1)
    if sentence := work.model.example_cost():
        return sentence.layers, f"a sentence of {SENTENCE} tokens"
    return count_forward(work).total, f"an example of {signature.max_length:,} tokens"
