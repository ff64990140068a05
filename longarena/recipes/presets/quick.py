"""quick: minutes on two CPU cores. To see a mechanism work on a task, not to compare.

ListOps is short and shallow here (32 to 256 tokens, depth 6) and Pathfinder has the short paths;
both are generated on the spot. Text, Image and Retrieval are a share of the real data, which must
have been prepared at that size. So the numbers stand beside no published ones.
"""

from dataclasses import dataclass, field

from longarena import tasks
from longarena.model.config import ModelConfig
from longarena.options import Value
from longarena.recipes.recipe import Optimiser, Recipe, TaskChoice
from longarena.recipes.schedule import Schedule


@dataclass(frozen=True)
class Portion:
    """How much of a task is trained on, in what batches, for how many steps."""

    batch_size: int
    steps: int
    size: float = 1.0
    options: dict[str, Value] = field(default_factory=dict)


PORTIONS = {
    "listops": Portion(32, 1000, options={"min_length": 32, "max_length": 256, "max_depth": 6}),
    "text": Portion(16, 400, size=0.1),
    "retrieval": Portion(8, 200, size=0.1),
    "image": Portion(32, 500, size=0.2),
    "pathfinder": Portion(32, 1000, size=0.1, options={"difficulty": 6}),
    "pathfinder-64": Portion(8, 200, size=0.01, options={"difficulty": 6}),
    "path-x": Portion(2, 100, size=0.002, options={"difficulty": 6}),
}


def quick(task: str, mixer: str, seed: int) -> Recipe | None:
    """Train for minutes on two CPU cores, on little or short data: to see it work."""
    if task not in PORTIONS:
        return None
    portion = PORTIONS[task]
    return Recipe(
        preset="quick",
        task=TaskChoice(
            name=task,
            version=tasks.build(task, portion.options).card.version,
            options=portion.options,
            size=portion.size,
        ),
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
        schedule=Schedule(warmup_steps=portion.steps // 10),
        batch_size=portion.batch_size,
        steps=portion.steps,
        evaluate_every=max(1, portion.steps // 4),
        log_every=max(1, portion.steps // 20),
        checkpoint_every=max(1, portion.steps // 10),
        seed=seed,
    )
