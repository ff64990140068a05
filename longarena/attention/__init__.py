"""How positions talk: one file per mechanism, and the table of them.

CARDS["linear"].title                                     what a reader must know of it
build("linear", width=64, num_heads=2, max_length=1024)   any mechanism
matrix(mixer, x, mask)                                    its effective attention matrix
"""

from typing import TYPE_CHECKING

from longarena.attention.cards import CARDS, Family, MixerCard, OwnMixer
from longarena.errors import UserError, unknown
from longarena.lazy import export

if TYPE_CHECKING:
    from longarena.attention.base import Attention, Mixer, Place
    from longarena.attention.build import build
    from longarena.attention.function import AttentionFunction, as_function
    from longarena.attention.matrix import matrix
    from longarena.attention.ops.convolution import Convolving
    from longarena.attention.table import MIXERS, find

__all__ = [
    "CARDS",
    "MIXERS",
    "Attention",
    "AttentionFunction",
    "Convolving",
    "Family",
    "Mixer",
    "MixerCard",
    "OwnMixer",
    "Place",
    "as_function",
    "build",
    "check",
    "check_source",
    "find",
    "matrix",
    "note_own",
]

# what computes needs torch, which takes seconds to import
export(
    __name__,
    {
        "MIXERS": "longarena.attention.table",
        "Attention": "longarena.attention.base",
        "AttentionFunction": "longarena.attention.function",
        "Convolving": "longarena.attention.ops.convolution",
        "Mixer": "longarena.attention.base",
        "Place": "longarena.attention.base",
        "as_function": "longarena.attention.function",
        "build": "longarena.attention.build",
        "find": "longarena.attention.table",
        "matrix": "longarena.attention.matrix",
    },
)


def check(name: str) -> None:
    """Refuse the name of a mechanism that does not exist; only a user's own is imported."""
    if name in CARDS:
        return
    if ":" not in name:
        raise unknown("mixer", name, CARDS)
    # a class of the user's own may be anywhere, and is a torch module
    from longarena.attention.table import find  # noqa: PLC0415

    find(name)


def note_own(name: str) -> OwnMixer | None:
    """Note source and card of a user's own mixer; None for one of the table."""
    if name in CARDS:
        return None
    from longarena.attention import table  # noqa: PLC0415

    return table.note_own(name)


def check_source(name: str, noted: OwnMixer | None, when: str) -> OwnMixer | None:
    """Refuse a user's own mixer that was edited since it was noted; return what to note now."""
    own = note_own(name)
    if own is not None and noted is not None and noted.source != own.source:
        raise UserError(
            f"{name} was edited since {when} (source {noted.source}, now {own.source}); "
            "put the old source back, or train anew with the new one"
        )
    return own
