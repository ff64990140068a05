"""quick: minutes on two CPU cores, on data generated on the spot. To see it work, not to compare.

ListOps is short and shallow here (32 to 256 tokens, depth 6), so the numbers stand beside no
published ones.
"""

from longarena.model.config import ModelConfig
from longarena.recipes.recipe import Optimiser, Recipe, TaskChoice
from longarena.recipes.schedule import Schedule

TASKS = {
    "listops": TaskChoice(
        name="listops",
        version=1,
        options={"min_length": 32, "max_length": 256, "max_depth": 6},
    ),
}


def quick(task: str, mixer: str, seed: int) -> Recipe | None:
    """Train for a minute on two CPU cores, on short data made on the spot: to see it work."""
    if task not in TASKS:
        return None
    return Recipe(
        preset="quick",
        task=TASKS[task],
        model=ModelConfig(
            mixer=mixer,
            width=64,
            depth=2,
            num_heads=2,
            mlp_width=128,
            positions="learned",
            pooling="mean",
            dropout=0.0,
        ),
        optimiser=Optimiser(rate=2e-3),
        schedule=Schedule(warmup_steps=100),
        batch_size=32,
        steps=1000,
        evaluate_every=250,
        log_every=50,
        checkpoint_every=100,
        seed=seed,
    )
