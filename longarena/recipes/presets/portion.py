"""A portion of a task for a small model: what the presets `quick` and `cpu` have in common.

The model is that of `small`; the rate is 2e-3 with a tenth of the steps as warm-up and a cosine,
found by trial: with the 1e-4 of `small` a model learns nothing in so few steps.
"""

from dataclasses import dataclass, field

from longarena.options import Value
from longarena.recipes.presets.outside import version_of
from longarena.recipes.presets.small import two_layers
from longarena.recipes.recipe import Optimiser, Recipe, TaskChoice
from longarena.recipes.schedule import Schedule


@dataclass(frozen=True)
class Portion:
    """How much of a task is trained on, in what batches, for how many steps."""

    batch_size: int
    steps: int
    size: float = 1.0
    options: dict[str, Value] = field(default_factory=dict)
    num_validations: int = 4

    def recipe(self, preset: str, task: str, mixer: str, seed: int) -> Recipe:
        """Complete the portion to a recipe."""
        version = version_of(task)
        return Recipe(
            preset=preset,
            task=TaskChoice(name=task, version=version, options=self.options, size=self.size),
            model=two_layers(mixer, dropout=0.0),
            optimiser=Optimiser(rate=2e-3),
            schedule=Schedule(warmup_steps=self.steps // 10),
            batch_size=self.batch_size,
            steps=self.steps,
            evaluate_every=max(1, self.steps // self.num_validations),
            log_every=max(1, self.steps // 20),
            checkpoint_every=max(1, self.steps // 10),
            seed=seed,
        )
