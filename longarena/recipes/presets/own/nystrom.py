"""Nystromformer: the configuration file of its authors for the arena, from which `small` is made.

Source: mlpen/Nystromformer, LRA/code/lra_config.py at 2bcc280; see `small.py` for what differs.

Choice: 64 landmarks; the file lists 32, 64, 128 and 256 for each task and prefers none.
"""

from longarena.recipes.presets.own.published import Published
from longarena.recipes.presets.small import LENGTHS

TASKS = ("listops", "text", "retrieval", "image", "pathfinder")

RECIPES = {
    task: Published(
        depth=2,
        width=64,
        num_heads=2,
        mlp_width=128,
        norm="layer",
        positions="learned",
        pixels="embed",
        dropout=0.1,
        rate=1e-4,
        epsilon=1e-6,
        weight_decay=0.0,
        schedule="one-cycle",
        batch_size=LENGTHS[task].batch_size,
        steps=LENGTHS[task].steps,
        warmup_steps=LENGTHS[task].warmup_steps,
        options={"landmarks": 64, "conv": 35},
    )
    for task in TASKS
}
