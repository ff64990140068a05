"""Mega: the commands of its authors for the arena.

Source: facebookresearch/mega at 88b5aeb, examples/mega/README.lra.md; widths:
        fairseq/models/lra/model.py at 09f1a87, `mega_lra_*`. Batches are batch-size x update-freq,
        on Path-X x the 8 devices that it is said to have been tested on.

Adam with betas 0.9 and 0.98, epsilon 1e-8, decoupled decay, the gradient clipped at 1; linear
decay; no chunks. The feed-forward is as wide as the values.

Choice: `rms` for their ScaleNorm on Text and Retrieval, which has one gain for all channels.
Choice: ListOps, Text and Retrieval norm after the mixer in theirs.
Choice: the feed-forward has GELU, theirs SiLU.
Choice: the warm-up of Path-X is straight, theirs quadratic.
"""

from functools import partial
from typing import Literal

from longarena.options import Value
from longarena.recipes.presets.own.published import Published

MEGA = partial(Published, schedule="linear", beta_2=0.98, clip=1.0)


def _options(
    hidden: int, z: int, attention: Literal["softmax", "laplace"] = "laplace"
) -> dict[str, Value]:
    return {"ema": 16, "z": z, "hidden": hidden, "attention": attention}


# layers, width, rate, batch, updates, warm-up, decay, dropout, options
RECIPES = {
    "listops": MEGA(
        *(6, 80, 0.001, 64, 90_000, 3_000, 0.01, 0.1, _options(160, 64, "softmax")),
        mlp_width=160,
        norm="layer",
    ),
    "text": MEGA(
        *(4, 128, 0.004, 50, 25_000, 10_000, 0.01, 0.1, _options(256, 64, "softmax")),
        mlp_width=256,
        norm="rms",
    ),
    "retrieval": MEGA(
        *(6, 128, 0.003, 64, 91_960, 10_000, 0.04, 0.1, _options(256, 64, "softmax")),
        mlp_width=256,
        norm="rms",
    ),
    "image": MEGA(8, 160, 0.01, 50, 180_000, 9_000, 0.02, 0.0, _options(320, 96), mlp_width=320),
    "pathfinder": MEGA(
        6, 128, 0.01, 128, 250_000, 50_000, 0.01, 0.0, _options(256, 64), mlp_width=256
    ),
    "path-x": MEGA(4, 64, 0.01, 128, 125_000, 25_000, 0.01, 0.0, _options(128, 32), mlp_width=128),
}
