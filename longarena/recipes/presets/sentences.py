"""Translation in the presets `quick` and `cpu`: sentences of Multi30k, or of a user's two files.

An encoder and a decoder of three layers each. Every mechanism has the same width, steps and rate;
a mechanism that cannot be causal reads the source, and softmax attention writes the target. Other
sizes are `--set model.width=...` with an `mlp_width` twice as large and the rate of `rate_at`; the
Lite Transformer's feed-forward is flat, so it takes a width a quarter larger for about the same
Mult-Adds.

Dropout, label smoothing and sinusoidal positions are those of the Lite Transformer's authors; the
last five checkpoints are averaged, they average ten.

Choice: a cosine as in their WMT'14 models, not the inverse square root of their IWSLT'14 ones,
        which is made for twenty times as many steps; so is their rate of 5e-4.
Choice: 2,400 steps of 64 sentences are five epochs of Multi30k. Small batches and a high rate learn
        most from so few: after 96,000 sentences a Transformer of width 64 has a test BLEU of 22.9
        with batches of 128 and a rate of 0.003, 27.1 with batches of 64, 30.5 with 64 and 0.006.
Choice: the rate falls as the width grows, to which it is inverse. At a width of 128 half of that
        0.006 does better, and at 192 even 0.004 holds a Transformer back (docs/results.md).
Choice: 4,000 byte pairs. In a small model the output is a large part of a step, and Multi30k has
        few words.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from longarena.attention import CARDS
from longarena.model.config import ModelConfig
from longarena.options import Value
from longarena.recipes.presets.outside import version_of
from longarena.recipes.presets.windows import options_at
from longarena.recipes.recipe import Optimiser, Recipe, TaskChoice
from longarena.recipes.schedule import Schedule
from longarena.tasks.twofiles import is_pair_name

# what sentences have at most, but for a few; windows, blocks and memories are as short beside it as
# their defaults beside a long task
WINDOW_LENGTH = 64
# what writes where a mechanism can only read
WRITER = "transformer"
# 0.006 at a width of 64, 0.003 at 128
RATE_TIMES_WIDTH = 0.384


def rate_at(width: int) -> float:
    """Return the rate for models of a width.

    >>> rate_at(64), rate_at(240)
    (0.006, 0.0016)
    """
    return float(f"{RATE_TIMES_WIDTH / width:.3g}")


@dataclass(frozen=True)
class Sentences:
    """How much is trained on sentences, and the size of the model."""

    batch_size: int
    steps: int
    width: int
    depth: int = 3
    num_heads: int = 4
    options: dict[str, Value] = field(default_factory=dict)
    validate_on: int = 500
    averaged: int = 5

    def recipe(self, preset: str, task: str, mixer: str, seed: int) -> Recipe:
        """Complete it to a recipe."""
        is_able = mixer not in CARDS or CARDS[mixer].causal
        return Recipe(
            preset=preset,
            task=TaskChoice(name=task, version=version_of(task), options=self.options),
            model=ModelConfig(
                mixer=mixer,
                options=options_at(WINDOW_LENGTH, mixer),
                decoder=None if is_able else WRITER,
                width=self.width,
                depth=self.depth,
                num_heads=self.num_heads,
                mlp_width=2 * self.width,
                positions="sinusoidal",
                pooling="mean",
                dropout=0.1,
            ),
            optimiser=Optimiser(rate=rate_at(self.width), slow_rate=1e-3, clip=1.0),
            schedule=Schedule(warmup_steps=self.steps // 10),
            batch_size=self.batch_size,
            label_smoothing=0.1,
            steps=self.steps,
            evaluate_every=max(1, self.steps // 8),
            validate_on=self.validate_on,
            log_every=max(1, self.steps // 40),
            checkpoint_every=max(1, self.steps // 40),
            average_checkpoints=self.averaged,
            seed=seed,
        )


SMALL_VOCABULARY: dict[str, Value] = {"vocabulary": 4000}
# for two files of the user's
QUICK_OWN = Sentences(batch_size=64, steps=300, width=64, depth=2, validate_on=100)
CPU_OWN = Sentences(batch_size=64, steps=2400, width=128)

QUICK = {"multi30k": replace(QUICK_OWN, options=SMALL_VOCABULARY)}
CPU = {"multi30k": replace(CPU_OWN, options=SMALL_VOCABULARY)}


def sentences_of(
    task: str, known: Mapping[str, Sentences], of_files: Sentences
) -> Sentences | None:
    """Choose what a preset has for a task that translates; None for any other."""
    return known.get(task) or (of_files if is_pair_name(task) else None)
