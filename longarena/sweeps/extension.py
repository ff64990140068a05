"""What do copied positions cost and gain? Text at 256 tokens, extended to 1,024, and at both.

One mechanism of each of three families with the `cpu` preset, whose 256 byte pairs three of four
reviews exceed; from there on at 1,024, with all weights free and with the new positions alone; and
at 1,024 from the beginning. Reviews end, so a step at 1,024 has not four times but 1.85 times the
tokens of one at 256. The run from the beginning has as many tokens in all as the short one and its
extension together. The records have the seconds of every part. Repeat it with another seed: --set
seed=1

Paper:  Beltagy et al. (2020), Longformer, https://arxiv.org/abs/2004.05150, section 5
Choice: four times the length as from 512 to 2,048 bytes, in the tokens of the preset, because in
        bytes nothing is learnt in minutes that could get lost.
"""

from longarena import Recipe, extended, override, preset
from longarena.sweeps.cpu import in_steps

LENGTH = 1024
# how many tokens a batch has there, to one of the preset
TOKENS = 1.85
MIXERS = ("transformer", "local", "linear")


def recipes() -> list[Recipe]:
    return [each for mixer in MIXERS for each in of_mixer(preset("text", mixer, "cpu"))]


def of_mixer(short: Recipe) -> list[Recipe]:
    """List the run at the length of the preset, what follows it, and what both compare with."""
    after = [extended(short, LENGTH, only_positions=only) for only in (False, True)]
    share = (short.steps / TOKENS + after[0].steps) / short.steps
    return [short, *after, override(in_steps(short, share), [f"task.max_length={LENGTH}"])]
