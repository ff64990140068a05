"""What do copied positions cost and gain? Text at 512 bytes, extended to 2,048, and at both.

One mechanism of each of three families with the `cpu` preset: at 512 bytes; from there on at 2,048,
with all weights free and with the new positions alone; and at 2,048 from the beginning. A step at
2,048 computes four times as many tokens, so the extension and the run from the beginning have as
many steps fewer: an extended run takes in all about twice the time of the run at 512, and the one
from the beginning has as many tokens in all as that. The records have the seconds of every part.
Repeat it with another seed: --set seed=1

Paper:  Beltagy et al. (2020), Longformer, https://arxiv.org/abs/2004.05150, section 5
"""

from longarena import Recipe, extended, override, preset

LENGTH, TIMES = 2048, 4
MIXERS = ("transformer", "local", "linear")
COUNTED = ("steps", "evaluate_every", "log_every", "checkpoint_every")


def recipes() -> list[Recipe]:
    return [each for mixer in MIXERS for each in of_mixer(preset("text", mixer, "cpu"))]


def of_mixer(short: Recipe) -> list[Recipe]:
    """List the run at 512 bytes, what follows it, and the one that it is compared with."""
    after = [extended(short, LENGTH, only_positions=only) for only in (False, True)]
    values = {"schedule.warmup_steps": short.schedule.warmup_steps}
    values |= {name: getattr(short, name) for name in COUNTED}
    # as many tokens as the short run and its extension have together
    changes = [f"{name}={2 * number // TIMES}" for name, number in values.items()]
    return [short, *after, override(short, [f"task.max_length={LENGTH}", *changes])]
