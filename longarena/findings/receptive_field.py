"""The receptive field of a model: how many tokens one token of its last layer can know of.

    convolution    depth (kernel - 1) + 1
    longformer     depth 2 (window // 2) + 1      without global tokens
    local          block                          without neighbours

Layers with numbers of their own add up theirs. It is what a token could know of, were the sequence
long enough; what it uses is another question, which `longarena span` answers for attention. Pooling
comes later: it adds up what all tokens have found.

Choice: None wherever a token may know of everything, or the field has no one number.
"""

from collections.abc import Callable, Mapping

from longarena.model.config import ModelConfig
from longarena.options import Value, Values

# the defaults of the options that decide it; those of a mechanism itself would have to be imported
DEFAULTS: Mapping[str, Values] = {
    "convolution": {"kernel": 31},
    "longformer": {"window": 128, "dilation": 1, "global_tokens": 1},
    "local": {"block": 64, "neighbours": 0},
}


def receptive_field(model: ModelConfig) -> int | None:
    """Return how many tokens one token can know of, if a number of its own decides that."""
    if model.mixer not in FIELDS:
        return None
    return FIELDS[model.mixer](DEFAULTS[model.mixer] | model.options, model.depth)


def _convolution(options: Values, depth: int) -> int | None:
    return 1 + sum(kernel - 1 for kernel in _by_layer(options["kernel"], depth))


def _longformer(options: Values, depth: int) -> int | None:
    if (options["dilation"], options["global_tokens"]) != (1, 0):
        return None
    return 1 + sum(2 * (window // 2) for window in _by_layer(options["window"], depth))


def _local(options: Values, depth: int) -> int | None:
    # blocks of several sizes overlap
    blocks = set(_by_layer(options["block"], depth))
    return blocks.pop() if options["neighbours"] == 0 and len(blocks) == 1 else None


def _by_layer(value: Value, depth: int) -> list[int]:
    """Return the number of every layer; a list has one for each."""
    numbers = value if isinstance(value, list) else [value] * depth
    return [number for number in numbers if isinstance(number, int)]


FIELDS: Mapping[str, Callable[[Values, int], int | None]] = {
    "convolution": _convolution,
    "longformer": _longformer,
    "local": _local,
}
