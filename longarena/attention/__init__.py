"""How positions talk: one file per mechanism, and the table of them.

build("linear", width=64, num_heads=2, max_length=1024)   any mechanism
matrix(mixer, x, mask)                                    its effective attention matrix
"""

import importlib
from collections.abc import Mapping

from longarena.attention.base import Attention, Mixer, MixerCard, Place
from longarena.attention.bigbird import BigBird
from longarena.attention.compressive import Compressive
from longarena.attention.convolution import Convolving
from longarena.attention.image_transformer import ImageTransformer
from longarena.attention.linear import LinearAttention
from longarena.attention.linformer import Linformer
from longarena.attention.lite_transformer import LiteTransformer
from longarena.attention.local import Local
from longarena.attention.longformer import Longformer
from longarena.attention.matrix import matrix
from longarena.attention.performer import Performer
from longarena.attention.poolingformer import Poolingformer
from longarena.attention.reformer import Reformer
from longarena.attention.routing import Routing
from longarena.attention.set_transformer import SetTransformer
from longarena.attention.sinkhorn import Sinkhorn
from longarena.attention.sparse import Sparse
from longarena.attention.synthesizer import Synthesizer
from longarena.attention.transformer import Transformer
from longarena.attention.transformer_xl import TransformerXL
from longarena.errors import UserError, unknown
from longarena.options import parse
from longarena.seeding import seeded

MIXERS: dict[str, type[Mixer]] = {
    "transformer": Transformer,
    "local": Local,
    "sparse": Sparse,
    "longformer": Longformer,
    "linformer": Linformer,
    "reformer": Reformer,
    "sinkhorn": Sinkhorn,
    "synthesizer": Synthesizer,
    "bigbird": BigBird,
    "linear": LinearAttention,
    "performer": Performer,
    "routing": Routing,
    "transformer-xl": TransformerXL,
    "compressive": Compressive,
    "set-transformer": SetTransformer,
    "image-transformer": ImageTransformer,
    "poolingformer": Poolingformer,
    "lite-transformer": LiteTransformer,
}

__all__ = [
    "MIXERS",
    "Attention",
    "Convolving",
    "Mixer",
    "MixerCard",
    "Place",
    "build",
    "find",
    "matrix",
]


def find(name: str) -> type[Mixer]:
    """Find a mixer by its name in the table, or a user's own by `module:Class`."""
    if name in MIXERS:
        return MIXERS[name]
    if ":" not in name:
        raise unknown("mixer", name, MIXERS)
    module, _, attribute = name.partition(":")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise UserError(f"cannot load the mixer {name!r}: {error}") from None
    if not (isinstance(found, type) and issubclass(found, Mixer)):
        raise UserError(f"{name!r} is not a subclass of longarena.attention.Mixer")
    return found


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
    if causal and not kind.card.causal:
        able = ", ".join(key for key, mixer in MIXERS.items() if mixer.card.causal)
        raise UserError(f"{name} cannot be causal; choose one of {able}")
    place = Place(width, qkv_width, num_heads, max_length, layer, depth, seed, causal)
    chosen = parse(kind.options_type, _of_layer(options or {}, place), name)
    with seeded(seed, "mixer", layer):
        return kind(place, chosen, previous)


def _of_layer(options: Mapping[str, object], place: Place) -> dict[str, object]:
    """Pick this layer's entry of every option that is given as a list, one entry per layer."""
    picked = {}
    for key, value in options.items():
        if isinstance(value, list) and len(value) != place.depth:
            raise UserError(f"{key} lists {len(value)} entries for {place.depth} layers")
        picked[key] = value[place.layer] if isinstance(value, list) else value
    return picked
