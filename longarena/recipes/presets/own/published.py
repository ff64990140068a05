"""A recipe as its authors published it, and how it becomes one of ours."""

from dataclasses import dataclass, field
from typing import Literal

from longarena import tasks
from longarena.model.config import ModelConfig, Positions
from longarena.model.decoding import Decoding
from longarena.options import Value
from longarena.recipes.recipe import Optimiser, Recipe, TaskChoice
from longarena.recipes.schedule import Kind, Schedule

# training examples as the authors count them: epochs are turned into updates by these
LISTOPS, TEXT, RETRIEVAL, IMAGE, PATHFINDER = 96_000, 25_000, 147_086, 45_000, 160_000


@dataclass(frozen=True)
class Published:
    """What the authors of a mechanism chose for a task.

    The defaults are those of the state-space family: one norm and one mixer a layer, no positions,
    pixels read as numbers, and AdamW as PyTorch and optax have it.
    """

    depth: int
    width: int
    rate: float
    batch_size: int
    steps: int
    warmup_steps: int
    weight_decay: float
    dropout: float
    options: dict[str, Value] = field(default_factory=dict)
    slow_rate: float | None = None
    norm: Literal["layer", "rms", "batch"] = "batch"
    schedule: Kind = "cosine"
    num_heads: int = 1
    mlp_width: int = 0
    positions: Positions = "none"
    pixels: Literal["embed", "value"] = "value"
    beta_2: float = 0.999
    epsilon: float = 1e-8
    clip: float | None = None
    label_smoothing: float = 0.0
    averaged: int = 1
    decoding: Decoding = field(default_factory=Decoding)

    def recipe(self, task: str, mixer: str, seed: int) -> Recipe:
        """Complete it to a recipe of this project."""
        built = tasks.build(task, {})
        epoch = built.card.sizes["train"] // self.batch_size
        return Recipe(
            preset="own",
            task=TaskChoice(name=task, version=built.card.version),
            model=ModelConfig(
                mixer=mixer,
                options=self.options,
                width=self.width,
                depth=self.depth,
                num_heads=self.num_heads,
                mlp_width=self.mlp_width,
                positions=self.positions,
                pooling="mean",
                dropout=self.dropout,
                norm=self.norm,
                input=self.pixels if built.signature.has_values else "embed",
            ),
            optimiser=self._optimiser(),
            schedule=Schedule(kind=self.schedule, warmup_steps=self.warmup_steps),
            batch_size=self.batch_size,
            label_smoothing=self.label_smoothing,
            steps=self.steps,
            evaluate_every=min(epoch, self.steps // 10),
            log_every=50,
            checkpoint_every=250,
            average_checkpoints=self.averaged,
            decoding=self.decoding,
            seed=seed,
        )

    def _optimiser(self) -> Optimiser:
        return Optimiser(
            rate=self.rate,
            slow_rate=self.slow_rate,
            beta_1=0.9,
            beta_2=self.beta_2,
            epsilon=self.epsilon,
            weight_decay=self.weight_decay,
            clip=self.clip,
        )
