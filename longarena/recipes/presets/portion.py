"""A portion of a task for a small model: what the presets `quick` and `cpu` have in common.

The model is that of `small`, wider where a task needs it; a tenth of the steps is warm-up, the rest
a cosine. The 1e-4 of `small` is a rate for many more steps: in so few, a model would learn nothing
with it.
"""

from dataclasses import dataclass, field, replace
from typing import Literal

from longarena.attention import CARDS
from longarena.model.config import Positions
from longarena.options import Value
from longarena.recipes.presets.outside import is_outside, version_of
from longarena.recipes.presets.small import two_layers
from longarena.recipes.presets.windows import FULL_LENGTH, options_at
from longarena.recipes.recipe import Optimiser, Recipe, TaskChoice
from longarena.recipes.schedule import Schedule
from longarena.tasks.own import has_values, is_stream
from longarena.tasks.own.names import is_path_name

# how much is read of an example of a user's data
LONGEST_TEXT, LONGEST_SERIES = 1024, 4096
# they compare no queries with keys that could be rotated, and have no positions of their own
UNROTATED = {"synthesizer"}


@dataclass(frozen=True)
class Portion:
    """How much of a task is trained on, in what batches, for how many steps.

    `window_length` is the length of sequences that the mechanisms' windows are made for.
    """

    batch_size: int
    steps: int
    size: float = 1.0
    options: dict[str, Value] = field(default_factory=dict)
    num_validations: int = 4
    validate_on: int | None = None
    rate: float = 2e-3
    slow_rate: float | None = None
    clip: float | None = None
    norm: Literal["layer", "batch"] = "layer"
    input: Literal["embed", "value"] = "embed"
    width: int = 64
    mlp_width: int = 128
    num_heads: int = 2
    positions: Positions = "learned"
    is_causal: bool = False
    window_length: int = FULL_LENGTH

    def suits(self, mixer: str) -> bool:
        """Tell whether a mixer can do the task; a user's own is not asked before it is built."""
        return not self.is_causal or mixer not in CARDS or CARDS[mixer].causal

    def positions_of(self, mixer: str) -> Positions:
        """Return the positions that a mixer is given; not all can be rotated."""
        is_rotated = mixer in CARDS and mixer not in UNROTATED
        return self.positions if self.positions != "rotary" or is_rotated else "learned"

    def recipe(self, preset: str, task: str, mixer: str, seed: int) -> Recipe:
        """Complete the portion to a recipe."""
        version = version_of(task)
        model = two_layers(mixer, dropout=0.0)
        return Recipe(
            preset=preset,
            task=TaskChoice(name=task, version=version, options=self.options, size=self.size),
            model=model.model_copy(
                update={
                    "options": options_at(self.window_length, mixer),
                    "norm": self.norm,
                    "input": self.input,
                    "width": self.width,
                    "mlp_width": self.mlp_width,
                    "num_heads": self.num_heads,
                    "positions": self.positions_of(mixer),
                }
            ),
            optimiser=Optimiser(rate=self.rate, slow_rate=self.slow_rate, clip=self.clip),
            schedule=Schedule(warmup_steps=self.steps // 10),
            batch_size=self.batch_size,
            steps=self.steps,
            evaluate_every=max(1, self.steps // self.num_validations),
            validate_on=self.validate_on,
            log_every=max(1, self.steps // 20),
            checkpoint_every=max(1, self.steps // 10),
            seed=seed,
        )


def own_portion(task: str, of_class: Portion, of_text: Portion) -> Portion | None:
    """Choose what a preset has for a task from outside; None for a built-in one.

    Data of the user's may be of any length, so each example is cut; values are read as numbers.
    """
    if not is_path_name(task):
        return of_class if is_outside(task) else None
    if is_stream(task):
        return of_text
    if has_values(task):
        return replace(of_class, options={"max_length": LONGEST_SERIES}, input="value")
    return replace(of_class, options={"max_length": LONGEST_TEXT})
