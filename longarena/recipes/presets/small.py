"""small: the 2-layer, 64-wide model of the Nystromformer family, on the full tasks.

Sources, as read in the code of mlpen/Nystromformer (commit 5689313) and noted value by value:
model: 2 layers, width 64, 2 heads, MLP 128, dropout 0.1, learned positions, mean pooling;
optimiser: AdamW, betas 0.9 and 0.999, epsilon 1e-6, no weight decay, rate 1e-4, linear one-cycle;
per task: batch, warm-up and steps from its LRA/code/lra_config.py.

Choice: beta_1 stays 0.9; in that code OneCycleLR moves it between 0.95 and 0.85 by default.
Choice: dropout is on the outputs of the mixer, not on its weights.
Choice: validation every 500 or 1,000 steps (that code: 50 to 500, on parts of the set).
Choice: Path-X and the larger Pathfinders, which that code does not have, follow its Pathfinder.
"""

from dataclasses import dataclass

from longarena.model.config import ModelConfig
from longarena.recipes.presets.outside import input_of, is_outside, version_of
from longarena.recipes.recipe import Optimiser, Recipe, TaskChoice
from longarena.recipes.schedule import Schedule


@dataclass(frozen=True)
class Length:
    """How long and in what portions a task is trained."""

    batch_size: int
    warmup_steps: int
    steps: int
    evaluate_every: int


LENGTHS = {
    "listops": Length(32, 1000, 5000, 500),
    "text": Length(32, 8000, 20_000, 1000),
    "retrieval": Length(32, 800, 30_000, 1000),
    "image": Length(256, 175, 35_000, 1000),
    "pathfinder": Length(256, 312, 62_400, 1000),
    "pathfinder-64": Length(256, 312, 62_400, 1000),
    "path-x": Length(64, 312, 62_400, 1000),
    "pathfinder-256": Length(16, 312, 62_400, 1000),
}


# for a task from outside, about which nothing is known
OUTSIDE = Length(32, 1000, 10_000, 500)


def small(task: str, mixer: str, seed: int) -> Recipe | None:
    """Train the 2 x 64 model of the Nystromformer family, full tasks and steps: for a GPU."""
    length = LENGTHS.get(task, OUTSIDE if is_outside(task) else None)
    if length is None:
        return None
    return Recipe(
        preset="small",
        task=TaskChoice(name=task, version=version_of(task)),
        model=two_layers(mixer, dropout=0.1).model_copy(update={"input": input_of(task)}),
        optimiser=Optimiser(rate=1e-4, beta_1=0.9, beta_2=0.999, epsilon=1e-6, weight_decay=0.0),
        schedule=Schedule(kind="one-cycle", warmup_steps=length.warmup_steps),
        batch_size=length.batch_size,
        steps=length.steps,
        evaluate_every=length.evaluate_every,
        log_every=50,
        checkpoint_every=250,
        seed=seed,
    )


def two_layers(mixer: str, dropout: float) -> ModelConfig:
    """Return the model of the Nystromformer family: 2 layers, 64 wide."""
    return ModelConfig(
        mixer=mixer,
        width=64,
        depth=2,
        num_heads=2,
        mlp_width=128,
        positions="learned",
        pooling="mean",
        dropout=dropout,
    )
