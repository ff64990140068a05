"""Luna: the commands of its authors for the arena.

Source: XuezheMax/fairseq-apollo at 68bc402, examples/luna/README.lra.md; sizes:
        fairseq/models/luna_lra/model.py at 074fc64, `luna_lra_*`. The commands leave the number of
        packed vectors open; 256 is the Luna-256 whose scores are quoted.

Adam with betas 0.9 and 0.98, epsilon 1e-8, decoupled decay, inverse square root. Their rate is the
peak, ours for `rsqrt` is the peak times the square root of the warm-up.

Choice: no recipe for Image: the size of that model differs between the versions of the code.
Choice: theirs norms after the mixer and pools by CLS, on Pathfinder by the mean.
Choice: learned positions; their code has had these and fixed ones.
Choice: attention weights have no dropout; theirs have 0.1, on Text 0.3.
"""

import math
from functools import partial

from longarena.recipes.presets.own.published import Published

LUNA = partial(
    Published,
    options={"packed": 256},
    norm="layer",
    positions="learned",
    pixels="embed",
    schedule="rsqrt",
    beta_2=0.98,
)

# layers, width, peak x root of the warm-up, batch, updates, warm-up, decay, dropout
RECIPES = {
    "listops": LUNA(
        *(1, 512, 1e-4 * math.sqrt(1_000), 32, 5_000, 1_000, 1e-4, 0.1),
        num_heads=8,
        mlp_width=2048,
    ),
    "text": LUNA(
        *(4, 256, 5e-5 * math.sqrt(8_000), 32, 20_000, 8_000, 1e-4, 0.3),
        num_heads=4,
        mlp_width=1024,
    ),
    "retrieval": LUNA(
        *(4, 128, 5e-4 * math.sqrt(8_000), 32, 20_000, 8_000, 1e-4, 0.1),
        num_heads=4,
        mlp_width=512,
    ),
    "pathfinder": LUNA(
        *(1, 128, 1e-3 * math.sqrt(4_000), 512, 62_500, 4_000, 0.0, 0.2),
        num_heads=4,
        mlp_width=128,
    ),
}
