"""Answer at some positions of a row only, without a shape that depends on numbers.

A boolean index would have a device wait until the host knows how many positions there are.
"""

from jaxtyping import Float, Int
from torch import Tensor

from longarena.shapes import Mask


def first_places(is_asked: Mask, most: int | None) -> Int[Tensor, "batch asked"]:
    """Return the first `most` positions of each row that are asked, in their order.

    Where a row has fewer, others follow at which nothing is asked.
    """
    return is_asked.int().argsort(dim=1, descending=True, stable=True)[:, :most]


def at_places(
    tokens: Float[Tensor, "batch length width"], places: Int[Tensor, "batch asked"]
) -> Float[Tensor, "batch asked width"]:
    """Take the tokens at some positions of each row."""
    return tokens.gather(1, places[..., None].expand(-1, -1, tokens.shape[2]))
