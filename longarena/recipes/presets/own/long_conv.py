"""Long convolutions: the configuration files of their authors for the arena.

Source: HazyResearch/safari at 26f6223, configs/experiment/lra/long-conv-lra-*.yaml, and
        configs/model/layer/long-conv.yaml for what they leave out: kernels begin small and random.
        Retrieval: two batches of 32 make an update. Warm-up on Image, which its file leaves out:
        1,000 steps, as in state-spaces/s4, on which that code is built.

AdamW, cosine. The slow rate is that of the kernels.

Choice: both directions on every task; theirs look back only, except on Pathfinder and Path-X. They
        have two kernels a channel and direction where we have one.
Choice: ListOps and Image norm after the mixer in theirs. Pathfinder is judged by its last token.
Choice: their cosine would end after 80,000, 50,000 and 200,000 steps on ListOps, Retrieval and
        Image, but their epochs end 4, 8 and 10 % before that; ours ends with the run.
"""

from longarena.options import Value
from longarena.recipes.presets.own.published import (
    IMAGE,
    LISTOPS,
    PATHFINDER,
    RETRIEVAL,
    TEXT,
    Published,
)


def _options(kernel_dropout: float, lam: float) -> dict[str, Value]:
    return {"lam": lam, "kernel_dropout": kernel_dropout, "init": "random"}


# layers, width, rate, batch, epochs x batches, warm-up, decay, dropout, options, slow rate
RECIPES = {
    "listops": Published(
        8, 128, 0.01, 50, 40 * (LISTOPS // 50), 10_000, 0.05, 0.0, _options(0.2, 0.002), 5e-4
    ),
    "text": Published(
        6, 256, 0.01, 16, 32 * (TEXT // 16), 5_000, 0.05, 0.0, _options(0.2, 0.003), 1e-3
    ),
    "retrieval": Published(
        6, 256, 0.01, 64, 20 * (RETRIEVAL // 64), 2_500, 0.05, 0.0, _options(0.1, 0.004), 1e-4
    ),
    "image": Published(
        *(6, 512, 0.01, 50, 200 * (IMAGE // 50), 1_000, 0.05, 0.1, _options(0.2, 0.003), 1e-3),
        norm="layer",
    ),
    "pathfinder": Published(
        *(6, 256, 0.004, 64, 200 * (PATHFINDER // 64), 2_500, 0.03, 0.0),
        *(_options(0.3, 0.001), 1e-3),
    ),
    "path-x": Published(
        *(6, 256, 5e-4, 16, 50 * (PATHFINDER // 16), 10_000, 0.05, 0.0),
        *(_options(0.3, 0.001), 5e-4),
    ),
}
