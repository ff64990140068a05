"""The pattern of a mechanism as the papers draw it: who attends to whom, head by head.

A small mixer is built, fed random tokens, and its effective attention matrix is drawn: row i is
the query, column j the key, dark where much of value j reaches position i.

The Image Transformer has a second picture, of its memory blocks (`memory_blocks.py`).

Choice: each row is scaled to its own largest weight and the root is taken, so that faint links
        show; the picture tells where attention goes, not how much.
"""

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import altair as alt
import numpy as np
import torch
from numpy.typing import NDArray

from longarena import attention
from longarena.attention import Attention, MixerCard
from longarena.attention.image_transformer import ImageTransformer
from longarena.data import png
from longarena.data.files import write_atomically
from longarena.errors import UserError
from longarena.report.patterns import memory_blocks
from longarena.seeding import torch_rng

HEAD_SIZE = 8
LENGTH, HEADS = 64, 4
IMAGE_LENGTH = 256
PIXELS, GAP = 240, 2


@dataclass(frozen=True)
class Sketch:
    """What is drawn of a mixer: its options, how many positions and heads, the seed."""

    name: str
    options: Mapping[str, object] = field(default_factory=dict)
    length: int = LENGTH
    num_heads: int = HEADS
    seed: int = 0


def build(sketch: Sketch) -> Attention[object]:
    """Build the mixer of a sketch; its blocks are small so that the pattern shows."""
    mixer = attention.build(
        sketch.name,
        width=HEAD_SIZE * sketch.num_heads,
        num_heads=sketch.num_heads,
        max_length=sketch.length,
        seed=sketch.seed,
        options={**_small(sketch), **sketch.options},
    ).eval()
    if not isinstance(mixer, Attention):
        raise UserError(f"{sketch.name} has no attention matrix to draw")
    return mixer


def _small(sketch: Sketch) -> Mapping[str, object]:
    kind = attention.find(sketch.name)
    is_image = issubclass(kind, ImageTransformer) and sketch.options.get("mode") == "2d"
    return memory_blocks.image_options(sketch.length) if is_image else kind.card.sketch


def pattern(sketch: Sketch) -> NDArray[np.float64]:
    """Return the strength of every link, (heads, length, length), between 0 and 1."""
    mixer = build(sketch)
    shape = (1, sketch.length, HEAD_SIZE * sketch.num_heads)
    x = torch.randn(shape, generator=torch_rng(sketch.seed, "sketch"))
    mask = torch.ones(1, sketch.length, dtype=torch.bool)
    with torch.inference_mode():
        weights = attention.matrix(mixer, x, mask)[0].double().abs().numpy()
    largest = weights.max(axis=-1, keepdims=True)
    strength: NDArray[np.float64] = np.sqrt(weights / np.maximum(largest, 1e-12))
    return strength


def chart(sketch: Sketch) -> alt.HConcatChart:
    """Draw the heads side by side; links that do not exist are left white."""
    strengths = pattern(sketch)
    title = attention.find(sketch.name).card.title
    return alt.hconcat(
        *(_head(head, strengths[head]) for head in range(len(strengths)))
    ).properties(title=f"{title}: query (down) to key (right), {sketch.length} positions")


def _head(number: int, strength: NDArray[np.float64]) -> alt.Chart:
    query, key = np.nonzero(strength > 0.01)
    links = [
        {"query": int(i), "key": int(j), "strength": round(float(strength[i, j]), 2)}
        for i, j in zip(query, key, strict=True)
    ]
    scale = alt.Scale(domain=list(range(len(strength))), padding=0)
    shades = alt.Scale(domain=[0, 1], range=["#fff", "#1f4e9c"])
    data = alt.InlineData(values=links)
    drawing: alt.Chart = (
        alt.Chart(data, width=PIXELS, height=PIXELS, title=f"head {number + 1}")
        .mark_rect()
        .encode(
            x=alt.X("key:O", axis=None, scale=scale),
            y=alt.Y("query:O", axis=None, scale=scale),
            color=alt.Color("strength:Q", legend=None, scale=shades),
        )
    )
    return drawing


def draw(sketch: Sketch, out: Path) -> list[Path]:
    """Write the pattern of a mixer, and its memory blocks if it has any, as PNG and SVG."""
    stem, mixer = sketch.name.replace(":", "."), build(sketch)
    paths = _save(chart(sketch), out, stem)
    if isinstance(mixer, ImageTransformer):
        paths += _save(memory_blocks.chart(mixer, sketch.length), out, f"{stem}-memory")
    return paths


def _save(drawing: alt.HConcatChart, out: Path, stem: str) -> list[Path]:
    paths = [out / f"{stem}.png", out / f"{stem}.svg"]
    out.mkdir(parents=True, exist_ok=True)
    for path in paths:
        partial = path.with_name(f".partial{path.suffix}")
        drawing.save(partial, ppi=144)
        write_atomically(path, partial.read_bytes())
        partial.unlink()
    return paths


@dataclass(frozen=True)
class Plate:
    """One picture of the gallery, ready for a page; `about` says what is not a pattern."""

    card: MixerCard
    options: str
    url: str
    about: str = ""


def gallery() -> list[Plate]:
    """Draw every mechanism of the table that has a matrix, and the memory blocks of one."""
    drawn = [kind.card for kind in attention.MIXERS.values() if issubclass(kind, Attention)]
    plates = [_plate(card) for card in drawn]
    return [*plates, *(_blocks_plate(mode) for mode in ("1d", "2d"))]


def _plate(card: MixerCard) -> Plate:
    options = ", ".join(f"{key}={value}" for key, value in card.sketch.items())
    return Plate(card, options, _url(tile(Sketch(card.name))))


def _blocks_plate(mode: str) -> Plate:
    """Draw the memory blocks on an image of 16 x 16 pixels."""
    options = {"mode": mode} | ({"block": 24, "memory": 72} if mode == "1d" else {})
    sketch = Sketch(ImageTransformer.card.name, options, IMAGE_LENGTH)
    mixer = cast(ImageTransformer, build(sketch))
    picture = memory_blocks.tile(mixer, sketch.length, LENGTH, GAP)
    about = "Blocks of queries (black) and their memory (grey) on the image"
    return Plate(mixer.card, f"mode={mode}", _url(picture), about)


def _url(picture: NDArray[np.uint8]) -> str:
    return f"data:image/png;base64,{base64.b64encode(png.encode(picture)).decode()}"


def tile(sketch: Sketch) -> NDArray[np.uint8]:
    """Draw the heads side by side as grey pixels, dark where attention is, for the gallery."""
    grey = (255 * (1 - pattern(sketch))).astype(np.uint8)
    framed = np.pad(grey, ((0, 0), (0, 0), (0, GAP)), constant_values=255)
    return np.hstack(list(framed))[:, :-GAP]
