"""S4D: the configuration files of its authors for the arena.

Source: state-spaces/s4, configs/experiment/lra/s4-lra-*.yaml at ab287c6 (aan: d589d98, pathfinder:
        43f5b0c, pathx: d27bdf9), the files of the S4D paper's time, which `mode=diag` turns from S4
        into S4D (models/s4/README.md). The later s4-*.yaml were tuned for S4 alone, with 4 states
        on text. Warm-up where a file has none: configs/scheduler/cosine_warmup.yaml.

AdamW, cosine, states of 64, both directions. The transition learns at 1e-3 (Path-X: 5e-4).

Choice: the start is `legs`, to which those files are set (S4D-LegS).
Choice: on Path-X the rate is 1e-3 with a warm-up of 50,000, which the file recommends over the
        5e-4 and 10,000 of the paper.
Choice: their cosine would end after 80,000, 50,000 and 200,000 steps on ListOps, Retrieval and
        Image, but their epochs end 4, 8 and 10 % before that; ours ends with the run.
Choice: ListOps and Image norm after the mixer in theirs.
Choice: the time step learns as slowly as the transition; in theirs so on Pathfinder and Path-X, and
        at the full rate elsewhere.
Choice: every channel has a transition of its own; on Image theirs have two in all.
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


def _options(dt_min: float = 1e-3) -> dict[str, Value]:
    return {"state": 64, "init": "legs", "dt_min": dt_min, "dt_max": 0.1}


# layers, width, rate, batch, epochs x batches, warm-up, decay, dropout, options, slow rate
RECIPES = {
    "listops": Published(
        8, 128, 0.01, 50, 40 * (LISTOPS // 50), 1_000, 0.05, 0.0, _options(), 1e-3
    ),
    "text": Published(6, 256, 0.01, 16, 32 * (TEXT // 16), 1_000, 0.05, 0.0, _options(), 1e-3),
    "retrieval": Published(
        6, 256, 0.01, 64, 20 * (RETRIEVAL // 64), 2_500, 0.05, 0.0, _options(), 1e-3
    ),
    "image": Published(
        6, 512, 0.01, 50, 200 * (IMAGE // 50), 1_000, 0.05, 0.1, _options(), 1e-3, norm="layer"
    ),
    "pathfinder": Published(
        6, 256, 0.004, 64, 200 * (PATHFINDER // 64), 2_500, 0.03, 0.0, _options(), 1e-3
    ),
    "path-x": Published(
        6, 256, 0.001, 16, 50 * (PATHFINDER // 16), 50_000, 0.05, 0.0, _options(1e-4), 5e-4
    ),
}
