"""Build any mechanism from its name, its sizes and its options."""

from collections.abc import Mapping

from longarena.attention.base import Mixer, Place
from longarena.attention.cards import CARDS
from longarena.attention.own import SIGNATURE, named, title
from longarena.attention.table import find
from longarena.errors import MixerError, UserError
from longarena.options import parse
from longarena.seeding import seeded


def build(  # noqa: PLR0913 - the one call from outside: every argument by its name
    name: str,
    *,
    width: int,
    qkv_width: int | None = None,
    num_heads: int,
    max_length: int,
    layer: int = 0,
    depth: int = 1,
    seed: int = 0,
    options: Mapping[str, object] | None = None,
    causal: bool = False,
    rotary: bool = False,
    previous: Mixer | None = None,
) -> Mixer:
    """Build any mixer; what it cannot honour is refused in one line.

    Queries, keys and values are as wide as the tokens unless `qkv_width` says otherwise.
    """
    kind = find(name)
    qkv_width = width if qkv_width is None else qkv_width
    for key, channels in (("width", width), ("qkv_width", qkv_width)):
        if channels <= 0 or channels % num_heads:
            raise UserError(f"{key} {channels} is not a multiple of {num_heads} heads")
    if causal:
        check_causal(name)
    place = Place(width, qkv_width, num_heads, max_length, layer, depth, seed, causal, rotary)
    chosen = parse(kind.options_type, _of_layer(options or {}, place), name)
    with seeded(seed, "mixer", layer), named(kind, "__init__", SIGNATURE):
        mixer = kind(place, chosen, previous)
    if not hasattr(mixer, "place"):
        raise MixerError(f"{title(kind)} does not call super().__init__; {SIGNATURE}")
    return mixer


def check_causal(name: str) -> None:
    """Refuse a mixer that cannot be causal."""
    card = find(name).card
    if not card.causal:
        able = ", ".join(key for key, card in CARDS.items() if card.causal)
        because = f": {card.why_not_causal}" if card.why_not_causal else ""
        raise UserError(f"{name} cannot be causal{because}; choose one of {able}")


def _of_layer(options: Mapping[str, object], place: Place) -> dict[str, object]:
    """Pick this layer's entry of every option that is given as a list, one entry per layer."""
    picked = {}
    for key, value in options.items():
        if isinstance(value, list) and len(value) != place.depth:
            raise UserError(f"{key} lists {len(value)} entries for {place.depth} layers")
        picked[key] = value[place.layer] if isinstance(value, list) else value
    return picked
