"""cpu: minutes on one core, on tasks that can be learnt in them: for a table that tells apart.

Every task is a version on which a good mechanism gets far above chance within minutes of one core:
short lists, the first 256 of 1,000 byte pairs of a review, CIFAR-10 and Pathfinder at 16 x 16
pixels, the first 128 byte pairs of each paper of Retrieval and spoken digits at 2 kHz; texts in
windows of 512 bytes, of enwik8 the first fifth of each split. Of some tasks a share of the data is
enough: it has more examples than these runs see, and thousands to test on. What made the
difference, by trial: pixels read as numbers instead of 256 words, the norm of the batch instead of
the layer's, a high rate, and a lower one for the slow parameters of state spaces; byte pairs where
a text is classified, for in bytes few pass 62 % in a minute; for texts to be continued,
rotary positions instead of learned ones. Windows, blocks and memories are as much shorter than
their defaults as the sequences are (`windows.py`).

Every mechanism takes the same steps, so a slow one takes longer. Validation is on 1,000 examples,
or on 200 windows of a text; the test is on all. The numbers compare mechanisms with each other, not
with published ones.

One rate does not suit all. At 0.01 S4D has 54 % of the lists; at 0.003, which is what most of 34
mechanisms chose there, it has 43 %. Of the reviews it has 76 % at 0.01 and 74 at 0.003, while the
Transformer has 73 at 0.001. With the small batches of these tasks attention is at chance on Image
at 0.01, and the Transformer, local and linear attention do mostly better on Image and Pathfinder at
0.001 than at 0.003. So a table is worth its name only with `longarena sweep --preset cpu --tune
optimiser.rate=1e-3,3e-3,1e-2 --halve`, which gives each its own.

Choice: texts in batches of 4 windows, so that few bytes give many steps. With them the Transformer
        has 2.42 bits per byte of enwik8 after 4 million bytes, and 2.45 at half of the rate.
"""

from dataclasses import replace

from longarena.options import Values
from longarena.recipes.presets.portion import Portion, own_portion
from longarena.recipes.presets.probes import CPU as PROBES
from longarena.recipes.presets.sentences import CPU as SENTENCES
from longarena.recipes.presets.sentences import CPU_OWN, sentences_of
from longarena.recipes.recipe import Recipe

# for a task from outside, about which nothing is known
OUTSIDE = Portion(
    32, 1000, num_validations=8, validate_on=1000, rate=3e-3, slow_rate=1e-3, norm="batch"
)
# small batches: of as many examples, more steps learn more; at 0.003 attention learns less of them
SHORT = replace(OUTSIDE, batch_size=16, num_validations=4, rate=1e-3, window_length=256)
BYTE_PAIRS: Values = {"tokens": "bpe", "vocabulary": 1000}
# for texts: enwik8 and files of the user's
LANGUAGE = Portion(
    batch_size=4,
    steps=2000,
    options={"length": 512},
    num_validations=8,
    validate_on=200,
    rate=6e-3,
    slow_rate=1e-3,
    clip=1.0,
    width=128,
    mlp_width=512,
    num_heads=4,
    positions="rotary",
    is_causal=True,
    window_length=512,
)

PORTIONS = {
    "listops": replace(
        OUTSIDE,
        batch_size=64,
        steps=1200,
        options={"min_length": 16, "max_length": 64, "max_depth": 4},
        window_length=64,
    ),
    "text": replace(
        SHORT, batch_size=8, steps=1600, size=0.4, options=BYTE_PAIRS | {"max_length": 256}
    ),
    "retrieval": replace(SHORT, options=BYTE_PAIRS | {"max_length": 128}, window_length=128),
    "image": replace(SHORT, steps=600, size=0.5, options={"side": 16}, input="value"),
    "pathfinder": replace(
        SHORT,
        steps=2000,
        num_validations=8,
        size=0.25,
        options={"side": 16, "difficulty": 3},
        input="value",
    ),
    "digits": replace(
        OUTSIDE,
        steps=2000,
        rate=1e-2,
        options={"rate": 2000, "max_length": 1280},
        input="value",
    ),
    "enwik8": replace(LANGUAGE, size=0.2),
    **PROBES,
}


def cpu(task: str, mixer: str, seed: int) -> Recipe | None:
    """Train for minutes on one core, on tasks that can be learnt in them: for a whole table."""
    if sentences := sentences_of(task, SENTENCES, CPU_OWN):
        return sentences.recipe("cpu", task, mixer, seed)
    portion = PORTIONS.get(task) or own_portion(task, OUTSIDE, LANGUAGE)
    return portion.recipe("cpu", task, mixer, seed) if portion and portion.suits(mixer) else None
