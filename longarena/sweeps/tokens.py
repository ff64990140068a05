"""Is a byte only a bad token? Text and Retrieval in bytes, byte pairs and words, in equal time.

One mechanism of each of four families on the same beginnings of the same texts with the `cpu`
preset. A token of a larger vocabulary stands for more bytes, so the same text has fewer of them
(`LENGTHS`), a step is shorter, and a run takes more of them: as many as the tokens are fewer, and
of the Transformer, whose time grows faster than the length, as many as were measured. So all take
about the same time; the records have the seconds of each. Repeat it with another seed: --set seed=1

Choice: the lengths are those of 512 bytes by the means of the training splits (docs/tokens.md).
        What is computed is padded to whole buckets, and steps go by that.
Choice: words have the vocabulary of the larger byte pairs, so that both models are of one size.
"""

from longarena import Recipe, override, preset
from longarena.data.batches import round_up

BYTES = 512
DATA = {"text": [], "retrieval": ["task.data=aan-mini"]}
MIXERS = ("transformer", "local", "linear", "s4d")
TOKENS = (
    ("task.tokens=bpe", "task.vocabulary=1000"),
    ("task.tokens=bpe", "task.vocabulary=8000"),
    ("task.tokens=words", "task.vocabulary=8000"),
)
# how many of these tokens 512 bytes have
LENGTHS = {"text": (190, 128, 114), "retrieval": (179, 107, 97)}
# how many steps take the time of one in bytes, measured where it is not by the number of tokens
MEASURED = {"transformer": (4.4, 7, 7)}
COUNTED = ("steps", "evaluate_every", "log_every", "checkpoint_every")


def recipes() -> list[Recipe]:
    return [recipe for task in DATA for mixer in MIXERS for recipe in of_mixer(task, mixer)]


def of_mixer(task: str, mixer: str) -> list[Recipe]:
    plain = override(preset(task, mixer, "cpu"), DATA[task])
    lengths = LENGTHS[task]
    times = MEASURED.get(mixer) or tuple(BYTES / round_up(length) for length in lengths)
    return [plain, *(in_tokens(plain, *each) for each in zip(TOKENS, lengths, times, strict=True))]


def in_tokens(recipe: Recipe, tokens: tuple[str, ...], length: int, times: float) -> Recipe:
    """Read the same text in other tokens, in some times as many steps."""
    values = {"schedule.warmup_steps": recipe.schedule.warmup_steps}
    values |= {name: getattr(recipe, name) for name in COUNTED}
    changes = [f"{name}={round(number * times)}" for name, number in values.items()]
    return override(recipe, [*tokens, f"task.max_length={length}", *changes])
