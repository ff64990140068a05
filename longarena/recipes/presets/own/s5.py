"""S5: the commands of its authors for the arena.

Source: lindermanlab/S5 at d133f4d, bin/run_experiments/run_lra_*.sh; what a command leaves out:
        the defaults of run_train.py. Their rate is lr_factor x ssm_lr_base, the slow rate is
        ssm_lr_base, the warm-up is warmup_end epochs; batches that are not full are dropped.

AdamW, cosine to zero, batch norm before the mixer, both directions, mean pooling: as here.

Choice: Lambda, B and the time step are slow and do not decay: their `standard` setting, which Text,
        Retrieval and Pathfinder have. In theirs B decays on ListOps, Image (both at the full rate)
        and Path-X, and the time step learns at the full rate on Text and Retrieval (dt_global).
Choice: the gate is their `half_glu1`; ListOps and Text have `half_glu2` in theirs.
Choice: real parts of Lambda stay negative everywhere; theirs ensure that on Image alone.
Choice: C starts LeCun-normal; on Path-X theirs starts complex normal.
Choice: their cosine reaches zero one warm-up before the last step, ours with it.
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


def _options(state: int, blocks: int, dt_min: float = 1e-3) -> dict[str, Value]:
    return {"state": state, "blocks": blocks, "dt_min": dt_min, "dt_max": 0.1}


# layers, width, rate, batch, epochs x batches, warm-up, decay, dropout, options, slow rate
RECIPES = {
    "listops": Published(
        *(8, 128, 0.003, 50, 40 * (LISTOPS // 50), LISTOPS // 50, 0.04, 0.0),
        *(_options(16, 8), 0.001),
    ),
    "text": Published(6, 256, 0.004, 50, 35 * (TEXT // 50), 0, 0.07, 0.1, _options(192, 12), 0.001),
    "retrieval": Published(
        *(6, 128, 0.002, 32, 20 * (RETRIEVAL // 32), RETRIEVAL // 32, 0.05, 0.0),
        *(_options(256, 16), 0.001),
    ),
    "image": Published(
        *(6, 512, 0.0045, 50, 250 * (IMAGE // 50), IMAGE // 50, 0.07, 0.1),
        *(_options(384, 3), 0.001),
    ),
    "pathfinder": Published(
        *(6, 192, 0.0045, 64, 200 * (PATHFINDER // 64), PATHFINDER // 64, 0.03, 0.05),
        *(_options(256, 8), 0.0009),
    ),
    "path-x": Published(
        *(6, 128, 0.0018, 32, 75 * (PATHFINDER // 32), PATHFINDER // 32, 0.06, 0.0),
        *(_options(256, 16, dt_min=1e-4), 0.0006),
    ),
}
