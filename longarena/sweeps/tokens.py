"""Is a byte only a bad token? Text and Retrieval in bytes, byte pairs and words, in equal time.

One mechanism of each of four families on the same beginnings of the same texts, with the model and
the batches of the `cpu` preset. A token of a larger vocabulary stands for more bytes, so the same
text has fewer of them (`LENGTHS`), a step is shorter, and a run takes more of them (`TIMES`). So
all take about the same time; the records have the seconds of each. Repeat it with another seed:
--set seed=1

Choice: the lengths are those of the bytes by the means of the training splits (docs/tokens.md).
Choice: words have the vocabulary of the larger byte pairs, so that both models are of one size.
"""

from dataclasses import replace

from longarena import Recipe, override
from longarena.options import Values
from longarena.recipes.presets.cpu import SHORT
from longarena.sweeps.cpu import at_own_rate, in_steps

DATA = {"text": [], "retrieval": ["task.data=aan-mini"]}
# 8,000 is what is meant where nobody chooses a vocabulary; bytes have none
AS_BYTES: Values = {"tokens": "bytes", "vocabulary": 8000}
# windows have as many tokens in all kinds of tokens
BYTES = {
    "text": replace(
        SHORT,
        batch_size=8,
        steps=800,
        size=0.4,
        options=AS_BYTES | {"max_length": 512},
        window_length=512,
    ),
    "retrieval": replace(SHORT, options=AS_BYTES | {"max_length": 256}),
}
MIXERS = ("transformer", "local", "linear", "s4d")
TOKENS = (
    ("task.tokens=bpe", "task.vocabulary=1000"),
    ("task.tokens=bpe", "task.vocabulary=8000"),
    ("task.tokens=words", "task.vocabulary=8000"),
)
# how many of these tokens 512 bytes of Text and 256 of Retrieval are
LENGTHS = {"text": (190, 128, 114), "retrieval": (90, 54, 49)}
# how many steps take the time of one in bytes, by the medians of eleven steps of each
TIMES = {
    ("text", "transformer"): (3.7, 5.5, 5.5),
    ("text", "local"): (2.1, 2.8, 2.8),
    ("text", "linear"): (2.1, 2.7, 2.7),
    ("text", "s4d"): (2.0, 2.4, 2.4),
    ("retrieval", "transformer"): (2.4, 4.7, 4.7),
    ("retrieval", "local"): (1.9, 3.3, 3.3),
    ("retrieval", "linear"): (1.8, 3.0, 3.0),
    ("retrieval", "s4d"): (1.7, 2.7, 2.7),
}


def recipes() -> list[Recipe]:
    return [recipe for task in DATA for mixer in MIXERS for recipe in of_mixer(task, mixer)]


def of_mixer(task: str, mixer: str) -> list[Recipe]:
    plain = override(in_bytes(task, mixer), DATA[task])
    others = zip(TOKENS, LENGTHS[task], TIMES[task, mixer], strict=True)
    return [plain, *(in_tokens(plain, *each) for each in others)]


def in_bytes(task: str, mixer: str) -> Recipe:
    return at_own_rate(BYTES[task].recipe("cpu", task, mixer, seed=0))


def in_tokens(recipe: Recipe, tokens: tuple[str, ...], length: int, times: float) -> Recipe:
    """Read the same text in other tokens, in some times as many steps."""
    return override(in_steps(recipe, times), [*tokens, f"task.max_length={length}"])
